//go:build unix

package worker

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
)

// TestLargeAnswers: what several threads write is what one writes, of answers of different lengths.
func TestLargeAnswers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const n, dim, m, k = 700, 8, 130, 600 // m*k is minShared or more
	c := newClient(t, testOptions(t))
	var made about
	c.must(&made, "build", object{"metric": "l2", "threads": 3}, floats("vectors", n, dim, randomRows(1, n, dim)))
	ks := slices.Repeat([]int64{k}, m)
	for j := 0; j < m; j += 7 {
		ks[j] = int64(1 + j)
	}
	arrays := []sent{floats("queries", m, dim, randomRows(2, m, dim)), integers("ks", ks...)}
	one := c.must(nil, "search", object{"handle": made.Handle, "method": "exact", "threads": 1}, arrays...)
	all := c.must(nil, "search", object{"handle": made.Handle, "method": "exact", "threads": 3}, arrays...)
	for _, name := range []string{"rows", "scores64"} {
		if len(one.bytes[name]) != 8*m*k || !bytes.Equal(one.bytes[name], all.bytes[name]) {
			t.Errorf("three threads write other %s, or %d bytes", name, len(one.bytes[name]))
		}
	}
	rows := elements[int64](one.bytes["rows"])
	for j, own := range ks {
		row := rows[j*k : (j+1)*k]
		if got := slices.Index(append(row[:k:k], -1), -1); int64(got) != own {
			t.Errorf("query %d has %d rows, it wants %d", j, got, own)
		}
	}
	c.finish()
}

//go:build unix

package worker

import (
	"bytes"
	"slices"
	"testing"
)

// TestChange: after writes and deletions all operations answer as those of a collection that was built of the same rows, in
// the order in which a client counts them.
func TestChange(t *testing.T) {
	const n, dim = 90, 16
	c := newClient(t, testOptions(t))
	for _, metric := range []string{"ip", "cosine", "l2"} {
		rows, more := randomRows(1, n, dim), randomRows(2, 12, dim)
		var made, now about
		c.must(&made, "build", object{"metric": metric}, floats("vectors", n, dim, rows))
		for round, x := range []struct{ write, gone []int64 }{
			{[]int64{5, 0, 90, 91}, nil},
			{nil, []int64{3, 3, 91, 0}},
			{[]int64{88, 89, 90}, []int64{88}},
			{[]int64{2}, []int64{1, 0}},
		} {
			if x.write != nil {
				m := len(x.write)
				for i, row := range x.write {
					v := more[(round+i)*dim : (round+i+1)*dim]
					if at := int(row) * dim; at < len(rows) {
						copy(rows[at:], v)
					} else {
						rows = append(rows, v...)
					}
				}
				c.must(&now, "upsert", object{"handle": made.Handle}, floats("vectors", m, dim, more[round*dim:(round+m)*dim]), integers("rows", x.write...))
			}
			if x.gone != nil {
				kept := []float32{}
				for row := range int64(len(rows) / dim) {
					if !slices.Contains(x.gone, row) {
						kept = append(kept, rows[row*dim:(row+1)*dim]...)
					}
				}
				rows = kept
				c.must(&now, "delete", object{"handle": made.Handle}, integers("rows", x.gone...))
			}
			var seen about
			c.must(&seen, "info", object{"handle": made.Handle})
			if left := len(rows) / dim; now.N != left || seen.N != left || now.Handle != made.Handle {
				t.Fatalf("%s, round %d: %d and %d vectors, want %d", metric, round, now.N, seen.N, left)
			}
			compareChanged(t, c, metric, round, made.Handle, rows, dim)
		}
		c.must(nil, "free", object{"handle": made.Handle})
	}
}

// compareChanged compares a collection with one that is built of what it should hold.
func compareChanged(t *testing.T, c *client, metric string, round int, handle int64, rows []float32, dim int) {
	t.Helper()
	n := len(rows) / dim
	var fresh about
	c.must(&fresh, "build", object{"metric": metric}, floats("vectors", n, dim, rows))
	queries, own := floats("queries", 3, dim, randomRows(9, 3, dim)), floats("queries", 3, dim, rows[4*dim:7*dim])
	mask := make([]byte, n)
	for i := range mask {
		mask[i] = byte(i % 2)
	}
	last := int64(n - 1)
	for _, x := range []struct {
		op     string
		fields object
		arrays []sent
		same   []string
	}{
		{"search", object{"k": 7, "method": "exact"}, []sent{queries}, []string{"rows", "scores64"}},
		{"search", object{"k": 200, "method": "certain"}, []sent{queries, {"mask", bools, []int64{int64(n)}, mask}}, []string{"rows", "scores64"}},
		{"search", object{"k": 3, "method": "exact", "self_first": 4}, []sent{own, integers("exclude", 1, last), integers("exclude_lims", 0, 1, 1, 2)}, []string{"rows", "scores64"}},
		{"search", object{"k": 2, "method": "exact"}, []sent{queries, integers("filter", 1, 2, last), integers("exclude_all", 2)}, []string{"rows", "scores64"}},
		{"range", object{"min_score": map[string]float64{"ip": 1, "cosine": .1, "l2": -30}[metric], "method": "exact"}, []sent{queries}, []string{"lims", "rows", "scores64"}},
		{"recall", object{}, []sent{queries, {"answers", int64s, []int64{3, 1}, bytesOf([]int64{1, 2, last})}}, []string{"missed", "recall"}},
		{"graph", object{"k": 3}, nil, []string{"rows", "scores64", "neighbours"}},
		{"pairs", object{"min_score": map[string]float64{"ip": 2, "cosine": .2, "l2": 20}[metric]}, nil, []string{"a", "b", "pairs"}},
	} {
		ask := func(handle int64) *received {
			fields := object{"handle": handle}
			for name, value := range x.fields {
				fields[name] = value
			}
			return c.must(nil, x.op, fields, x.arrays...)
		}
		got, want := ask(handle), ask(fresh.Handle)
		compared := 0
		for _, name := range x.same {
			if want.bytes[name] == nil {
				continue
			}
			compared++
			if !bytes.Equal(got.bytes[name], want.bytes[name]) {
				t.Fatalf("%s, round %d: %s: %s differ: %v, want %v", metric, round, x.op, name, got.bytes[name], want.bytes[name])
			}
		}
		if compared == 0 {
			t.Fatalf("%s: the reply has none of %v", x.op, x.same)
		}
	}
	c.must(nil, "free", object{"handle": fresh.Handle})
}

// TestChangeRefused: what cannot be written leaves the vectors as they are.
func TestChangeRefused(t *testing.T) {
	const n, dim = 20, 8
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, n, dim), dim)
	two := floats("vectors", 2, dim, randomRows(2, 2, dim))
	for _, x := range []struct {
		name, op string
		arrays   []sent
		text     string
	}{
		{"a gap", "upsert", []sent{two, integers("rows", 3, n+1)}, "entry 1: row 21; there are 20 vectors"},
		{"out of order", "upsert", []sent{two, integers("rows", n, 3)}, "entry 1: row 3"},
		{"negative", "upsert", []sent{two, integers("rows", -1, 3)}, "entry 0: row -1"},
		{"twice", "upsert", []sent{two, integers("rows", 3, 3)}, "entry 1: row 3 is there twice"},
		{"no rows", "upsert", []sent{two}, "is missing"},
		{"too few rows", "upsert", []sent{two, integers("rows", 1)}, "1"},
		{"columns", "upsert", []sent{floats("vectors", 1, dim+1, make([]float32, dim+1)), integers("rows", 1)}, "9 columns; the collection has 8"},
		{"beyond", "delete", []sent{integers("rows", 3, n)}, "entry 1: row 20 of 20"},
		{"none named", "delete", nil, "is missing"},
		{"all", "delete", []sent{integers("rows", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)}, "no row would be left"},
	} {
		if r := c.call(x.op, object{"handle": handle}, x.arrays...); r.Error == nil || r.Error.Kind != badInput || !bytes.Contains([]byte(r.Error.Message), []byte(x.text)) {
			t.Errorf("%s: %+v; %q is wanted", x.name, r.Error, x.text)
		}
	}
	var seen about
	c.must(&seen, "info", object{"handle": handle})
	if seen.N != n {
		t.Errorf("%d vectors, want %d", seen.N, n)
	}
	if r := c.call("search", object{"handle": handle, "k": 1}, floats("queries", 1, dim, make([]float32, dim)), integers("filter", n)); r.Error == nil || r.Error.Argument != "filter" {
		t.Errorf("a filter of a row that is not there: %+v", r.Error)
	}
}

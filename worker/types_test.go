//go:build unix

package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
)

// TestTypesOfVectors builds collections of whole numbers in each type: they are kept in it, through add and remove,
// and answer as those of float32 do. What the type does not hold is refused.
func TestTypesOfVectors(t *testing.T) {
	const n, dim, m, k = 300, 40, 6, 4
	whole := randomRows(1, n+m, dim)
	for i := range whole {
		whole[i] = float32(int(8*max(-8, min(whole[i], 8))) & 63)
	}
	queries := randomRows(2, m, dim)
	typed := func(kind dtype, rows []float32) sent {
		b := make([]byte, len(rows)*rowElems[kind].Size())
		if at := rowElems[kind].Encode(b, rows); at >= 0 {
			t.Fatalf("%v is no value of %v", rows[at], rowElems[kind])
		}
		return sent{"vectors", kind, []int64{int64(len(rows) / dim), dim}, b}
	}
	c := newClient(t, testOptions(t))
	var want [2]map[string][]byte // of all rows, and of all but the first two
	for _, kind := range rowTypes {
		elem := rowElems[kind]
		var built, more, fewer about
		c.must(&built, "build", object{"metric": "l2"}, typed(kind, whole[:n*dim]))
		c.must(&more, "add", object{"handle": built.Handle}, floats("vectors", m, dim, whole[n*dim:]))
		c.must(&fewer, "remove", object{"handle": more.Handle}, integers("rows", 0, 1))
		for i, x := range []about{built, more, fewer} {
			if wanted := []int{n, n + m, n + m - 2}[i]; x.DType != elem || x.N != wanted {
				t.Errorf("%v: %d rows kept as %v; %d are wanted", elem, x.N, x.DType, wanted)
			}
		}
		for i, x := range []about{more, fewer} {
			got := c.must(nil, "search", object{"handle": x.Handle, "k": k, "method": "certain"}, floats("queries", m, dim, queries)).bytes
			if want[i] == nil { // of float32, the first
				want[i] = got
			}
			for _, name := range []string{"rows", "scores64"} {
				if d := cmp.Diff(want[i][name], got[name]); d != "" {
					t.Errorf("%v: %s: %s", elem, name, d)
				}
			}
		}
		if elem == dataset.ElemFloat32 || elem == dataset.ElemFloat64 { // which hold all
			continue
		}
		whole[(n+2)*dim+7] += .3
		e := c.call("add", object{"handle": built.Handle}, floats("vectors", m, dim, whole[n*dim:])).Error
		whole[(n+2)*dim+7] -= .3
		if text := fmt.Sprintf("is none of %v", elem); e == nil || e.Row == nil || *e.Row != 2 || !strings.Contains(e.Message, "column 7") || !strings.Contains(e.Message, text) {
			t.Errorf("%v: adding a value that it does not hold: %+v", elem, e)
		}
	}
	odd := typed(halves, whole[:n*dim])
	odd.shape[0] = n + 1
	if e := c.call("build", object{"metric": "l2"}, odd).Error; e == nil || e.Argument != "vectors" {
		t.Errorf("more rows than bytes: %+v", e)
	}
	if e := c.call("build", object{"metric": "l2"}, sent{"vectors", int64s, []int64{1, dim}, make([]byte, 8*dim)}).Error; e == nil || !strings.Contains(e.Message, "<f4 or <f8 or <f2 or bfloat16 or |i1 or |u1 is wanted") {
		t.Errorf("int64: %+v", e)
	}
}

package cpu

import (
	"testing"

	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/scan"
)

// TestExactSlack: bounds on given coordinates charge for the sums in offsets of long rows.
func TestExactSlack(t *testing.T) {
	c := &collection.Collection{Dim: 1 << 21, Norm: []float32{1 << 20}, Offset: []float32{-1 << 39}}
	long := queryOf(&arms.Query{C: c, PerUnit: 1})
	if got, want := long.exactSlack(0), 0x1p21*0x1p-53*0x1p39; got < want {
		t.Errorf("%g charged for the sums of a long row, of which its offset can lack %g", got, want)
	}
}

// queryOf returns a query in a run as all rooms know it.
func queryOf(q *arms.Query) *state {
	return &state{Query: &scan.Query{Query: &revisit.Query{Query: q}}}
}

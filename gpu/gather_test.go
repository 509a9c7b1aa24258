//go:build cuda && cgo

package gpu

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	_ "thresher/internal/draws"
)

// TestSpans: the ranges of a first look contain every allowed atom, in whole strips and in order;
// the atoms that a query is said to have read beyond its filter are the others.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 3*looks.StripAtoms), rapid.Just(1<<17+9)).Draw(t, "atoms")
		order := make([]uint32, n)
		f := backend.ListFilter(order, rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 0, 20).Draw(t, "allowed"))
		all := allowedRanges(f.Bits(), 0, n)
		covered := 0
		for k, s := range all {
			if s.lo%looks.StripAtoms != 0 || s.hi%looks.StripAtoms != 0 && s.hi != n || s.lo >= s.hi || k > 0 && s.lo-all[k-1].hi <= mergedStrips*looks.StripAtoms {
				t.Errorf("spans %v of %d atoms", all, n)
			}
			covered += s.hi - s.lo
		}
		for _, i := range f.Atoms() {
			if !slices.ContainsFunc(all, func(s atomRange) bool { return int(i) >= s.lo && int(i) < s.hi }) {
				t.Errorf("atom %d is in none of %v", i, all)
			}
		}
		x := &run{r: &resident{c: &collection.Collection{N: n}}}
		l := &look{Compiled: &looks.Compiled{Look: backend.Look{FirstChunk: n}}} // one chunk
		if got, want := x.scannedUnseen(&hostQuery{goal: &backend.Goal{Filter: f}}, l, f.Len()), covered-f.Len(); got != want {
			t.Errorf("%d atoms read beside %d, want %d", got, f.Len(), want)
		}
		if got := x.scannedUnseen(&hostQuery{goal: &backend.Goal{}, hidden: []uint32{uint32(n / 2)}}, l, n-1); got != 1 && n > 1 {
			t.Errorf("%d atoms read beside all but one", got)
		}
		if got := x.scannedUnseen(&hostQuery{goal: &backend.Goal{}}, l, n); got != 0 {
			t.Errorf("%d atoms read beside all", got)
		}
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		if got, want := x.scannedUnseen(&hostQuery{goal: &backend.Goal{From: from}, scanFrom: stripOf(from, n)}, l, n-from), from%looks.StripAtoms; got != want {
			t.Errorf("%d atoms read beside those from %d on, want %d", got, from, want)
		}
	})
}

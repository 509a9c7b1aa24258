package backend_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"thresher/backend"
	_ "thresher/internal/draws"
)

// TestFilter compares filters of bits and of lists with a set, with calls in any order and
// from several goroutines.
func TestFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 400), rapid.Just(70000)).Draw(t, "atoms")
		order := make([]uint32, n)
		for i := range order {
			order[i] = uint32(i)
		}
		order = rapid.Permutation(order).Draw(t, "order")
		listed := rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 0, 100).Draw(t, "allowed")
		if rapid.Bool().Draw(t, "most") {
			for i := range uint32(n) {
				if i%16 != 5 {
					listed = append(listed, i)
				}
			}
		}
		allowed, rows, panels := map[uint32]bool{}, []uint32(nil), map[uint32]bool{}
		b := make([]uint64, (n+63)/64)
		for _, i := range listed {
			if !allowed[i] {
				rows = append(rows, order[i])
			}
			allowed[i], panels[i/64] = true, true
			b[i/64] |= 1 << (i % 64)
		}
		slices.Sort(rows)
		rowBits, inverse := make([]uint64, len(b)), make([]uint32, n)
		for _, row := range rows {
			rowBits[row/64] |= 1 << (row % 64)
		}
		for i, row := range order {
			inverse[row] = uint32(i)
		}
		atoms := slices.Sorted(slices.Values(slices.Compact(slices.Sorted(slices.Values(listed)))))
		for name, f := range map[string]*backend.Filter{"bits": backend.NewFilter(order, slices.Clone(b)), "list": backend.ListFilter(order, slices.Clone(listed)), "rows": backend.RowFilter(order, inverse, slices.Clone(rowBits))} {
			asks := []func(){
				func() {
					if f.Len() != len(allowed) || f.Filled() != len(panels) {
						t.Errorf("%s: %d atoms in %d panels, want %d in %d", name, f.Len(), f.Filled(), len(allowed), len(panels))
					}
				},
				func() { differ(t, name, "bits", b, f.Bits()) },
				func() { differ(t, name, "bits by row", rowBits, f.RowBits()) },
				func() { differ(t, name, "atoms", atoms, f.Atoms()) },
				func() { differ(t, name, "rows", rows, f.Rows()) },
				func() {
					full := f.Panels()
					if !slices.IsSorted(full) || len(full) != len(panels) || slices.ContainsFunc(full, func(p uint32) bool { return !panels[p] }) {
						t.Errorf("%s: panels %v, want %v", name, full, panels)
					}
				},
				func() {
					for _, from := range []int{0, 1, 63, 64, n / 2, n - 1, n, n + 64} {
						want := 0
						for _, i := range atoms {
							if int(i) >= from {
								want++
							}
						}
						if got := f.LenFrom(from); got != want {
							t.Errorf("%s: %d atoms from %d on, want %d", name, got, from, want)
						}
					}
				},
				func() {
					for i := range n {
						if f.Has(i) != allowed[uint32(i)] {
							t.Errorf("%s: atom %d: %v", name, i, f.Has(i))
						}
					}
				},
			}
			var wg sync.WaitGroup
			for _, ask := range rapid.Permutation(asks).Draw(t, "asked") {
				wg.Go(ask)
			}
			wg.Wait()
		}
	})
}

func differ[T any](t *rapid.T, name, what string, want, got []T) {
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s: %s (-want +got):\n%s", name, what, d)
	}
}

// TestSortIndexes compares the order and the indexes left with those of a set, for few indexes and
// for many, with fresh memory and with that of earlier calls.
func TestSortIndexes(t *testing.T) {
	var again backend.IndexSorter
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		list := rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 0, 300).Draw(t, "indexes")
		want := slices.Compact(slices.Sorted(slices.Values(list)))
		if d := cmp.Diff(want, again.Sort(slices.Clone(list), n), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("again: -want +got:\n%s", d)
		}
		if d := cmp.Diff(want, backend.SortIndexes(list, n), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// TestFilterKeeps: a filter keeps the last two values, one for each key, the first of equal keys.
func TestFilterKeeps(t *testing.T) {
	f := backend.NewFilter(make([]uint32, 640), append(make([]uint64, 9), 3))
	if f.Keeps() {
		t.Error("a filter that is used once keeps what is made for it")
	}
	if f.Reuse(); !f.Keeps() || f.Kept("a") != nil {
		t.Errorf("used again: keeps %v, of a key that it has not %v", f.Keeps(), f.Kept("a"))
	}
	f.Keep("a", 1)
	f.Keep("b", 2)
	f.Keep("b", 3)
	if f.Kept("a") != 1 || f.Kept("b") != 2 {
		t.Errorf("%v and %v are kept, want 1 and 2", f.Kept("a"), f.Kept("b"))
	}
	f.Keep("c", 4)
	if f.Kept("a") != nil || f.Kept("b") != 2 || f.Kept("c") != 4 {
		t.Errorf("%v, %v and %v are kept, want none, 2 and 4", f.Kept("a"), f.Kept("b"), f.Kept("c"))
	}
	if many := backend.NewFilter(make([]uint32, 640), append(make([]uint64, 9), 1<<11-1)); many.Keeps() {
		t.Error("a filter of more than 1/64 keeps")
	} else if many.Reuse(); many.Keeps() {
		t.Error("a filter of more than 1/64 that is used again keeps")
	}
}

package scan

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
)

// TestLayOut: panels of a gathering have all atoms in order, as many panels of the collection as fit, and none in part.
func TestLayOut(t *testing.T) {
	const n = 6000
	panels := (n + arms.PanelAtoms - 1) / arms.PanelAtoms
	for _, every := range []int{1, 2, 7, 64, 100, 5000} {
		f := allow(n, every/2, n, every)
		g := layOut(f.Atoms(), panels)
		var atoms []uint32
		for p := range g.numbers {
			ids := g.atomsOf(p)
			if len(ids) == 0 || len(ids) > arms.PanelAtoms || g.allowed(p) != ^uint64(0)>>(arms.PanelAtoms-len(ids)) {
				t.Fatalf("every %d: panel %d has %d atoms, mask %x", every, p, len(ids), g.allowed(p))
			}
			if first, last := ids[0]/arms.PanelAtoms, ids[len(ids)-1]/arms.PanelAtoms; first < g.starts[p] || last >= g.starts[p+1] {
				t.Errorf("every %d: panel %d has atoms of panels %d to %d of the collection, and covers %d to %d", every, p, first, last, g.starts[p], g.starts[p+1]-1)
			}
			if p > 0 { // the first of its panels of the collection had no room in the one before
				next := slices.IndexFunc(ids, func(i uint32) bool { return i/arms.PanelAtoms != ids[0]/arms.PanelAtoms })
				if next < 0 {
					next = len(ids)
				}
				if len(g.atomsOf(p-1))+next <= arms.PanelAtoms {
					t.Errorf("every %d: panel %d has room for more", every, p-1)
				}
			}
			places := make([]uint32, len(ids))
			for i := range places {
				places[i] = uint32(p*arms.PanelAtoms + i)
			}
			g.toAtoms(places)
			atoms = append(atoms, places...)
		}
		if !slices.Equal(atoms, f.Atoms()) {
			t.Errorf("every %d: the places are those of other atoms", every)
		}
	}
	if g := layOut(nil, panels); len(g.numbers) != 0 || int(g.starts[0]) != 0 {
		t.Errorf("no atoms: %d panels, from %d on", len(g.numbers), g.starts[0])
	}
}

// TestGatheredStrips: each term of a strip is at least that of every atom in it.
func TestGatheredStrips(t *testing.T) {
	const n = 6000
	f := allow(n, 3, n, 11)
	run := filtered(t, n, []*backend.Filter{f, f})
	compiled, err := run.r.Compile(t.Context(), backend.Look{Rep: backend.Panels, To: run.C.Stages[0].Width, Rule: backend.Cauchy})
	if err != nil {
		t.Fatal(err)
	}
	g, err := run.gather(t.Context(), compiled, f, 2)
	if err != nil {
		t.Fatal(err)
	}
	for s := range g.strips {
		strip := &g.strips[s]
		lo, hi := s*gatheredStrip, min((s+1)*gatheredStrip, len(g.numbers))
		for _, i := range g.atoms[g.first[lo]:g.first[hi]] {
			of := looks.Strip{HeadNorm: float64(compiled.HeadNorm[i]), HeadErr: float64(compiled.HeadErr[i]), XNorm: float64(compiled.XNorm[i]),
				Norm: float64(compiled.Norm[i]), Radius: float64(compiled.Radius[i]), MeanRadius: strip.MeanRadius}
			if compiled.WholeErr != nil {
				of.WholeErr = float64(compiled.WholeErr[i])
			}
			of.Cover(strip)
			if of != *strip {
				t.Fatalf("strip %d: %+v, which is less than a term of atom %d", s, *strip, i)
			}
		}
		if strip.MeanRadius <= 0 || strip.MeanRadius > strip.Radius {
			t.Errorf("strip %d: mean radius %g, the greatest is %g", s, strip.MeanRadius, strip.Radius)
		}
	}
}

// ending is a context that ends after so many checks.
type ending struct {
	context.Context
	checks int
}

func (c *ending) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// TestGatheredReads: a look that gathers reads the codes of allowed atoms alone, keeps the best of them, and goes on where
// a context stopped it, or stopped a look at panels, be it within the panels of the collection that one of its panels covers.
func TestGatheredReads(t *testing.T) {
	const n = 10_000
	f := allow(n, 5, n, 9)
	goOn := 0
	for _, queries := range []int{1, 3} {
		for _, first := range []bool{false, true} { // the look that is stopped gathers
			for checks := range 8 {
				filters := make([]*backend.Filter, queries)
				for j := range filters {
					filters[j] = f
				}
				x := filtered(t, n, filters)
				if err := x.later.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				look := func(gather bool) backend.Look {
					return backend.Look{Rep: backend.Panels, To: x.C.Stages[0].Width, Rule: backend.Cauchy, FirstChunk: 256, Gather: gather}
				}
				if err := x.Take(&ending{t.Context(), checks}, look(first)); err == nil {
					break
				} else if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				from := x.Query(0).NextPanel
				if from > 0 {
					goOn++
				}
				if !first {
					for j := range queries {
						x.Query(j).RecordStoppedScan()
					}
				}
				if err := x.Take(t.Context(), look(true)); err != nil {
					t.Fatal(err)
				}
				for j := range queries {
					q := x.Query(j)
					best, score := uint32(0), math.Inf(-1)
					for _, i := range f.Atoms() {
						if s := q.SearchScore(x.C.Order[i]); s > score {
							best, score = i, s
						}
					}
					kept := slices.Contains(q.List.IDs, best) || q.Best.Len() > 0 && q.Best.Worst().Row == x.C.Order[best]
					seen, read := 0, 0
					for _, l := range q.Answer(&threads.Scratch{}, math.Inf(-1)).Looks {
						seen, read = seen+l.Seen, read+l.Seen+l.Disallowed
					}
					if q.Phase != arms.Listed || !kept || seen != f.Len() || (first || from == 0) && read != seen {
						t.Errorf("query %d of %d, stopped at panel %d, gathered before %v: phase %v, the best is kept %v, %d atoms of %d seen, %d read",
							j, queries, from, first, q.Phase, kept, seen, f.Len(), read)
					}
				}
			}
		}
	}
	if goOn == 0 {
		t.Error("no look was stopped in its middle: the test shows nothing")
	}
}

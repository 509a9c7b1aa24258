package backendtest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// filtered is a filter with a name.
type filtered struct {
	name string
	f    *backend.Filter
}

// filtersOf returns filters of every size, of scattered atoms and of atoms that are
// consecutive in internal order or in row order; one is a ListFilter.
func filtersOf(c *collection.Collection, o *Oracle, r interface{ Perm(int) []int }) []filtered {
	var all []filtered
	add := func(name string, keep func(row int) bool) {
		f, _ := o.Filter(keep)
		all = append(all, filtered{name, f})
	}
	for _, size := range []int{0, 1, 10, c.N / 100, c.N / 2, c.N - 1} {
		size = min(max(0, size), c.N)
		place := r.Perm(c.N)
		first := place[0] % (c.N - size + 1)
		add(fmt.Sprintf("%d anywhere", size), func(row int) bool { return place[row] < size })
		if size != 10 && size != c.N/2 {
			continue
		}
		add(fmt.Sprintf("%d atoms in order", size), func(row int) bool { return o.Internal(row) >= first && o.Internal(row) < first+size })
		add(fmt.Sprintf("%d rows in order", size), func(row int) bool { return row >= first && row < first+size })
	}
	list := []uint32{uint32(c.N - 1), 0, uint32(c.N / 2), 0}
	return append(all, filtered{"a list", backend.ListFilter(c.Order, list)})
}

// filters checks searches with filters, with and without Gather: batches with several
// filters, with one filter per query, and with one for all. Answers must be the oracle's,
// and the coordinates read in proportion to the allowed atoms.
func filters(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	rng := vectors.Rand(8)
	for k, set := range []Set{
		{Name: "gaussian", Dim: 144, Rows: vectors.Gaussian(rng, 800, 144)},
		{Name: "power-law", Dim: 272, Rows: vectors.PowerLaw(rng, 600, 272)},
		{Name: "fewer than a panel", Dim: 600, Rows: vectors.Gaussian(rng, 40, 600)},
	} {
		if !p.has(k) {
			continue
		}
		t.Run(set.Name, func(t *testing.T) {
			s := &set
			s.Queries = append(vectors.PowerLaw(rng, 1, s.Dim), s.Row(3)...)
			for i, opt := range kinds(k) {
				if p.otherMetric(k, i) {
					continue
				}
				c := build(t, s, opt)
				r, o := loadResident(t, b, c), NewOracle(c)
				mixed, own := &goalSet{}, &goalSet{}
				for range 16 {
					share := rng.IntN(9)
					f, allowed := o.Filter(func(int) bool { return rng.IntN(8) < share })
					own.add(s, o, own.queries.M%s.M(), backend.Goal{K: min(5, c.N), Floor: math.Inf(-1), Filter: f, Allowed: allowed, Ceiling: math.Inf(1), Gather: true})
				}
				own.add(s, o, 0, backend.Goal{K: min(5, c.N), Floor: math.Inf(-1), Allowed: c.N, Ceiling: math.Inf(1)})
				same := []*goalSet{mixed, own}
				for _, x := range filtersOf(c, o, rng) {
					a := &goalSet{}
					for j := range s.M() {
						for _, g := range goalsOf(c, x.f, o.Internal(3)) {
							mixed.add(s, o, j, g)
							a.add(s, o, j, g)
						}
					}
					same = append(same, a)
				}
				for _, l := range Ladders(c, never) {
					for i, a := range same {
						if i > 1 && !l.Dense { // looks do not depend on the other queries of the batch
							break
						}
						name := fmt.Sprintf("%v, %v, %s, batch %d", c.Metric, c.Basis, l.Name, i)
						got := check(t, name, s, o, a, r, &l)
						checkReads(t, name, c, a, got, &l)
						if i == 1 && (l.Dense || l.Name == "student") {
							checkAlone(t, name, a, got, r, &l)
						}
					}
				}
			}
		})
	}
}

// goalsOf returns goals for one filter: few atoms and more than are allowed, with an atom
// excluded, with and without Gather.
func goalsOf(c *collection.Collection, f *backend.Filter, skip int) []backend.Goal {
	var all []backend.Goal
	ask := func(k int, gather bool) backend.Goal {
		return backend.Goal{K: min(k, c.N), Floor: math.Inf(-1), Filter: f, Allowed: f.Len(), Ceiling: math.Inf(1), Gather: gather}
	}
	all = append(all, ask(3, true), ask(10, false), ask(f.Len()+5, true))
	g := ask(10, true)
	g.Exclude = []uint32{uint32(skip)}
	if f.Has(skip) {
		g.Allowed--
	}
	return append(all, g)
}

// strip is how many atoms a first look may read for one allowed atom.
const strip = 512

// rowsFirst is the most atoms of which a first look may read float32 rows instead of codes.
const rowsFirst = 4096

// checkReads checks the reads that answers report.
func checkReads(t *testing.T, name string, c *collection.Collection, a *goalSet, answers backend.Answers, l *Ladder) {
	t.Helper()
	for j := range answers {
		g, got := &a.goals[j], &answers[j]
		if g.Filter == nil {
			continue
		}
		row := int64(c.Dim)
		most := int64(g.Filter.Len()) * row
		if got.Dense {
			if !g.Gather {
				most = int64(c.N) * row
			}
			if l.Dense && got.Pulls != most {
				t.Errorf("%s: query %d, of %d atoms allowed, gathered %v: %d pulls, want %d", name, j, g.Filter.Len(), g.Gather, got.Pulls, most)
			}
		}
		// each look reads an atom at most once, the first look its strip, by codes or, of its first atoms, by
		// float32 rows (Look.FirstChunk); exact scores or lower bounds read it once more
		allowed := int64(g.Filter.Len())
		for k, look := range l.Looks {
			read, each := allowed, int64(c.R+look.To-look.From)
			if k == 0 && look.Rep.ForFirstLook() {
				read = min(strip*allowed, int64(c.N))
				most += min(read, rowsFirst) * max(0, row-each)
			}
			most += read*each + allowed*(int64(c.R+c.D)+row)
		}
		if got.Pulls > most {
			t.Errorf("%s: query %d, of %d atoms allowed, gathered %v: %d pulls, at most %d", name, j, g.Filter.Len(), g.Gather, got.Pulls, most)
		}
		if got.RowsScored > 2*int(allowed) && (g.Gather || !got.Dense) {
			t.Errorf("%s: query %d: %d rows scored of %d atoms allowed", name, j, got.RowsScored, allowed)
		}
	}
}

// checkAlone checks that every answer of a batch, with all its figures, is that of a batch
// of the query alone.
func checkAlone(t *testing.T, name string, a *goalSet, together backend.Answers, r backend.Resident, l *Ladder) {
	t.Helper()
	for j := range together {
		got, _, err := l.Search(context.Background(), r, a.query(j), a.goals[j:j+1])
		if err != nil {
			t.Fatalf("%s: query %d: %v", name, j, err)
		}
		if d := cmp.Diff(together[j], got[0]); d != "" {
			t.Errorf("%s: query %d answered alone (-batch +alone):\n%s", name, j, d)
			return
		}
	}
}

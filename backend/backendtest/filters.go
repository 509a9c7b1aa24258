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

// filtersOf are filters of every size over a collection, of atoms anywhere and side by
// side, in internal order or as the rows lie; one is made of a list.
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

// filters searches for what filters allow, gathered and not: queries of a batch by
// several, each by one of its own, and all by the same. Answers are the oracle's, and what is read is in
// proportion to what is allowed.
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
			for _, opt := range kinds(k) {
				c := build(t, s, opt)
				r, o := load(t, b, c), NewOracle(c)
				mixed, own := &asked{}, &asked{}
				for range 16 {
					share := rng.IntN(9)
					f, allowed := o.Filter(func(int) bool { return rng.IntN(8) < share })
					own.add(s, o, own.queries.M%s.M(), backend.Goal{K: min(5, c.N), Floor: math.Inf(-1), Filter: f, Allowed: allowed, Skip: -1, Gather: true})
				}
				own.add(s, o, 0, backend.Goal{K: min(5, c.N), Floor: math.Inf(-1), Allowed: c.N, Skip: -1})
				same := []*asked{mixed, own}
				for _, x := range filtersOf(c, o, rng) {
					a := &asked{}
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
						if i > 1 && !l.Dense { // the others' looks do not go by company
							break
						}
						name := fmt.Sprintf("%v, %v, %s, batch %d", c.Metric, c.Basis, l.Name, i)
						check(t, name, s, o, a, r, &l)
						frugal(t, name, c, a, r, &l)
						if i == 1 && (l.Dense || l.Name == "student") {
							alone(t, name, a, r, &l)
						}
					}
				}
			}
		})
	}
}

// goalsOf are what is asked of one filter: few and more than there are, with an atom
// that is left out besides, gathered and not.
func goalsOf(c *collection.Collection, f *backend.Filter, skip int) []backend.Goal {
	var all []backend.Goal
	ask := func(k int, gather bool) backend.Goal {
		return backend.Goal{K: min(k, c.N), Floor: math.Inf(-1), Filter: f, Allowed: f.Len(), Skip: -1, Gather: gather}
	}
	all = append(all, ask(3, true), ask(10, false), ask(f.Len()+5, true))
	g := ask(10, true)
	g.Skip = skip
	if f.Has(skip) {
		g.Allowed--
	}
	return append(all, g)
}

// strip is how many atoms a first look may have to read for one.
const strip = 512

// frugal checks what searches say that they read.
func frugal(t *testing.T, name string, c *collection.Collection, a *asked, r backend.Resident, l *Ladder) {
	t.Helper()
	got, _, err := l.Search(context.Background(), r, a.queries, a.goals)
	if err != nil {
		return // check has said it
	}
	for j := range got {
		g, got := &a.goals[j], &got[j]
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
		// looks read an atom at most once each, the first with its strip, and whole
		// rows of it, or what makes the threshold before them, once more
		allowed := int64(g.Filter.Len())
		for k, look := range l.Looks {
			read := allowed
			if k == 0 && look.Rep == backend.Panels {
				read = min(strip*allowed, int64(c.N))
			}
			most += read*int64(c.R+look.To-look.From) + allowed*(int64(c.R+c.D)+row)
		}
		if got.Pulls > most {
			t.Errorf("%s: query %d, of %d atoms allowed, gathered %v: %d pulls, at most %d", name, j, g.Filter.Len(), g.Gather, got.Pulls, most)
		}
		if got.RowsScored > 2*int(allowed) && (g.Gather || !got.Dense) {
			t.Errorf("%s: query %d: %d rows scored of %d atoms allowed", name, j, got.RowsScored, allowed)
		}
	}
}

// alone checks that every answer, with all its figures, is that of the query alone.
func alone(t *testing.T, name string, a *asked, r backend.Resident, l *Ladder) {
	t.Helper()
	together, _, err := l.Search(context.Background(), r, a.queries, a.goals)
	if err != nil {
		return // check has said it
	}
	for j := range together {
		got, _, err := l.Search(context.Background(), r, backend.Queries{M: 1, Dim: a.queries.Dim, Data: a.queries.Row(j)}, a.goals[j:j+1])
		if err != nil {
			t.Fatalf("%s: query %d: %v", name, j, err)
		}
		if d := cmp.Diff(together[j], got[0]); d != "" {
			t.Errorf("%s: query %d answered alone (-batch +alone):\n%s", name, j, d)
			return
		}
	}
}

package backendtest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// Run checks a backend against the contract and the oracle. open returns a
// fresh backend, which Run closes.
func Run(t *testing.T, open func() backend.Backend) { RunPart(t, open, Part{}) }

// Part is a part of the suite, for slow backends: the data sets and other cases whose number
// is I modulo Of; a set is searched in one metric, which differs from set to set, for answers and with
// filters. The zero value is the complete suite.
type Part struct{ I, Of int }

// has reports whether case number k belongs to the part.
func (p Part) has(k int) bool { return p.Of <= 1 || k%p.Of == p.I%p.Of }

// otherMetric reports whether the part leaves out the i-th of kinds, which is in another metric than the
// turn's.
func (p Part) otherMetric(turn, i int) bool {
	metrics := len(metricKinds())
	return p.Of > 1 && i < metrics && i != turn%metrics
}

// RunPart runs a part of the suite.
func RunPart(t *testing.T, open func() backend.Backend, p Part) {
	t.Run("answers", func(t *testing.T) { answers(t, open, p) })
	t.Run("filters", func(t *testing.T) { filters(t, open, p) })
	t.Run("rounding", func(t *testing.T) { rounding(t, open, p) })
	t.Run("rounding of heads", func(t *testing.T) { roundingOfHeads(t, open, p) })
	t.Run("student", func(t *testing.T) { student(t, open, p) })
	t.Run("batch", func(t *testing.T) { batches(t, open, p) })
	t.Run("partial", func(t *testing.T) { partial(t, open, p) })
	t.Run("resumed", func(t *testing.T) { resumed(t, open, p) })
	t.Run("leaving", func(t *testing.T) { leaving(t, open, p) })
	t.Run("floors", func(t *testing.T) { floors(t, open, p) })
	t.Run("survivor limit", func(t *testing.T) { survivorLimit(t, open) })
	t.Run("unsupported", func(t *testing.T) { unsupported(t, open) })
	t.Run("closed", func(t *testing.T) { closed(t, open) })
	t.Run("wide", func(t *testing.T) { wide(t, open, p) })
	t.Run("shapes", func(t *testing.T) { shapes(t, open) })
	t.Run("types", func(t *testing.T) { types(t, open, p) })
}

// never is the failure probability of looks that must not fail in a test. The suite has about
// 10^5 pairs of a query and a true answer, so a false alarm has probability below 1e-6.
const never = 1e-12

func build(t testing.TB, s *Set, o collection.Options) *collection.Collection {
	t.Helper()
	c, err := collection.Build(context.Background(), s.Rows, s.Dim, &o)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return c
}

func loadResident(t testing.TB, b backend.Backend, c *collection.Collection) backend.Resident {
	t.Helper()
	r, err := b.Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// opened returns a backend that the test closes at its end.
func opened(t testing.TB, open func() backend.Backend) backend.Backend {
	b := open()
	t.Cleanup(func() { b.Close() })
	return b
}

// goalSet is a batch of queries with their goals. One query of a Set may be in it several times,
// with different goals.
type goalSet struct {
	of      []int // by query of the batch: the number of the query in the Set
	queries backend.Queries
	goals   []backend.Goal
	want    []backend.Answer // the oracle's
}

func (a *goalSet) add(s *Set, o *Oracle, of int, g backend.Goal) {
	a.want = append(a.want, o.Answer(s.Query(of), g))
	a.of = append(a.of, of)
	a.queries.M++
	a.queries.Dim = s.Dim
	a.queries.Data = append(a.queries.Data, s.Query(of)...)
	if o.given != nil {
		a.queries.Given = append(a.queries.Given, o.query(s.Query(of))...)
	}
	a.goals = append(a.goals, g)
}

// query returns query j alone.
func (a *goalSet) query(j int) backend.Queries {
	q := backend.Queries{M: 1, Dim: a.queries.Dim, Data: a.queries.Row(j)}
	if a.queries.Given != nil {
		q.Given = a.queries.Given[j*q.Dim : (j+1)*q.Dim]
	}
	return q
}

// newGoalSet returns every kind of goal for every query of a set.
func newGoalSet(s *Set, o *Oracle) *goalSet {
	a := &goalSet{}
	n := s.N()
	none := math.Inf(-1)
	half, allowed := o.Filter(func(row int) bool { return row%2 == 0 })
	few, fewAllowed := o.Filter(func(row int) bool { return row%50 == 3 })
	nobody, _ := o.Filter(func(int) bool { return false })
	for j := range s.M() {
		plain := backend.Goal{K: min(10, n), Floor: none, Allowed: n, Ceiling: math.Inf(1)}
		best := o.Answer(s.Query(j), plain)
		with := func(f func(g *backend.Goal)) {
			g := plain
			f(&g)
			a.add(s, o, j, g)
		}
		a.add(s, o, j, plain)
		with(func(g *backend.Goal) { g.K = 1 })
		with(func(g *backend.Goal) { g.K = n })
		with(func(g *backend.Goal) { g.Filter, g.Allowed = half, allowed })
		with(func(g *backend.Goal) { g.Filter, g.Allowed, g.K = few, fewAllowed, 3; g.K = min(3, n) })
		with(func(g *backend.Goal) { g.Filter, g.Allowed, g.K = nobody, 0, 1 })
		with(func(g *backend.Goal) { g.Exclude, g.Allowed = []uint32{uint32(o.Internal(int(best.IDs[0])))}, n-1 })
		// floors between ranks 6 and 7, and above all atoms
		low, high := best.Scores[min(6, len(best.Scores)-1)], best.Scores[min(5, len(best.Scores)-1)]
		with(func(g *backend.Goal) { g.K, g.Floor = 0, low+(high-low)/2 })
		with(func(g *backend.Goal) { g.Floor, g.K = low+(high-low)/2, min(3, n) })
		with(func(g *backend.Goal) { g.K, g.Floor = 0, best.Scores[0]+math.Abs(best.Scores[0])*.1+1e-30 })
		with(func(g *backend.Goal) { g.Epsilon = (best.Scores[0] - best.Scores[len(best.Scores)-1]) / 2 })
	}
	return a
}

// kinds are the collections that are built of set k: rotated ones in every metric, and, of a metric that
// alternates with k, those for looks at float32 coordinates and one without codes.
func kinds(k int) []collection.Options {
	kinds := metricKinds()
	metric := collection.Metric(1 + k%len(kinds))
	return append(kinds,
		collection.Options{Metric: metric, Seed: 8, NoHead: true, KeepRotated: true},
		collection.Options{Metric: metric, Seed: 9, Basis: collection.Raw},
		collection.Options{Metric: metric, NoCodes: true})
}

// answers searches every set by every ladder and compares the answers with the oracle's.
func answers(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	wide, narrow := sets(30), sets(15)
	for k := range wide {
		if !p.has(k) || testing.Short() && k%3 != 0 && p.Of <= 1 {
			continue
		}
		t.Run(wide[k].Name, func(t *testing.T) {
			for i, opt := range kinds(k) {
				if p.otherMetric(k/max(1, p.Of), i) {
					continue
				}
				s := &wide[k]
				if squared(opt.Metric) {
					s = &narrow[k]
				}
				c := build(t, s, opt)
				r := loadResident(t, b, c)
				o := NewOracle(c)
				a := newGoalSet(s, o)
				for _, l := range Ladders(c, never) {
					name := c.Metric.String() + ", " + c.Basis.String() + ", " + l.Name
					check(t, name, s, o, a, r, &l)
				}
			}
		})
	}
}

// check runs one ladder; every difference from the oracle is an error. It returns the
// answers, nil if there are none.
func check(t *testing.T, name string, s *Set, o *Oracle, a *goalSet, r backend.Resident, l *Ladder) backend.Answers {
	t.Helper()
	got, left, err := l.Search(context.Background(), r, a.queries, a.goals)
	if unsupportedLook(err, l) {
		t.Logf("%s: %v", name, err)
		return nil
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	if len(got) != a.queries.M {
		t.Errorf("%s: %d answers to %d queries", name, len(got), a.queries.M)
		return nil
	}
	if err := checkSurvivors(left, got, s.N()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for j := range got {
		q, g := s.Query(a.of[j]), a.goals[j]
		if l.Dense && !got[j].Dense || got[j].Random && !l.Random {
			t.Errorf("%s: query %d: dense %v, random %v", name, a.of[j], got[j].Dense, got[j].Random)
		}
		for _, d := range o.Explain(q, g, got[j], a.want[j]) {
			if d.Kind == Tie && (l.Random || d.Gap <= o.Precision(q, int(d.ID))) {
				continue
			}
			t.Errorf("%s: query %d, K %d, epsilon %g, floor %g: %v", name, a.of[j], g.K, g.Epsilon, g.Floor, d)
			return got // further queries would fail for the same reason
		}
	}
	return got
}

// unsupportedLook reports whether err says that a backend has no looks at float32
// coordinates, or none at panels of signs, which are optional.
func unsupportedLook(err error, l *Ladder) bool {
	return errors.Is(err, backend.ErrRuleUnsupported) && len(l.Looks) > 0 && (l.Looks[0].Rep == backend.Float32 || l.Looks[0].Rep == backend.SignPanels)
}

// batches checks that an answer, with all its figures, does not depend on the other queries
// of its batch.
func batches(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	rng := vectors.Rand(3)
	s := Set{Name: "power-law", Dim: 272, Rows: vectors.PowerLaw(rng, 1200, 272)}
	s.Queries = vectors.PowerLaw(rng, 200, 272)
	c := build(t, &s, collection.Options{Metric: collection.InnerProduct, Seed: 2})
	r := loadResident(t, b, c)
	goals := make([]backend.Goal, s.M())
	for j := range goals {
		goals[j] = backend.Goal{K: []int{1, 10, 50}[j%3], Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)}
	}
	for _, l := range Ladders(c, .001) {
		all, _, err := l.Search(context.Background(), r, backend.Queries{M: s.M(), Dim: s.Dim, Data: s.Queries}, goals)
		if unsupportedLook(err, &l) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		for i, size := range []int{1, 5, 64} {
			if !p.has(i) {
				continue
			}
			for lo := 0; lo < s.M(); lo += size {
				hi := min(lo+size, s.M())
				if size == 1 && lo >= 20 {
					break
				}
				part, _, err := l.Search(context.Background(), r, backend.Queries{M: hi - lo, Dim: s.Dim, Data: s.Queries[lo*s.Dim : hi*s.Dim]}, goals[lo:hi])
				if err != nil {
					t.Fatalf("%s: %v", l.Name, err)
				}
				if d := cmp.Diff(all[lo:hi], part); d != "" {
					t.Fatalf("%s: queries %d to %d of %d answered alone (-batch +alone):\n%s", l.Name, lo, hi, s.M(), d)
				}
			}
		}
	}
}

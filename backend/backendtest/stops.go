package backendtest

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// stops returns n atoms with two queries, their collection, its oracle, and a batch of both queries
// with four goals each, for tests of interruptions. 700 atoms are enough for several chunks.
func stops(t *testing.T, n int, opt collection.Options) (*Set, *collection.Collection, *Oracle, *goalSet) {
	rng := vectors.Rand(6)
	s := &Set{Name: "gaussian", Dim: 144, Rows: vectors.Gaussian(rng, n, 144)}
	s.Queries = append(append([]float32{}, s.Row(17)...), vectors.Gaussian(rng, 1, s.Dim)...)
	c := build(t, s, opt)
	o := NewOracle(c)
	a := &goalSet{}
	for j := range s.M() {
		a.add(s, o, j, backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
		a.add(s, o, j, backend.Goal{K: 10, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
		a.add(s, o, j, backend.Goal{K: 0, Floor: a.want[len(a.want)-1].Scores[9], Allowed: n, Ceiling: math.Inf(1)})
		a.add(s, o, j, backend.Goal{K: n, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
	}
	return s, c, o, a
}

// stopKinds are the collections for tests of interruptions.
func stopKinds() []collection.Options {
	return []collection.Options{
		{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Euclidean},
		{Metric: collection.InnerProduct, Seed: 1, NoHead: true, KeepRotated: true}, {Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw},
	}
}

// partial interrupts searches at every check of their context. The answer must be valid, and
// its open bound must cover every atom that is better than those returned.
func partial(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, opt := range stopKinds() {
		if !p.has(k) {
			continue
		}
		s, c, o, a := stops(t, 1000, opt)
		r := loadResident(t, b, c)
		for _, l := range Ladders(c, never) {
			for n, stopped := 0, true; stopped; n += 1 + n/5 {
				ctx := NewCountdown(n, context.DeadlineExceeded)
				got, _, err := l.Search(ctx, r, a.queries, a.goals)
				stopped = ctx.Ended()
				if stopped && ended(err) && got == nil && n < 2*len(a.goals) {
					continue // interrupted before there was a run
				}
				if unsupportedLook(err, &l) {
					break
				}
				if err != nil {
					t.Fatalf("%v %v %s, stopped after %d: %v", c.Metric, c.Basis, l.Name, n, err)
				}
				for j := range got {
					q, g := s.Query(a.of[j]), a.goals[j]
					ds := o.Explain(q, g, got[j], a.want[j])
					if Count(ds, BoundFailed)+Count(ds, Wrong) > 0 || !stopped && !got[j].Complete() {
						t.Fatalf("%v %v %s, stopped after %d, query %d, K %d: open %g\n%v", c.Metric, c.Basis, l.Name, n, a.of[j], g.K, got[j].OpenBound, ds)
					}
					if err := checkReports(&got[j], s.N()); err != nil {
						t.Fatalf("%v %v %s, stopped after %d, query %d, K %d: %v", c.Metric, c.Basis, l.Name, n, a.of[j], g.K, err)
					}
				}
				if n > 1<<16 {
					t.Fatal("the context never ends")
				}
			}
		}
	}
}

// resumed checks that a Run stays valid after an interrupted call and can continue with
// another context.
func resumed(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, opt := range stopKinds() {
		if !p.has(k) {
			continue
		}
		s, c, o, a := stops(t, 1000, opt)
		r := loadResident(t, b, c)
		for _, l := range Ladders(c, never) {
			for n, stopped := 0, true; stopped; n += 1 + n/4 {
				ctx := NewCountdown(n, context.Canceled)
				run, err := r.Begin(context.Background(), a.queries, a.goals)
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.drive(ctx, run, a.queries.M)
				stopped = ended(err)
				if unsupportedLook(err, &l) {
					run.Close()
					break
				}
				if err != nil && !stopped {
					t.Fatalf("%v %v %s, stopped after %d: %v", c.Metric, c.Basis, l.Name, n, err)
				}
				// looks at float32 coordinates cannot be repeated: Finish scores the
				// survivors
				if stopped && l.Looks != nil && l.Looks[0].Rep != backend.Float32 || stopped && l.Looks == nil {
					_, err := l.drive(context.Background(), run, a.queries.M)
					if unsupportedLook(err, &l) { // the context ended before the backend could refuse it
						run.Close()
						break
					}
					if err != nil {
						t.Fatalf("%v %v %s, resumed after %d: %v", c.Metric, c.Basis, l.Name, n, err)
					}
				}
				got, err := run.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				for j := range got {
					q, g := s.Query(a.of[j]), a.goals[j]
					ds := o.Explain(q, g, got[j], a.want[j])
					if Count(ds, Tie) != len(ds) || !got[j].Complete() {
						t.Fatalf("%v %v %s, stopped after %d and resumed, query %d, K %d: open %g\n%v", c.Metric, c.Basis, l.Name, n, a.of[j], g.K, got[j].OpenBound, ds)
					}
				}
				run.Close()
			}
		}
	}
}

// survivorLimit checks that a look that keeps more than MaxSurvivors sends its query to the
// dense path, also if the context ends at that time.
func survivorLimit(t *testing.T, open func() backend.Backend) {
	b := opened(t, open)
	rng := vectors.Rand(8)
	s := &Set{Name: "gaussian", Dim: 128, Rows: vectors.Gaussian(rng, 9000, 128), Queries: vectors.Gaussian(rng, 2, 128)}
	c := build(t, s, collection.Options{Metric: collection.InnerProduct, Seed: 3})
	r := loadResident(t, b, c)
	o := NewOracle(c)
	a := &goalSet{}
	for j := range s.M() {
		a.add(s, o, j, backend.Goal{K: 10, Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)})
	}
	l := Ladder{Name: "student, few survivors allowed", Random: true,
		Looks: []backend.Look{{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Student, Alpha: never, MaxSurvivors: .3}}}
	got, left, err := l.Search(context.Background(), r, a.queries, a.goals)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSurvivors(left, got, s.N()); err != nil {
		t.Error(err)
	}
	for j := range got {
		if left[0][j] > 0 || !got[j].Dense || got[j].Random {
			t.Errorf("query %d: %d survivors, answer dense %v, random %v", j, left[0][j], got[j].Dense, got[j].Random)
		}
		if kept := got[j].Looks[0].Survivors; float64(kept) <= .3*float64(s.N()) {
			t.Errorf("query %d: dense after %d atoms of %d were kept", j, kept, s.N())
		}
		if ds := o.Explain(s.Query(j), a.goals[j], got[j], a.want[j]); len(ds) > 0 {
			t.Errorf("query %d: %v", j, ds)
		}
	}
	for n, stopped := 0, true; stopped; n += 1 + n/5 {
		ctx := NewCountdown(n, context.DeadlineExceeded)
		run, err := r.Begin(context.Background(), a.queries, a.goals)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.drive(ctx, run, a.queries.M)
		if stopped = ended(err); err != nil && !stopped {
			t.Fatal(err)
		}
		// Finish works with a context that has ended and with one that has not
		var end context.Context = ctx
		if n%2 == 1 {
			end = context.Background()
		}
		got, err := run.Finish(end)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			ds := o.Explain(s.Query(j), a.goals[j], got[j], a.want[j])
			if Count(ds, Wrong)+Count(ds, BoundFailed) > 0 {
				t.Fatalf("stopped after %d, query %d, open %g: %v", n, j, got[j].OpenBound, ds)
			}
		}
		run.Close()
	}
}

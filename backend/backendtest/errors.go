package backendtest

import (
	"context"
	"errors"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// small returns a set for tests of errors, its collection and one goal.
func small(t *testing.T, dim int, opt collection.Options) (*Set, *collection.Collection, *Oracle, *goalSet) {
	rng := vectors.Rand(9)
	s := &Set{Name: "small", Dim: dim, Rows: vectors.Gaussian(rng, 200, dim), Queries: vectors.Gaussian(rng, 1, dim)}
	c := build(t, s, opt)
	o := NewOracle(c)
	a := &goalSet{}
	a.add(s, o, 0, backend.Goal{K: 3, Floor: math.Inf(-1), Allowed: 200, Ceiling: math.Inf(1)})
	return s, c, o, a
}

// unsupported checks that a backend refuses looks that it cannot take with
// ErrRuleUnsupported, and that the Run can continue.
func unsupported(t *testing.T, open func() backend.Backend) {
	b := opened(t, open)
	for _, x := range []struct {
		name string
		dim  int
		opt  collection.Options
		look func(c *collection.Collection) backend.Look
	}{
		{"martingale on panels", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Martingale, Alpha: .01}
		}},
		{"certain bounds of mixed codes", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.Mixed, To: c.Stages[0].Width, Rule: backend.Cauchy}
		}},
		{"certain bounds of panels of signs", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.SignPanels, To: backend.SignPanels.Reads(c.Stages[0].Width), Rule: backend.Cauchy}
		}},
		{"more signs than coordinates", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.SignPanels, To: backend.SignPanels.Reads(c.D), Rule: backend.Student, Alpha: .01}
		}},
		{"mean radius on rows", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.MeanRadius, Alpha: .01, Sigma: 1}
		}},
		{"float32 that was not kept", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.Float32, To: 16, Rule: backend.Student, Alpha: .01}
		}},
		{"panels of a raw basis", 160, collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.Panels, To: 64, Rule: backend.Cauchy}
		}},
		{"rows of few dimensions", 8, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.RowCodes, To: 8, Rule: backend.Cauchy}
		}},
		{"no such representation", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: 200, To: 64, Rule: backend.Cauchy}
		}},
		{"no such rule", 160, collection.Options{Metric: collection.InnerProduct}, func(c *collection.Collection) backend.Look {
			return backend.Look{Rep: backend.Panels, To: c.Stages[0].Width, Rule: 200}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, c, o, a := small(t, x.dim, x.opt)
			run, err := loadResident(t, b, c).Begin(context.Background(), a.queries, a.goals)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if _, err := run.Pull(context.Background(), x.look(c)); !errors.Is(err, backend.ErrRuleUnsupported) {
				t.Fatalf("error %v, want ErrRuleUnsupported", err)
			}
			if err := run.Dense(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
			got, err := run.Finish(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if ds := o.Explain(s.Query(0), a.goals[0], got[0], a.want[0]); len(ds) > 0 {
				t.Error(ds)
			}
		})
	}
}

// closed checks that calls after Close fail, and that a second Close has no effect.
func closed(t *testing.T, open func() backend.Backend) {
	ctx := context.Background()
	_, c, _, a := small(t, 160, collection.Options{Metric: collection.InnerProduct})
	b := open()
	r, err := b.Load(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	run, err := r.Begin(ctx, a.queries, a.goals)
	if err != nil {
		t.Fatal(err)
	}
	shut := func(what string, f func() error) {
		if err := f(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := f(); err != nil && !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s again: %v", what, err)
		}
	}
	refuses := func(what string, err error) {
		if !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s after Close: error %v, want ErrClosed", what, err)
		}
	}
	shut("closing a run", run.Close)
	_, err = run.Pull(ctx, backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy})
	refuses("Pull", err)
	refuses("Floor", run.Floor(ctx, []float64{0}))
	refuses("Dense", run.Dense(ctx, 0))
	_, err = run.Finish(ctx)
	refuses("Finish", err)
	shut("closing a resident", r.Close)
	_, err = r.Begin(ctx, a.queries, a.goals)
	refuses("Begin", err)
	shut("closing the backend", b.Close)
	_, err = b.Load(ctx, c)
	refuses("Load", err)
}

// shapes checks that batches of wrong dimensions are refused.
func shapes(t *testing.T, open func() backend.Backend) {
	_, c, _, a := small(t, 160, collection.Options{Metric: collection.InnerProduct})
	r := loadResident(t, opened(t, open), c)
	for _, x := range []struct {
		name  string
		q     backend.Queries
		goals []backend.Goal
	}{
		{"another dimension", backend.Queries{M: 1, Dim: 159, Data: make([]float32, 159)}, a.goals},
		{"too few values", backend.Queries{M: 1, Dim: 160, Data: make([]float32, 100)}, a.goals},
		{"no goal", a.queries, nil},
	} {
		if run, err := r.Begin(context.Background(), x.q, x.goals); err == nil {
			run.Close()
			t.Errorf("%s: no error", x.name)
		}
	}
	run, err := r.Begin(context.Background(), a.queries, a.goals)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for _, floors := range [][]float64{nil, {1, 2}, {math.NaN()}, {math.Inf(1)}} {
		if err := run.Floor(context.Background(), floors); err == nil {
			t.Errorf("floors %v of 1 query: no error", floors)
		}
	}
	for _, j := range []int{-1, 1} {
		if err := run.Dense(context.Background(), j); err == nil {
			t.Errorf("dense query %d of 1: no error", j)
		}
	}
}

package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/simd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance runs the suite with every set of kernels of this processor, the best one with all data and the
// others with a sixth each: they differ in package simd alone, whose tests compare each with portable Go, and
// TestLists compares their answers. What only the suite could find with the rest, a full run finds
// (THRESHER_FULL). With -short there is only the best one, and under the race detector a third of its cases:
// data races depend on the kind of case, not on its data.
func TestConformance(t *testing.T) {
	sets := simd.Available()
	if testing.Short() {
		sets = sets[len(sets)-1:]
	}
	for i, l := range sets {
		t.Run(l.String(), func(t *testing.T) {
			var p backendtest.Part
			switch {
			case race.Enabled:
				p = backendtest.Part{I: i, Of: 3}
			case i < len(sets)-1 && !draws.Full():
				p = backendtest.Part{I: i, Of: 6}
			}
			backendtest.RunPart(t, func() backend.Backend { return cpu.New(cpu.Options{Threads: 2, Kernels: &l}) }, p)
		})
	}
}

// TestThreads: for every ladder, answers and their figures are the same with any number of
// threads.
func TestThreads(t *testing.T) {
	rng := vectors.Rand(1)
	const n, m = 2500, 30
	for _, x := range []struct {
		dim int
		opt collection.Options
	}{
		{144, collection.Options{Metric: collection.InnerProduct, Seed: 1}},
		{144, collection.Options{Seed: 1, Metric: collection.Euclidean}},
		{144, collection.Options{Metric: collection.InnerProduct, Seed: 1, NoHead: true, KeepRotated: true}},
		{40, collection.Options{Seed: 1, Basis: collection.Raw, Metric: collection.Cosine}},
		{8, collection.Options{Metric: collection.InnerProduct, Seed: 1}},
	} {
		n := n
		if testing.Short() {
			n = 1000
		}
		rows := vectors.PowerLaw(rng, n, x.dim)
		c, err := collection.Build(context.Background(), rows, x.dim, &x.opt)
		if err != nil {
			t.Fatal(err)
		}
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: []int{1, 10, 100}[j%3], Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
			if j%4 == 3 {
				row := rows[j*x.dim : (j+1)*x.dim]
				goals[j].Ceiling, goals[j].MaxBetter = c.Score(row, j)*.9, .05
			}
		}
		for _, l := range backendtest.Ladders(c, .001) {
			for k := range l.Looks {
				l.Looks[k].MaxSurvivors = .2 // some queries go dense
			}
			for _, batch := range []int{3, m} {
				q := backend.Queries{M: batch, Dim: x.dim, Data: rows[:batch*x.dim]}
				var want backend.Answers
				for _, threads := range []int{1, 2, 3, 7} {
					got := search(t, c, l, threads, q, goals[:batch])
					if want == nil {
						want = got
						continue
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("%v %v dim %d, %s, %d queries, 1 thread against %d:\n%s", c.Metric, c.Basis, x.dim, l.Name, batch, threads, d)
					}
				}
			}
		}
	}
}

func search(t *testing.T, c *collection.Collection, l backendtest.Ladder, threads int, q backend.Queries, goals []backend.Goal) backend.Answers {
	t.Helper()
	r, err := cpu.New(cpu.Options{Threads: threads}).Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, _, err := l.Search(context.Background(), r, q, goals)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", l.Name, err))
	}
	return a
}

// TestDenseKeepsWhatItFound stops a dense scan of many queries halfway: the queries of
// completed jobs have complete answers, and the others partial ones.
func TestDenseKeepsWhatItFound(t *testing.T) {
	rng := vectors.Rand(2)
	rows := vectors.Gaussian(rng, 3000, 20)
	c, err := collection.Build(context.Background(), rows, 20, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	r, err := cpu.New(cpu.Options{Threads: 2}).Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	const m = 200 // four jobs
	goals := make([]backend.Goal, m)
	for j := range goals {
		goals[j] = backend.Goal{K: 5, Floor: math.Inf(-1), Allowed: 3000, Ceiling: math.Inf(1)}
	}
	run, err := r.Begin(context.Background(), backend.Queries{M: m, Dim: 20, Data: rows[:m*20]}, goals)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	all := backend.QueryIndexes(0, m)
	ctx := backendtest.NewCountdown(70, context.DeadlineExceeded)
	if err := run.Dense(ctx, all...); err == nil {
		t.Fatal("the scan was not stopped")
	}
	got, err := run.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	complete, part := 0, 0
	for _, a := range got {
		switch {
		case a.Complete():
			complete++
		case len(a.IDs) == 5:
			part++
		}
	}
	if complete == 0 || complete == m || part == 0 {
		t.Errorf("%d complete and %d partial answers of %d", complete, part, m)
	}
}

// TestExactIsHonest: if an answer says that no arm was dropped by a bound that can fail, it
// is right, even after a look that nearly always fails.
func TestExactIsHonest(t *testing.T) {
	rng := vectors.Rand(3)
	const n, dim = 900, 128
	rows := vectors.Gaussian(rng, n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := backendtest.NewOracle(c)
	half, allowed := o.Filter(func(row int) bool { return row%2 == 0 })
	failed := 0
	for _, source := range []backend.Source{backend.Exact, backend.LowerBound} {
		for j := range 20 {
			for _, g := range []backend.Goal{
				{K: 10, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)},
				{K: 10, Floor: math.Inf(-1), Filter: half, Allowed: allowed, Ceiling: math.Inf(1)},
				{K: 0, Floor: 20, Allowed: n, Ceiling: math.Inf(1)},
			} {
				q := rows[j*dim : (j+1)*dim]
				l := backendtest.Ladder{Looks: []backend.Look{
					{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Student, Alpha: .4, Source: source}}}
				a := search(t, c, l, 1, backend.Queries{M: 1, Dim: dim, Data: q}, []backend.Goal{g})[0]
				ds := o.Explain(q, g, a, o.Answer(q, g))
				if backendtest.Count(ds, backendtest.Wrong) > 0 {
					t.Errorf("query %d: %v", j, ds)
				}
				failed += min(1, backendtest.Count(ds, backendtest.BoundFailed))
			}
		}
	}
	if failed == 0 {
		t.Error("no look failed at alpha .4: the test shows nothing")
	}
}

// TestExactCountsRetests: if a look keeps every arm, and the final threshold later drops
// one by that look's bound, the drop counts as one that can fail.
func TestExactCountsRetests(t *testing.T) {
	rng := vectors.Rand(4)
	const n, dim = 6, 128
	found := 0
	for seed := range uint64(100) {
		rows := vectors.Gaussian(rng, n, dim)
		c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: seed, NoHead: true})
		if err != nil {
			t.Fatal(err)
		}
		l := backendtest.Ladder{Looks: []backend.Look{{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Student, Alpha: .1}}}
		g := backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		q := vectors.Gaussian(rng, 1, dim)
		a := search(t, c, l, 1, backend.Queries{M: 1, Dim: dim, Data: q}, []backend.Goal{g})[0]
		if a.Looks[0].Survivors == n && a.RowsScored < n {
			found++
			if !a.Random {
				t.Errorf("seed %d: the look kept all, %d of %d rows were scored, yet no drop is called random", seed, a.RowsScored, n)
			}
		}
	}
	if found == 0 {
		t.Error("no such search among 100")
	}
}

// TestExactCountsCandidates is the same for raw coordinates: scored candidates tighten
// the threshold above arms that every look had kept.
func TestExactCountsCandidates(t *testing.T) {
	rng := vectors.Rand(4)
	const n, dim = 6, 64
	found := 0
	for seed := range uint64(100) {
		rows := vectors.PowerLaw(rng, n, dim)
		c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: seed, Basis: collection.Raw})
		if err != nil {
			t.Fatal(err)
		}
		q := vectors.PowerLaw(rng, 1, dim)
		g := backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		for _, l := range backendtest.Ladders(c, .3) {
			if !l.Random {
				continue
			}
			for k := range l.Looks[1:] {
				l.Looks[k+1].Candidates = 1
			}
			a := search(t, c, l, 1, backend.Queries{M: 1, Dim: dim, Data: q}, []backend.Goal{g})[0]
			if a.RowsScored == n {
				continue
			}
			found++
			if !a.Random {
				t.Errorf("seed %d, %s: %d of %d rows were scored, yet no drop is called random", seed, l.Name, a.RowsScored, n)
			}
		}
	}
	if found == 0 {
		t.Error("no such search among 100")
	}
}

// TestGoals runs the suite's checks of the fields of goals, under the race detector a part.
func TestGoals(t *testing.T) {
	var p backendtest.Part
	if race.Enabled {
		p = backendtest.Part{I: 2, Of: 4}
	}
	backendtest.Goals(t, func() backend.Backend { return cpu.New(cpu.Options{Threads: 2}) }, p)
}

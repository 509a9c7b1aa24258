package cpu_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// TestLargeK: for more atoms than a heap holds, up to all, every ladder gives the same answers and
// figures on any number of threads, alone and together, and the right answers unless an arm was
// dropped by a bound that can fail. Half of the atoms are twins, whose scores are equal.
func TestLargeK(t *testing.T) {
	const n, dim, m = 3000, 40, 5
	rng := vectors.Rand(6)
	rows := vectors.PowerLaw(rng, n, dim)
	copy(rows[n/2*dim:], rows[:n/2*dim])
	queries := backend.Queries{M: m, Dim: dim, Data: vectors.PowerLaw(rng, m, dim)}
	metrics := []collection.Metric{collection.InnerProduct, collection.Euclidean}
	if testing.Short() {
		metrics = metrics[:1]
	}
	for _, metric := range metrics {
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 1, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		oracle := backendtest.NewOracle(c)
		goals := make([]backend.Goal, m)
		for j, k := range []int{1025, 1500, 2501, n, 1300} {
			goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		right := 0
		for _, l := range backendtest.Ladders(c, .001) {
			want := search(t, c, l, 1, queries, goals)
			if d := gocmp.Diff(want, search(t, c, l, 3, queries, goals)); d != "" {
				t.Fatalf("%v, %s: 1 thread against 3:\n%s", metric, l.Name, d)
			}
			for j := range goals {
				alone := search(t, c, l, 1, backend.Queries{M: 1, Dim: dim, Data: queries.Row(j)}, goals[j:j+1])
				if d := gocmp.Diff(want[j].IDs, alone[0].IDs); d != "" {
					t.Errorf("%v, %s, query %d: together against alone:\n%s", metric, l.Name, j, d)
				}
				if want[j].Random {
					continue
				}
				right++
				if exact := oracle.Answer(queries.Row(j), goals[j]); !slices.Equal(want[j].IDs, exact.IDs) {
					t.Errorf("%v, %s, k %d: other atoms than the oracle's", metric, l.Name, goals[j].K)
				}
			}
		}
		if right == 0 {
			t.Errorf("%v: no answer is certain: the test shows little", metric)
		}
	}
}

// TestDenseAnyK: for any k from 1 to all atoms dense scans give the list that scoring and sorting all atoms gives, with
// duplicates, ties and atoms of very different sizes among them.
func TestDenseAnyK(t *testing.T) {
	const m = 3 // enough for float32 products
	rapid.Check(t, func(t *rapid.T) {
		n, dim := rapid.IntRange(1, 700).Draw(t, "n"), rapid.IntRange(1, 24).Draw(t, "dim")
		rng := vectors.Rand(rapid.Uint64().Draw(t, "seed"))
		rows := vectors.Gaussian(rng, n, dim)
		kind := rapid.SampledFrom([]string{"any", "whole numbers", "sizes", "giant"}).Draw(t, "kind")
		for i := range rows {
			switch kind {
			case "whole numbers":
				rows[i] = float32(math.Round(float64(rows[i])))
			case "sizes":
				rows[i] = float32(math.Ldexp(float64(rows[i]), i/dim%60-30))
			}
		}
		if kind == "giant" {
			rows[0] = 1e15
		}
		copy(rows[n/2*dim:n/2*2*dim], rows[:n/2*dim]) // every atom has a twin
		metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Euclidean, collection.Cosine}).Draw(t, "metric")
		c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Seed: 1, Metric: metric, Basis: collection.Raw})
		if err != nil {
			t.Fatal(err)
		}
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: rapid.IntRange(1, n).Draw(t, "k"), Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		queries := backend.Queries{M: m, Dim: dim, Data: vectors.Gaussian(rng, m, dim)}
		r, err := cpu.New(cpu.Options{Threads: rapid.IntRange(1, 2).Draw(t, "threads")}).Load(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		l := backendtest.Ladder{Dense: true}
		answers, _, err := l.Search(context.Background(), r, queries, goals)
		if err != nil {
			t.Fatal(err)
		}
		for j, a := range answers {
			// A query alone scores every row exactly.
			all := goals[j]
			all.K = n
			alone, _, err := l.Search(context.Background(), r, backend.Queries{M: 1, Dim: dim, Data: queries.Row(j)}, []backend.Goal{all})
			if err != nil {
				t.Fatal(err)
			}
			want, k := alone[0], goals[j].K
			if len(want.IDs) != n || !slices.IsSortedFunc(want.Scores, func(a, b float64) int { return cmp.Compare(b, a) }) {
				t.Fatalf("%v, %s, query %d: %d of %d atoms in order", metric, kind, j, len(want.IDs), n)
			}
			if !slices.Equal(a.IDs, want.IDs[:k]) || !slices.Equal(a.Scores, want.Scores[:k]) {
				t.Fatalf("%v, %s, query %d, k %d of %d:\n%v\n%v, want\n%v\n%v", metric, kind, j, k, n, a.IDs, a.Scores, want.IDs[:k], want.Scores[:k])
			}
		}
	})
}

// TestLargeKStopped: wherever a dense scan for many atoms is stopped, also while queries score rows
// together, answers are exact scores in order, with an open bound above all others unless they are
// complete. More than 64 queries are scanned in two parts and score rows afterwards.
func TestLargeKStopped(t *testing.T) {
	const n, dim, most, k = 4000, 16, 70, 500
	rng := vectors.Rand(6)
	rows := vectors.PowerLaw(rng, n, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	oracle := backendtest.NewOracle(c)
	r, err := cpu.New(cpu.Options{Threads: 1}).Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	goals, wants := make([]backend.Goal, most), make([]backend.Answer, most)
	for j := range goals {
		goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		wants[j] = oracle.Answer(rows[j*dim:(j+1)*dim], goals[j])
	}
	l := backendtest.Ladder{Dense: true}
	for _, s := range []struct {
		name     string
		m, ticks int
	}{
		{"4 queries", 4, 60},
		{"70 queries", most, 90},
	} {
		t.Run(s.name, func(t *testing.T) {
			complete, stopped := 0, 0
			for ticks := 1; ticks < s.ticks; ticks += 2 {
				ctx := backendtest.NewCountdown(ticks, context.Canceled)
				answers, _, err := l.Search(ctx, r, backend.Queries{M: s.m, Dim: dim, Data: rows[:s.m*dim]}, goals[:s.m])
				if err != nil && answers == nil {
					continue
				}
				for j := range answers {
					a, want := &answers[j], wants[j]
					if a.Complete() {
						complete++
						if !slices.Equal(a.IDs, want.IDs) {
							t.Errorf("%d ticks, query %d: complete, and other atoms than the oracle's", ticks, j)
						}
						continue
					}
					stopped++
					ascending := slices.Clone(a.Scores)
					slices.Reverse(ascending)
					if !slices.IsSorted(ascending) || len(a.IDs) == 0 && math.IsInf(a.OpenBound, -1) || len(a.IDs) > 0 && a.IDs[0] != want.IDs[0] && a.OpenBound < want.Scores[0] {
						t.Errorf("%d ticks, query %d: %d scores, open bound %g", ticks, j, len(a.Scores), a.OpenBound)
					}
				}
			}
			if complete == 0 || stopped == 0 {
				t.Errorf("%d complete, %d stopped: the test shows nothing", complete, stopped)
			}
		})
	}
}

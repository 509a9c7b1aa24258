package cpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// TestOwnBounds: a first look at whole rows whose own bounds raise the threshold reads nothing but its panels, and the
// answers after it are those of the dense scan: for any k, with twins, duplicates of a query, atoms of very different
// sizes, candidates and excluded atoms, of all atoms and of those that a filter allows, on any number of threads and alone.
func TestOwnBounds(t *testing.T) {
	raised := 0
	rapid.Check(t, func(t *rapid.T) {
		n, dim, m := rapid.IntRange(2, 2500).Draw(t, "n"), rapid.IntRange(40, 90).Draw(t, "dim"), rapid.IntRange(1, 4).Draw(t, "queries")
		rng := vectors.Rand(rapid.Uint64().Draw(t, "seed"))
		rows := vectors.PowerLaw(rng, n, dim)
		switch rapid.SampledFrom([]string{"any", "twins", "sizes"}).Draw(t, "kind") {
		case "twins":
			copy(rows[n/2*dim:n/2*2*dim], rows[:n/2*dim])
		case "sizes":
			for i := range rows {
				rows[i] = float32(math.Ldexp(float64(rows[i]), i/dim%40-20))
			}
		}
		metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Euclidean, collection.Cosine}).Draw(t, "metric")
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 3, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		queries := backend.Queries{M: m, Dim: dim, Data: vectors.PowerLaw(rng, m, dim)}
		copy(queries.Data, rows[:dim])
		some := func(name string, most int) (list []uint32) {
			for range rapid.IntRange(0, most).Draw(t, name) {
				list = append(list, uint32(rng.IntN(n)))
			}
			return backend.SortIndexes(list, n)
		}
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: rapid.IntRange(1, n).Draw(t, "k"), Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
			goals[j].Candidates = some("candidates", min(100, n))
			goals[j].Exclude = slices.DeleteFunc(some("excluded", min(50, n/2)), func(i uint32) bool { return slices.Contains(goals[j].Candidates, i) })
			goals[j].Allowed = n - len(goals[j].Exclude)
		}
		if share := rapid.SampledFrom([]int{1, 2, 10, 100}).Draw(t, "one of so many allowed"); share > 1 {
			var allowed []uint32
			for i := range uint32(n) {
				if rng.IntN(share) == 0 || i == 0 {
					allowed = append(allowed, i)
				}
			}
			f := backend.ListFilter(c.Order, allowed)
			for j := range goals {
				g := &goals[j]
				other := func(i uint32) bool { return !f.Has(int(i)) }
				g.Candidates = slices.DeleteFunc(g.Candidates, other)
				g.Allowed = f.Len() - len(slices.DeleteFunc(slices.Clone(g.Exclude), other))
				g.Filter, g.K = f, min(g.K, max(1, g.Allowed))
			}
		}
		whole := backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy, Source: backend.LowerBound, FirstChunk: 64 * rapid.IntRange(1, 8).Draw(t, "panels of the first chunk"),
			Gather: rapid.Bool().Draw(t, "gathered")}
		answer := func(threads int, look *backend.Look, q backend.Queries, goals []backend.Goal) backend.Answers {
			r, err := New(Options{Threads: threads}).Load(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			began, err := r.Begin(t.Context(), q, goals)
			if err != nil {
				t.Fatal(err)
			}
			defer began.Close()
			if look == nil {
				err = began.(*run).Dense(t.Context(), backend.QueryIndexes(0, q.M)...)
			} else {
				_, err = began.Pull(t.Context(), *look)
			}
			if err != nil {
				t.Fatal(err)
			}
			for j := range began.(*run).states {
				s := &began.(*run).states[j]
				if look != nil && s.RowsRead > len(goals[j].Candidates) {
					t.Fatalf("query %d: the look read %d rows in float32", j, s.RowsRead)
				}
				if s.RaisedByLowers() {
					raised++
				}
			}
			a, err := began.Finish(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for j := range a {
				pulls := int64(a[j].RowsScored) * int64(dim)
				for _, l := range a[j].Looks {
					pulls += int64(l.Seen+l.Disallowed) * int64(c.R+l.Look.To)
				}
				if a[j].Pulls != pulls {
					t.Fatalf("query %d: %d pulls, of which the look and scores are %d: rows of codes were read", j, a[j].Pulls, pulls)
				}
			}
			return a
		}
		want := answer(1, nil, queries, goals)
		got := answer(1, &whole, queries, goals)
		for j := range want {
			if d := cmp.Diff(want[j].IDs, got[j].IDs) + cmp.Diff(want[j].Scores, got[j].Scores); d != "" {
				t.Fatalf("%v, query %d, the %d best of %d: dense scan against look: %s", metric, j, goals[j].K, n, d)
			}
			alone := answer(1, &whole, backend.Queries{M: 1, Dim: dim, Data: queries.Row(j)}, goals[j:j+1])
			if d := cmp.Diff(got[j], alone[0]); d != "" {
				t.Fatalf("%v, query %d: together against alone: %s", metric, j, d)
			}
		}
		if d := cmp.Diff(got, answer(3, &whole, queries, goals)); d != "" {
			t.Fatalf("%v: 1 thread against 3: %s", metric, d)
		}
	})
	if draws.Usual() && raised == 0 {
		t.Error("no threshold was raised: the test shows nothing")
	}
}

// TestExpectedThreshold: atoms that a sample misses or has too many of lead to the answer of the dense scan. Where the sample has only
// atoms that are better than nearly all others, the threshold is expected too high, and the codes are read again.
func TestExpectedThreshold(t *testing.T) {
	const n, dim, k = 4096, 48, 600
	rng := vectors.Rand(9)
	var c *collection.Collection
	for _, sampledScore := range []float32{-5, 0, 5} {
		rows := vectors.Gaussian(rng, n, dim)
		build := func(first func(i int) float32) *collection.Collection { // with these first coordinates, and always the same norms
			order := make([]uint32, n)
			for i := range order {
				order[i] = uint32(i)
			}
			if c != nil {
				order = c.Order
			}
			for i, at := range order {
				row := rows[int(at)*dim : int(at+1)*dim]
				row[0] = first(i)
				scale := (3 - float32(at)/n) / float32(collection.Norm(row))
				for c := range row {
					row[c] *= scale
				}
			}
			built, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 3, Metric: collection.InnerProduct})
			if err != nil {
				t.Fatal(err)
			}
			return built
		}
		c = nil
		c = build(func(int) float32 { return 0 })
		c = build(func(i int) float32 { // panels 4, 12, 20 .. are sampled
			if i/64%8 == 4 {
				return sampledScore
			}
			return 0
		})
		queries := backend.Queries{M: 3, Dim: dim, Data: vectors.Gaussian(rng, 3, dim)}
		for j := range queries.M {
			queries.Row(j)[0] = 40
		}
		goals := make([]backend.Goal, queries.M)
		for j := range goals {
			goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		look := backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy, Source: backend.LowerBound, FirstChunk: 1024}
		answer := func(threads int, looks bool, q backend.Queries) backend.Answers {
			r, err := New(Options{Threads: threads}).Load(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			run, err := r.Begin(t.Context(), q, goals[:q.M])
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if looks {
				_, err = run.Pull(t.Context(), look)
			} else {
				err = run.Dense(t.Context(), backend.QueryIndexes(0, q.M)...)
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err := run.Finish(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		want, got := answer(1, false, queries), answer(1, true, queries)
		for j := range want {
			if d := cmp.Diff(want[j].IDs, got[j].IDs) + cmp.Diff(want[j].Scores, got[j].Scores); d != "" {
				t.Fatalf("score %g of the sample, query %d: dense scan against look: %s", sampledScore, j, d)
			}
			if again := got[j].Looks[0].Disallowed; (again > 0) != (sampledScore > 0) {
				t.Errorf("score %g of the sample, query %d: %d codes read again", sampledScore, j, again)
			}
			if d := cmp.Diff(got[j:j+1], answer(2, true, backend.Queries{M: 1, Dim: dim, Data: queries.Row(j)})); d != "" {
				t.Errorf("score %g of the sample, query %d: together against alone with a helper: %s", sampledScore, j, d)
			}
		}
		if d := cmp.Diff(got, answer(3, true, queries)); d != "" {
			t.Errorf("1 thread against 3: %s", d)
		}
		if sampledScore > 0 {
			checkOtherLooks(t, c, look, queries, goals, want)
		}
	}
}

// checkOtherLooks stops look, whose own lower bounds raise the threshold, and the one after it everywhere, or another first look, and
// goes on with other looks or with none.
func checkOtherLooks(t *testing.T, c *collection.Collection, look backend.Look, queries backend.Queries, goals []backend.Goal, want backend.Answers) {
	r, err := New(Options{Threads: 1}).Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}
	panels := backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy, FirstChunk: 64}
	narrow := backend.Look{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-9, FirstChunk: 64}
	passedOver := 0
	for _, x := range []struct{ first, then []backend.Look }{
		{[]backend.Look{look, rows}, []backend.Look{rows}},
		{[]backend.Look{look, rows}, []backend.Look{panels}},
		{[]backend.Look{look, rows}, nil},
		{[]backend.Look{narrow}, []backend.Look{look}},
	} {
		for n, stopped := 0, true; stopped; n += 1 + n/8 {
			began, err := r.Begin(t.Context(), queries, goals)
			if err != nil {
				t.Fatal(err)
			}
			ctx := backendtest.NewCountdown(n, context.Canceled)
			err = nil
			for k := 0; k < len(x.first) && err == nil; k++ {
				_, err = began.Pull(ctx, x.first[k])
			}
			if stopped = err != nil; stopped && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			for _, s := range began.(*run).states {
				if s.NextPanel > 0 && s.Expected > s.Tau {
					passedOver++
				}
			}
			for _, l := range x.then {
				if _, err := began.Pull(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
			got, err := began.Finish(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for j := range want {
				if d := cmp.Diff(want[j].IDs, got[j].IDs) + cmp.Diff(want[j].Scores, got[j].Scores); d != "" || !got[j].Complete() {
					t.Fatalf("query %d, stopped after %d checks and then %v: complete %v, dense scan against looks: %s", j, n, x.then, got[j].Complete(), d)
				}
			}
			began.Close()
		}
	}
	if passedOver == 0 {
		t.Error("no look was stopped that had passed over atoms: the test shows nothing")
	}
}

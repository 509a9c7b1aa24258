package cpu

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestFinishTogether: queries of large k that score arms together have the answers of those that
// score them one by one and of the dense scan, with at most a share more rows scored. What a query
// scores does not depend on others or on the number of threads. Wherever the end is stopped, scores
// are exact and in order, and the open bound is above all others.
func TestFinishTogether(t *testing.T) {
	const n, dim, m, k = 3000, 256, 6, 300
	rng := vectors.Rand(9)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Euclidean} {
		c, err := collection.Build(t.Context(), vectors.PowerLaw(rng, n, dim), dim, &collection.Options{Seed: 2, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		queries := backend.Queries{M: m, Dim: dim, Data: vectors.PowerLaw(rng, m, dim)}
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		whole := backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy, Source: backend.LowerBound, FirstChunk: 1024}
		prefix := backend.Look{Rep: backend.Panels, To: c.Stages[1].Width, Rule: backend.Cauchy, FirstChunk: 1024}
		answer := func(ctx context.Context, look backend.Look, together bool, threads int, q backend.Queries, goals []backend.Goal) backend.Answers {
			loaded, err := New(Options{Threads: threads}).Load(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			r := loaded.(*resident)
			if !together { // one by one
				look.Source = backend.Exact
			} else {
				r.tileBytes = 64 * 4 * dim
			}
			run, err := r.Begin(t.Context(), q, goals)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if look.To == 0 {
				err = run.Dense(t.Context(), backend.QueryIndexes(0, q.M)...)
			} else {
				_, err = run.Pull(t.Context(), look)
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err := run.Finish(ctx)
			if err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			return a
		}
		dense := answer(t.Context(), backend.Look{}, false, 1, queries, goals)
		for _, look := range []backend.Look{whole, prefix} {
			apart := answer(t.Context(), look, false, 1, queries, goals)
			want := answer(t.Context(), look, true, 1, queries, goals)
			others := 0 // queries that score other numbers of rows together than one by one
			for j := range want {
				if want[j].RowsScored != apart[j].RowsScored {
					others++
				}
				if d := cmp.Diff(dense[j].IDs, want[j].IDs) + cmp.Diff(dense[j].Scores, want[j].Scores) + cmp.Diff(dense[j].IDs, apart[j].IDs); d != "" {
					t.Errorf("%v, %d codes, query %d: %s", metric, look.To, j, d)
				}
				if most := apart[j].RowsScored + max(k, apart[j].RowsScored)/togetherShare; want[j].RowsScored > most {
					t.Errorf("%v, %d codes, query %d: %d rows together, %d one by one", metric, look.To, j, want[j].RowsScored, apart[j].RowsScored)
				}
				alone := answer(t.Context(), look, true, 1, backend.Queries{M: 1, Dim: dim, Data: queries.Row(j)}, goals[j:j+1])
				if d := cmp.Diff(want[j], alone[0]); d != "" {
					t.Errorf("%v, %d codes, query %d, together against alone: %s", metric, look.To, j, d)
				}
			}
			if others == 0 && look == whole {
				t.Errorf("%v, %d codes: no query scores other rows together than one by one: the test shows little", metric, look.To)
			}
			if d := cmp.Diff(want, answer(t.Context(), look, true, 2, queries, goals)); d != "" {
				t.Errorf("%v, %d codes, 1 thread against 2: %s", metric, look.To, d)
			}
			complete, stopped := 0, 0
			for ticks := 1; ticks < 120; ticks += 3 {
				for j, a := range answer(backendtest.NewCountdown(ticks, context.Canceled), look, true, 1, queries, goals) {
					if a.Complete() {
						complete++
						if !slices.Equal(a.IDs, dense[j].IDs) {
							t.Errorf("%v, %d codes, %d ticks, query %d: complete, and other atoms", metric, look.To, ticks, j)
						}
						continue
					}
					stopped++
					at := 0
					for i, id := range dense[j].IDs {
						if at < len(a.IDs) && a.IDs[at] == id {
							if at++; a.Scores[at-1] != dense[j].Scores[i] {
								t.Fatalf("%v, %d codes, %d ticks, query %d: atom %d scores %g, want %g", metric, look.To, ticks, j, id, a.Scores[at-1], dense[j].Scores[i])
							}
						} else if dense[j].Scores[i] > a.OpenBound && !slices.Contains(a.IDs, id) {
							t.Fatalf("%v, %d codes, %d ticks, query %d: open bound %g, and atom %d, which scores %g, is missing", metric, look.To, ticks, j, a.OpenBound, id, dense[j].Scores[i])
						}
					}
				}
			}
			if complete == 0 || stopped == 0 && look == whole { // after the other look so few arms are left that all are scored
				t.Errorf("%v, %d codes: %d complete, %d stopped: the test shows little", metric, look.To, complete, stopped)
			}
		}
	}
}

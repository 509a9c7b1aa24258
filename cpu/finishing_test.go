package cpu

import (
	"context"
	"math"
	"slices"
	"testing"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/threads"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/cpu/topk"
	"thresher/internal/vectors"
	"thresher/simd"
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
				r.TileBytes = 64 * 4 * dim
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

// TestMoveGreatest: the arms that come first are those whose bound is at least that of any other, no fewer than
// asked for unless the threshold excludes them, and none is lost.
func TestMoveGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-2, 2), rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) })), 1, 300).Draw(t, "bounds")
		q := finishing{state: queryOf(&arms.Query{Kern: rapid.SampledFrom(simd.Available()).Draw(t, "kernels"), Tau: float64(rapid.SampledFrom(all).Draw(t, "threshold"))})}
		n := rapid.IntRange(1, len(all)).Draw(t, "n")
		moved, reaching := make([]topk.Arm, len(all)), 0
		for i, b := range all {
			moved[i] = topk.Arm{Bound: float64(b), ID: uint32(i)}
			if b >= q.Tau32() {
				reaching++
			}
		}
		first := q.moveGreatest(&scratch{}, moved, n)
		if first < min(n, reaching) || first > reaching {
			t.Fatalf("%d arms come first, of %d that reach the threshold %d were asked for", first, reaching, n)
		}
		least := float32(math.Inf(1)) // of those that come first
		for _, a := range moved[:first] {
			least = min(least, all[a.ID])
		}
		seen := make([]bool, len(all))
		for k, a := range moved {
			if seen[a.ID] || a.Bound != float64(all[a.ID]) {
				t.Fatalf("arm %d is lost or changed", a.ID)
			}
			seen[a.ID] = true
			if k >= first && all[a.ID] > least {
				t.Fatalf("arm %d of bound %g does not come first, one of %g does", a.ID, all[a.ID], least)
			}
		}
	})
}

// TestDropScored: of the first arms those stay whose rows were not scored, in their order, before the
// others.
func TestDropScored(t *testing.T) {
	c := &collection.Collection{Order: []uint32{7, 3, 9, 1, 5, 0}}
	for scored, want := range [][]uint32{{2, 0, 1, 3, 5}, {2, 0, 1, 5}, {2, 0, 5}, {2, 5}, {5}} {
		q := &finishing{state: queryOf(&arms.Query{C: c})}
		for _, i := range []uint32{4, 2, 0, 1, 3, 5} {
			q.arms = append(q.arms, topk.Arm{ID: i})
		}
		q.done = 1
		q.dropScored([]uint32{1, 3, 7, 9}, scored)
		var got []uint32
		for _, a := range q.arms[q.done:] {
			got = append(got, a.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d scored: %d are left, want %d", scored, got, want)
		}
	}
}

// TestNextOfFew: a query that wants few atoms scores arms as long as some reach the threshold.
func TestNextOfFew(t *testing.T) {
	q := &finishing{state: queryOf(&arms.Query{Tau: 1}), arms: []topk.Arm{{Bound: 3}, {Bound: 2}, {Bound: 0}}}
	q.Goal.K = 1
	q.Best.Reset(1)
	q.Best.Push(topk.Scored{Score: 1})
	for want := 2; want >= 0; want-- {
		left := 2 - q.done
		next := q.next(&scratch{Scratch: &revisit.Scratch{Scratch: &threads.Scratch{}}})
		if left != want || len(next) > left || want > 0 && len(next) == 0 {
			t.Fatalf("%d arms of %d that reach the threshold", len(next), left)
		}
		q.done += len(next)
	}
}

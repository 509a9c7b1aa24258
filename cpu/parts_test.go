package cpu_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// TestPartsShareDelta: answers are wrong with probability at most delta, which is divided neither over
// the parts of a collection nor for floors, ceilings and candidates (docs/guarantee.md, "Parts").
//
// Each query has 16 atoms of nearly the same score, the k best of which are the answer, and with a
// ceiling 4 more above it. So thresholds are about the k-th best score from early on, and each of the k
// is dropped with nearly the probability alpha = delta/k of the only look. The parts are searched one
// after the other, each with the k-th best score of those before as its floor. If delta counted once for
// each part, or a score above a ceiling made a threshold, failures would be a multiple of what is
// allowed. Failures of different queries are nearly independent: the false-alarm rate is below 1e-6.
func TestPartsShareDelta(t *testing.T) {
	if testing.Short() {
		t.Skip("failure rates are the same on each set of kernels")
	}
	const (
		dim, queries, near, above, k = 128, 40, 16, 4, 4
		rotations                    = 16
		delta                        = .4
		trials                       = float64(queries * rotations)
	)
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	for _, parts := range []int{1, 4, 16} {
		for _, ceiling := range []float64{math.Inf(1), .55} {
			var failed [2]int // without and with candidates
			for seed := range uint64(rotations) {
				r := vectors.Rand(seed)
				q := vectors.Gaussian(r, queries, dim)
				var rows []float32
				for j := range queries {
					for i := range above + near {
						score := .5 - 1e-5*float64(i) // relative to |q|^2
						if i < above {
							score = .6
							if math.IsInf(ceiling, 1) {
								score = .1
							}
						}
						rows = append(rows, about(q[j*dim:(j+1)*dim], vectors.Gaussian(r, 1, dim), score)...)
					}
				}
				place := r.Perm(len(rows) / dim) // by row of the parts: the row in rows
				search := newPartedSearch(t, b, rows, dim, place, parts, seed)
				for j := range queries {
					row := q[j*dim : (j+1)*dim]
					best := j*(above+near) + above
					// some are nearly in the answer, the others unrelated
					given := []int{best + k, best + k + 1, best + k + 3, (best + 101) % len(place), (best + 211) % len(place)}
					for i, candidates := range [][]int{nil, given} {
						if !search.finds(row, ceiling*dot(row, row), candidates, k, delta/k, best) {
							failed[i]++
						}
					}
				}
			}
			most := delta*trials + 5*math.Sqrt(delta*(1-delta)*trials)
			for i, n := range failed {
				t.Logf("%d parts, ceiling %g, candidates %v: %d of %g failed, delta %g", parts, ceiling, i == 1, n, trials, delta)
				if float64(n) > most || float64(n) < delta*trials/8 {
					t.Errorf("%d parts, ceiling %g, candidates %v: %d of %g failed, at most %.0f by delta %g, and some should", parts, ceiling, i == 1, n, trials, most, delta)
				}
			}
		}
	}
}

// about returns a vector whose product with q is score times |q|^2, with as large a part orthogonal to q
// as noise has.
func about(q, noise []float32, score float64) []float32 {
	f := dot(q, noise) / dot(q, q)
	v := make([]float32, len(q))
	for i := range v {
		v[i] = float32(score*float64(q[i]) + float64(noise[i]) - f*float64(q[i]))
	}
	return v
}

func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// partedSearch is a collection in parts, each with a rotation of its own.
type partedSearch struct {
	t     *testing.T
	rows  []float32
	dim   int
	parts []part
}

// part is one part: row i of it is row rows[i] of all.
type part struct {
	c        *collection.Collection
	r        backend.Resident
	rows     []int
	internal map[int]uint32 // by row of all
}

func newPartedSearch(t *testing.T, b backend.Backend, rows []float32, dim int, place []int, parts int, seed uint64) *partedSearch {
	t.Helper()
	s := &partedSearch{t: t, rows: rows, dim: dim}
	for p := range parts {
		x := part{rows: place[len(place)*p/parts : len(place)*(p+1)/parts], internal: map[int]uint32{}}
		var own []float32
		for _, i := range x.rows {
			own = append(own, rows[i*dim:(i+1)*dim]...)
		}
		var err error
		if x.c, err = collection.Build(context.Background(), own, dim, &collection.Options{Metric: collection.InnerProduct, Seed: seed*100 + uint64(p), NoHead: true}); err != nil {
			t.Fatal(err)
		}
		if x.r, err = b.Load(context.Background(), x.c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.r.Close() })
		for i, row := range x.c.Order {
			x.internal[x.rows[row]] = uint32(i)
		}
		s.parts = append(s.parts, x)
	}
	return s
}

// finds searches the parts one after the other, each with the k-th best score found before as its
// floor, by one look with failure probability alpha for an arm, and reports whether the answer is rows
// best to best+k-1.
func (s *partedSearch) finds(q []float32, ceiling float64, given []int, k int, alpha float64, best int) bool {
	type found struct {
		row   int
		score float64
	}
	var all []found
	floor := math.Inf(-1)
	for _, p := range s.parts {
		g := backend.Goal{K: min(k, p.c.N), Floor: floor, Ceiling: ceiling, Allowed: p.c.N}
		for _, row := range given {
			if i, ok := p.internal[row]; ok {
				g.Candidates = append(g.Candidates, i)
			}
		}
		slices.Sort(g.Candidates)
		run, err := p.r.Begin(s.t.Context(), backend.Queries{M: 1, Dim: s.dim, Data: q}, []backend.Goal{g})
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err = run.Pull(s.t.Context(), backend.Look{Rep: backend.Panels, To: 64, Rule: backend.Student, Alpha: alpha}); err != nil {
			s.t.Fatal(err)
		}
		answers, err := run.Finish(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		run.Close()
		for i, id := range answers[0].IDs {
			all = append(all, found{p.rows[id], answers[0].Scores[i]})
		}
		slices.SortFunc(all, func(a, b found) int {
			if a.score > b.score {
				return -1
			}
			return 1
		})
		if all = all[:min(k, len(all))]; len(all) == k {
			floor = all[k-1].score
		}
	}
	var rows []int
	for _, a := range all {
		rows = append(rows, a.row)
	}
	slices.Sort(rows)
	return fmt.Sprint(rows) == fmt.Sprint(rangeOf(best, k))
}

func rangeOf(first, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = first + i
	}
	return all
}

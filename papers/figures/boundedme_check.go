package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/papers"
)

// checkVariant is the variant of the rows of a check at another width.
const checkVariant = "check of the width"

// checkPoints are one setting of BoundedME at the figure's N and at check_N, where epsilon falls as 1/sqrt(N): both read about
// the same share of the rewards, and are as precise if the curve depends on the share alone. None if check_N is 0.
func checkPoints(s *Settings, name string) []Point {
	wide := s.Int("check_N")
	c := check{n: s.Int("n"), k: s.Ints("k")[0], queries: s.Int("check_queries"), delta: s.Float("check_delta")}
	epsilon := s.Float("check_epsilon")
	if wide == 0 {
		return nil
	}
	var points []Point
	for _, d := range []int{s.Int("N"), wide} {
		at := c
		at.d, at.epsilon = d, epsilon*math.Sqrt(float64(s.Int("N"))/float64(d))
		points = append(points, Point{Key: fmt.Sprintf("check N=%d", d), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			return at.rows(ctx, e, name)
		}})
	}
	return points
}

// check is one setting of BoundedME at one size.
type check struct {
	n, d, k, queries int
	epsilon, delta   float64
}

// rows computes products when they are pulled: no matrix exists. Their range is that of all products of all queries, which is
// a little wider the more coordinates there are.
func (c *check) rows(ctx context.Context, e *Env, name string) ([]Row, error) {
	n, d, m, k := c.n, c.d, c.queries, c.k
	set := iidSet(e, name, n, d, m)
	scores := make([][]float64, m)
	for q := range scores {
		scores[q] = make([]float64, n)
	}
	lo, hi := make([]float64, n), make([]float64, n)
	const atoms = 64 // that one goroutine computes at a time
	if err := eachOf(ctx, e.Threads, (n+atoms-1)/atoms, func(block int) error {
		ids := make([]int, 0, atoms)
		for i := block * atoms; i < min(n, (block+1)*atoms); i++ {
			ids = append(ids, i)
		}
		column := make([]float64, len(ids))
		for j := range d {
			if j%512 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			set.Atoms.Pull(j, ids, column)
			for q, query := range set.Queries {
				for p, v := range column {
					x := float64(query[j]) * v
					i := ids[p]
					scores[q][i] += x
					lo[i], hi[i] = min(lo[i], x), max(hi[i], x)
				}
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	least, greatest := slices.Min(lo), slices.Max(hi)
	pulls, right := make([]float64, m), make([]int, m)
	if err := eachOf(ctx, e.Threads, m, func(q int) error {
		arms, err := papers.NewProducts(set.Atoms, set.Queries[q])
		if err != nil {
			return err
		}
		out, err := papers.BoundedME(ctx, arms, papers.BoundedMEOptions{
			K: k, Delta: c.delta, Epsilon: c.epsilon * float64(d) * (greatest - least), Lo: least, Hi: greatest,
			Union: papers.Published, Seed: pointSeed(e.Seed, "coordinates") + uint64(q),
		})
		if err != nil {
			return err
		}
		bar := slices.Sorted(slices.Values(scores[q]))[n-k]
		for _, id := range out.IDs {
			if scores[q][id] >= bar {
				right[q]++
			}
		}
		pulls[q] = float64(out.Pulls)
		return nil
	}); err != nil {
		return nil, err
	}
	r := Row{
		Panel: "check", Algorithm: nameBoundedME, Variant: checkVariant, Data: name + ", computed", N: n, D: d, K: k, Draws: 1, Answers: m,
		Setting: fmt.Sprintf("epsilon %.3g, delta %g", c.epsilon, c.delta),
	}
	r.Multiplications, r.MultiplicationsSD = meanSD(pulls)
	for _, found := range right {
		r.Precision += float64(min(found, k)) / float64(k*m)
		if found < k {
			r.Wrong++
		}
	}
	r.X, r.Y = float64(n)*float64(d)/r.Multiplications, r.Precision
	return []Row{r}, nil
}

// checkText says what the check shows, "" if there was none.
func checkText(rows []Row) string {
	var parts []string
	for _, r := range rows {
		if r.Variant == checkVariant {
			parts = append(parts, fmt.Sprintf("%.2g at N = %d and a saving of %.2g", r.Precision, r.D, r.X))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " The curve depends on the share that is read: precision is " + strings.Join(parts, ", ") + "."
}

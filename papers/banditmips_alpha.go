package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// BanditMIPSAlpha is BanditMIPS-alpha (arXiv 2212.07551, section 4, the limit
// beta -> infinity): coordinates in descending |q_j|, ties by coordinate, each
// once, with the same radius as BanditMIPS. arms are the query's rewards, query
// its Dim() coordinates.
//
// No guarantee: the coordinates are not random, the mean of the first s is no
// estimate of the mean of all, and data whose largest query coordinates mislead
// is answered wrongly every time. Outcome says Heuristic, and its Delta is the
// number the radius was computed with. Sorting costs O(d log d), counted in no
// pull. Scores of arms left before every coordinate is read are Dim() times a
// biased mean; ask for ExactScores to have them right.
//
// opt.Sampling and opt.Seed are not used; a warm start is refused.
func BanditMIPSAlpha(ctx context.Context, arms Arms, query []float32, opt BanditMIPSOptions) (Outcome, error) {
	out, err := banditMIPSAlpha(ctx, arms, query, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("banditmips-alpha: %w", err)
	}
	return out, nil
}

func banditMIPSAlpha(ctx context.Context, arms Arms, query []float32, opt BanditMIPSOptions) (Outcome, error) {
	if opt.Warm != nil {
		return Outcome{}, fmt.Errorf("%w: the order of coordinates is the query's", ErrWarmStart)
	}
	if err := checkQuery(arms, query); err != nil {
		return Outcome{}, err
	}
	opt.Sampling = WithoutReplacement
	e, err := newElimination(arms, opt)
	if err != nil {
		return Outcome{}, err
	}
	e.coords = &orderedCoordinates{order: descending(query)}
	out, err := e.search(ctx, opt.ExactScores)
	if err != nil {
		return Outcome{}, err
	}
	out.Method = "banditmips-alpha"
	out.Guarantee = Heuristic
	return out, nil
}

// descending returns the coordinates by |q_j| descending, ties by j.
func descending(query []float32) []int {
	order := allArms(len(query))
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(math.Abs(float64(query[b])), math.Abs(float64(query[a]))),
			cmp.Compare(a, b))
	})
	return order
}

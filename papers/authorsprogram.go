package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/bandit"
	"thresher/internal/philox"
)

// AsRunOptions are the choices of BanditMIPSAsRun.
type AsRunOptions struct {
	K     int     // arms wanted, 1 to Len()
	Delta float64 // the number that the radius is computed with, in (0, 1)
	Sigma float64 // in the unit of a reward, or of a coordinate of an atom where Query is given
	// Epsilon, in the unit of a mean reward, ends the search as soon as four radii are below it; 0 never does.
	Epsilon float64
	// Query, if not nil, is BanditMIPS-alpha: coordinates come in descending |q_j|, not in a random order.
	Query []float32
	Seed  uint64
}

// asRunBatch is the number of coordinates that the program draws before it drops arms.
const asRunBatch = 10

// BanditMIPSAsRun is BanditMIPS as the authors' public program runs it, whose logs are the numbers behind the paper's
// figures (github.com/ThrunGroup/BanditMIPS, MIT; written here from its behaviour). It differs from [BanditMIPS], the
// algorithm of the paper's text, in five ways:
//
//   - Coordinates are a permutation, and arms are dropped after each ten of them.
//   - The mean of s rewards after round t is their sum over s, times t/(t+1).
//   - The radius is sigma sqrt(2 rho log(n/delta) / s), rho = min(1 - (s-1)/d, (1 - s/d)(1 + 1/s)) as in Corollary 1 of
//     BoundedME, without a union over s.
//   - The search ends, too, when four radii are below Epsilon; the k largest means are then the answer.
//   - Alpha's radius is sigma sqrt(2 rho log(n/delta) Q) / s, where Q is the sum over rounds of the greatest q_j^2 of a
//     round's ten coordinates: as if each round gave one reward, and not ten.
//
// Heuristic: the shrunk mean is biased, one radius at each of many tests is not covered by delta, and alpha's order is not
// random. If more than K arms are left at the end their scores are exact, for every coordinate has been read; Pulls are
// then at most n d.
//
// Errors wrap ErrNoArms, ErrK, ErrDelta, ErrSigma, ErrEpsilon, ErrDim, ErrReward or the context's error.
func BanditMIPSAsRun(ctx context.Context, arms Arms, opt AsRunOptions) (Outcome, error) {
	r, err := newAsRun(arms, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("banditmips/asrun: %w", err)
	}
	if err := r.run(ctx); err != nil {
		return Outcome{}, fmt.Errorf("banditmips/asrun: %w", err)
	}
	return r.outcome(), nil
}

// asRun is one search: an elimination whose means and radius are the program's.
type asRun struct {
	elimination
	opt     AsRunOptions
	n, d    int
	largest float64 // sum over rounds of the greatest q_j^2, of alpha
	round   int
}

func newAsRun(arms Arms, opt AsRunOptions) (*asRun, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	n, d := arms.Len(), arms.Dim()
	if err := checkK(opt.K, n); err != nil {
		return nil, err
	}
	if err := checkDelta(opt.Delta); err != nil {
		return nil, err
	}
	if !finite(opt.Epsilon) || opt.Epsilon < 0 {
		return nil, fmt.Errorf("%w: epsilon = %v, need a finite epsilon >= 0", ErrEpsilon, opt.Epsilon)
	}
	if opt.Query != nil && len(opt.Query) != d {
		return nil, fmt.Errorf("%w: query of %d, arms of %d", ErrDim, len(opt.Query), d)
	}
	r := &asRun{opt: opt, n: n, d: d, elimination: elimination{
		arms: arms, k: opt.K, limit: d, covers: true,
		rule: meanRule{spread: SigmaGiven, sigma: opt.Sigma, n: n, d: d, delta: opt.Delta, sampling: WithoutReplacement},
	}}
	if err := r.rule.check(); err != nil {
		return nil, err
	}
	r.coords = newShuffled(d, rand.New(philox.New(opt.Seed, streamCoordinates)))
	if opt.Query != nil {
		r.coords = &orderedCoordinates{order: descending(opt.Query)}
	}
	r.start(allArms(n))
	return r, nil
}

func (r *asRun) run(ctx context.Context) error {
	for r.s < r.d && len(r.alive) > r.k {
		if ctx.Err() != nil {
			return stopped(ctx, r.s)
		}
		if r.opt.Query != nil {
			// The order is descending: the round's first coordinate has its greatest square.
			q := float64(r.opt.Query[r.coords.(*orderedCoordinates).order[r.s]])
			r.largest += q * q
		}
		for range min(asRunBatch, r.d-r.s) {
			if err := r.pull(); err != nil {
				return err
			}
		}
		r.round++
		if r.s == r.d {
			break // the sums are the scores
		}
		radius := r.radius()
		r.dropBelow(radius)
		if 4*radius < r.opt.Epsilon {
			break
		}
	}
	r.record(true)
	return nil
}

// radius is that of every arm's mean after a round.
func (r *asRun) radius() float64 {
	s, d := float64(r.s), float64(r.d)
	rho := max(0, min(1-(s-1)/d, (1-s/d)*(1+1/s)))
	squares := 2 * rho * (math.Log(float64(r.n)) - math.Log(r.opt.Delta)) / s
	if r.opt.Query != nil {
		squares *= r.largest / s
	}
	return r.opt.Sigma * math.Sqrt(squares)
}

// dropBelow keeps the arms whose shrunk mean is within two radii of the k-th largest.
func (r *asRun) dropBelow(radius float64) {
	shrunk := func(p int) float64 { return r.mean(p) * float64(r.round) / float64(r.round+1) }
	lower := r.lower[:len(r.alive)]
	for p := range lower {
		lower[p] = shrunk(p) - radius
	}
	bar := bandit.KthLargest(lower, r.k)
	r.keep(func(p int) bool { return shrunk(p)+radius >= bar })
	r.record(false)
}

func (r *asRun) outcome() Outcome {
	out := Outcome{
		Method: "banditmips/asrun", Guarantee: Heuristic, Delta: r.opt.Delta, Epsilon: r.opt.Epsilon * float64(r.d),
		Sampling: WithoutReplacement, Rounds: r.rounds, Pulls: r.pulls, ScoresExact: r.s == r.d,
	}
	if r.opt.Query != nil {
		out.Method = "banditmips-alpha/asrun"
	}
	out.Exact = out.ScoresExact && !r.dropped
	scores := make([]float64, len(r.alive))
	for p := range scores {
		scores[p] = r.sums[p] // complete
		if !out.ScoresExact {
			scores[p] = r.mean(p) * float64(r.d)
		}
	}
	out.IDs, out.Scores = ranked(r.alive, scores, r.k)
	return out
}

package papers

import (
	"context"
	"fmt"
	"math/rand/v2"

	"thresher/internal/philox"
)

// BanditMIPSOptions are the choices of BanditMIPS and its variants.
type BanditMIPSOptions struct {
	K     int     // arms wanted, 1 to Len()
	Delta float64 // allowed failure probability of the query, in (0, 1)

	// Spread chooses the radius: Sigma (in the unit of a reward) for SigmaGiven,
	// the interval [Lo, Hi] of a reward for the other two.
	Spread Spread
	Sigma  float64
	Lo, Hi float64

	// Sampling: the theorem draws with replacement, and so does the zero value.
	// Without replacement the same radius holds, and Dim() draws end the search
	// without a second reading of the survivors.
	Sampling Sampling
	// LookEvery is the number of coordinates between two tests; 0 means 1, as
	// published. The radius covers every s, so skipping tests costs no delta.
	LookEvery int
	// ExactScores reads the k arms left in full: k Dim() more pulls.
	ExactScores bool
	// Warm, if not nil, supplies the first coordinates; its sampling must equal
	// Sampling, and the arms must be built over it.
	Warm *WarmStart
	Seed uint64
}

// BanditMIPS is Algorithm 1 of Tiwari et al., "Faster maximum inner product
// search in high dimensions" (arXiv 2212.07551), for the k largest means of any
// rewards: one random coordinate J for all arms still in, the running mean
// mu_i = sum/count, and the survivors
//
//	{ i : mu_i + C >= k-th largest (mu - C) },   C from bandit.MeanRadius
//
// until k are left or Dim() coordinates are drawn; then exact scores if more
// than k survive. (The authors' public program is another algorithm:
// [BanditMIPSAsRun].) If more than k arms could not be told apart the pulls
// reach 2 n d with replacement, n d without.
//
// The k arms are the true ones with probability at least 1 - Delta (Theorem 1;
// for k > 1 the same union over arms and s covers every comparison), provided
// that the sigma or the range holds for the rewards.
//
// Errors wrap ErrNoArms, ErrK, ErrDelta, ErrSigma, ErrRange, ErrReward,
// ErrSampling, ErrLookEvery, ErrWarmStart or the context's error.
func BanditMIPS(ctx context.Context, arms Arms, opt BanditMIPSOptions) (Outcome, error) {
	e, err := newElimination(arms, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("banditmips: %w", err)
	}
	rng := rand.New(philox.New(opt.Seed, streamCoordinates))
	e.coords = newCoordinates(arms.Dim(), opt.Sampling, rng)
	if opt.Warm != nil {
		e.coords = opt.Warm.newStream(rng)
	}
	out, err := e.search(ctx, opt.ExactScores)
	if err != nil {
		return Outcome{}, fmt.Errorf("banditmips: %w", err)
	}
	out.Method = "banditmips"
	out.CachedPulls = opt.Warm.served(arms.Len(), out.Rounds)
	return out, nil
}

// newElimination checks the options and prepares the loop over all arms; the
// caller sets its coordinates.
func newElimination(arms Arms, opt BanditMIPSOptions) (*elimination, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	n, d := arms.Len(), arms.Dim()
	if err := opt.check(n, d); err != nil {
		return nil, err
	}
	e := &elimination{
		arms: arms,
		rule: meanRule{
			spread: opt.Spread, sigma: opt.Sigma, lo: opt.Lo, hi: opt.Hi,
			n: n, d: d, delta: opt.Delta, sampling: opt.Sampling,
		},
		k:      opt.K,
		every:  max(opt.LookEvery, 1),
		limit:  d,
		covers: opt.Sampling == WithoutReplacement,
	}
	if err := e.rule.check(); err != nil {
		return nil, err
	}
	e.start(allArms(n))
	return e, nil
}

func (e *elimination) search(ctx context.Context, wantExact bool) (Outcome, error) {
	if err := e.run(ctx); err != nil {
		return Outcome{}, err
	}
	return e.finish(ctx, wantExact)
}

func (opt *BanditMIPSOptions) check(n, d int) error {
	if err := checkK(opt.K, n); err != nil {
		return err
	}
	if err := checkDelta(opt.Delta); err != nil {
		return err
	}
	if err := opt.Sampling.check(); err != nil {
		return err
	}
	if opt.LookEvery < 0 {
		return fmt.Errorf("%w: %d, need 0 or more", ErrLookEvery, opt.LookEvery)
	}
	w := opt.Warm
	if w == nil {
		return nil
	}
	if w.Len() != n || w.Dim() != d {
		return fmt.Errorf("%w: made for %d arms of %d, used on %d of %d", ErrWarmStart, w.Len(), w.Dim(), n, d)
	}
	if w.sampling != opt.Sampling {
		return fmt.Errorf("%w: drawn %v, query %v", ErrWarmStart, w.sampling, opt.Sampling)
	}
	return nil
}

package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// BoundedMEUnion says how BoundedME divides a round's failure probability among its
// arms. For K = 1 both have the same guarantee, and Corrected never pulls more.
type BoundedMEUnion int

const (
	// Published is Lemma 4 of the paper. Its proof bounds, for each bad arm, the
	// event that it beats every good arm; for K > 1 a round fails already if bad
	// arms push out one of the K best, so the printed pulls lack a proof there.
	Published BoundedMEUnion = iota
	// Corrected asks that each of the K best stays within eps_l/2 from below and
	// that at most floor((|S_l|-K)/2) of the others exceed it from above.
	Corrected
)

func (u BoundedMEUnion) String() string {
	switch u {
	case Published:
		return "published"
	case Corrected:
		return "corrected"
	}
	return fmt.Sprintf("union(%d)", int(u))
}

// boundedMESamples is m(u) of the paper (equation 6), real-valued, for lists of d
// rewards:
//
//	m(u) = min{ (u+1)/(1+u/d), (u+u/d)/(1+u/d) }
//
// With u = log(1/delta') (hi-lo)^2 / (2 eps^2), the mean of m(u) rewards drawn
// without replacement exceeds the list's mean by more than eps with probability
// at most delta' (Lemma 3, from Bardenet and Maillard's Corollary 2.5). u >= 0,
// +Inf included; 0 <= m(u) <= d.
func boundedMESamples(u float64, d int) float64 {
	list := float64(d)
	if math.IsInf(u, 1) {
		return list
	}
	denominator := 1 + u/list
	return min((u+1)/denominator, (u+u/list)/denominator, list)
}

// boundedMEPulls is t_l: how many rewards each of the survivors must have given
// by the end of a round whose share is eps (of the mean, rewards scaled to
// [0, 1]) and delta. survivors > k >= 1. Published (Algorithm 1 line 7, with the
// floor of the proof where the listing prints a ceiling):
//
//	t = ceil m( (2/eps^2) log( 2(S-K) / (delta (floor((S-K)/2) + 1)) ) )
//
// Corrected: one-sided level delta' for each arm, such that the K best fail with
// probability K delta' and, by Markov's inequality, floor((S-K)/2) + 1 of the
// others with (S-K) delta' / (floor((S-K)/2) + 1):
//
//	delta' = delta / ( K + (S-K)/(floor((S-K)/2) + 1) ),   t = ceil m( (2/eps^2) log(1/delta') )
//
// eps = 0 asks for all d.
func boundedMEPulls(survivors, k, d int, eps, delta float64, union BoundedMEUnion) int {
	if eps <= 0 {
		return d
	}
	others := survivors - k
	ratio := float64(others) / float64(others/2+1)
	log := math.Log(2*ratio) - math.Log(delta)
	if union == Corrected {
		log = math.Log(float64(k)+ratio) - math.Log(delta)
	}
	return min(d, int(math.Ceil(boundedMESamples(2*log/(eps*eps), d))))
}

// BoundedMEOptions are the choices of BoundedME.
type BoundedMEOptions struct {
	K     int     // arms wanted, 1 to Len()
	Delta float64 // allowed failure probability of the query, in (0, 1)
	// Epsilon is the allowed gap between the K-th best score and the K-th best
	// returned, in score units (sums over all coordinates): the paper's epsilon
	// is Epsilon / (d (Hi-Lo)). 0 reads everything.
	Epsilon float64
	// Lo and Hi hold every reward: a reward outside ends the run with ErrRange.
	Lo, Hi float64
	Union  BoundedMEUnion
	Seed   uint64
}

// BoundedME is Algorithm 1 of Liu, Wu and Mozafari, "A bandit approach to maximum
// inner product search" (AAAI 2019), for the K largest sums of any bounded
// rewards: median elimination with sample sizes for draws without replacement
// from finite lists. Round l pulls every arm of S_l up to t_l = boundedMEPulls
// rewards, drops the ceil((|S_l|-K)/2) lowest means (of equal means the largest
// ids), and goes on with eps x 3/4 and delta/2, from eps/4 and delta/2, until K
// are left. Rewards are scaled to [0, 1] by the known range, which the public
// code forgets.
//
// All arms see the coordinates in one random order, drawn without replacement;
// the proof's union bound does not ask for independent arms.
//
// The K-th best returned is below the K-th best of all by more than Epsilon with
// probability at most Delta (Theorem 2). For K > 1 only Corrected has a proof of
// that: Published is then marked Heuristic, and Outcome.Method names the union.
// (One step of that proof is open, for either: docs/guarantee.md.)
// Pulls never exceed n d. Scores are d times the mean of the rewards seen, exact
// if the last round saw all.
//
// Errors wrap ErrNoArms, ErrK, ErrDelta, ErrEpsilon, ErrRange, ErrReward or the
// context's error.
func BoundedME(ctx context.Context, arms Arms, opt BoundedMEOptions) (Outcome, error) {
	if err := checkArms(arms); err != nil {
		return Outcome{}, fmt.Errorf("boundedme: %w", err)
	}
	lists := &sharedOrder{
		arms: arms, lo: opt.Lo, hi: opt.Hi,
		coords: newShuffled(arms.Dim(), rand.New(philox.New(opt.Seed, streamCoordinates))),
		column: make([]float64, arms.Len()),
	}
	out, err := boundedME(ctx, lists, arms.Len(), arms.Dim(), opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("boundedme: %w", err)
	}
	return out, nil
}

// RewardLists is the paper's setting (MAB-BP): lists of rewards, each handed out in an order of its own.
type RewardLists interface {
	// Add adds rewards number from+1 to number to of each listed arm to its sum; len(sums) = len(arms).
	Add(ctx context.Context, from, to int, arms []int, sums []float64) error
}

// BoundedMEOfLists is BoundedME over n lists of d rewards, all of them in [opt.Lo, opt.Hi], whose order is theirs; opt.Seed
// has no meaning. Its guarantee is for lists in a uniformly random order: for those in another, such as the paper's figure 1
// has, it shows nothing but what came out. Errors are those of BoundedME.
func BoundedMEOfLists(ctx context.Context, lists RewardLists, n, d int, opt BoundedMEOptions) (Outcome, error) {
	if lists == nil || n < 1 || d < 1 {
		return Outcome{}, fmt.Errorf("boundedme: %w: %d lists of %d rewards, given: %t", ErrNoArms, n, d, lists != nil)
	}
	out, err := boundedME(ctx, lists, n, d, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("boundedme: %w", err)
	}
	return out, nil
}

// boundedME is Algorithm 1 over n lists of d rewards.
func boundedME(ctx context.Context, lists RewardLists, n, d int, opt BoundedMEOptions) (Outcome, error) {
	if err := opt.check(n); err != nil {
		return Outcome{}, err
	}
	out := Outcome{
		Method: "boundedme/" + opt.Union.String(), Sampling: WithoutReplacement,
		Delta: opt.Delta, Epsilon: opt.Epsilon,
	}
	if opt.Union == Published && opt.K > 1 {
		out.Guarantee = Heuristic
	}
	alive, sums := allArms(n), make([]float64, n)
	eps, delta, seen := 0.0, opt.Delta/2, 0
	if opt.Hi > opt.Lo {
		eps = opt.Epsilon / (float64(d) * (opt.Hi - opt.Lo)) / 4
	}
	pull := func(upTo int) error {
		err := lists.Add(ctx, seen, upTo, alive, sums)
		out.Pulls += int64(upTo-seen) * int64(len(alive))
		seen = upTo
		return err
	}
	certain := true // every drop so far was made on complete scores
	for len(alive) > opt.K {
		if ctx.Err() != nil {
			return Outcome{}, stopped(ctx, seen)
		}
		if err := pull(max(seen, boundedMEPulls(len(alive), opt.K, d, eps, delta, opt.Union))); err != nil {
			return Outcome{}, err
		}
		certain = certain && seen == d
		alive, sums = ranked(alive, sums, len(alive)-(len(alive)-opt.K+1)/2)
		out.Rounds = append(out.Rounds, RoundTally{Coordinates: seen, Survivors: len(alive)})
		eps, delta = eps*3/4, delta/2
	}
	if seen == 0 {
		// K = n: nothing to choose, but the order of the answer needs scores.
		if err := pull(d); err != nil {
			return Outcome{}, err
		}
	}
	for p := range sums {
		sums[p] *= float64(d) / float64(seen)
	}
	out.IDs, out.Scores = ranked(alive, sums, opt.K)
	out.ScoresExact = seen == d
	out.Exact = out.ScoresExact && certain
	return out, nil
}

func (opt *BoundedMEOptions) check(n int) error {
	if err := checkK(opt.K, n); err != nil {
		return err
	}
	if err := checkDelta(opt.Delta); err != nil {
		return err
	}
	if !finite(opt.Epsilon) || opt.Epsilon < 0 {
		return fmt.Errorf("%w: epsilon = %v, need a finite epsilon >= 0", ErrEpsilon, opt.Epsilon)
	}
	if opt.Union != Published && opt.Union != Corrected {
		return fmt.Errorf("%w: unknown union %d", ErrDelta, int(opt.Union))
	}
	return checkRange(opt.Lo, opt.Hi)
}

// sharedOrder reads the rewards of all arms in one random order.
type sharedOrder struct {
	arms   Arms
	lo, hi float64
	coords *shuffledCoordinates
	column []float64
}

func (l *sharedOrder) Add(ctx context.Context, from, to int, arms []int, sums []float64) error {
	column := l.column[:len(arms)]
	for s := from; s < to; s++ {
		if s%1024 == 0 && ctx.Err() != nil {
			return stopped(ctx, s)
		}
		j, _ := l.coords.next()
		l.arms.Pull(j, arms, column)
		for p, x := range column {
			if err := admitBounded(x, l.lo, l.hi, arms[p], j); err != nil {
				return err
			}
			sums[p] += x
		}
	}
	return nil
}

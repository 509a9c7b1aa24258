package papers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Errors in the arms or the options of a published algorithm. Returned errors wrap
// one of these and name the value and its limit.
var (
	ErrNoArms    = errors.New("no arms")
	ErrDim       = errors.New("dimensions differ")
	ErrK         = errors.New("k out of range")
	ErrDelta     = errors.New("delta out of range")
	ErrEpsilon   = errors.New("epsilon out of range")
	ErrSigma     = errors.New("sigma not usable")
	ErrRange     = errors.New("reward range not usable")
	ErrReward    = errors.New("reward not usable")
	ErrSampling  = errors.New("sampling not allowed here")
	ErrWeights   = errors.New("coordinate weights not usable")
	ErrLookEvery = errors.New("coordinates between looks out of range")
	ErrWarmStart = errors.New("warm start not usable")
	ErrBins      = errors.New("bins not usable")
	ErrPursuit   = errors.New("pursuit not usable")
)

// GuaranteeKind is the kind of a published algorithm's guarantee.
type GuaranteeKind int

const (
	// Probabilistic: the answer is wrong with probability at most Delta, over
	// the draw of the coordinates, if the sigma or the range given is true.
	Probabilistic GuaranteeKind = iota
	// Heuristic: there is no guarantee.
	Heuristic
)

func (g GuaranteeKind) String() string {
	switch g {
	case Probabilistic:
		return "probabilistic"
	case Heuristic:
		return "heuristic"
	}
	return fmt.Sprintf("guarantee(%d)", int(g))
}

// Outcome is the answer of a published algorithm to one query.
type Outcome struct {
	Method string // name in the specification, with the variant after a slash
	// IDs are the k arms chosen, Scores their sums over all coordinates, by
	// score descending, then id ascending.
	IDs    []int
	Scores []float64
	// ScoresExact is false where Scores are d times a mean of sampled rewards:
	// the published algorithms stop as soon as k arms are left, and reading
	// those in full would cost the d that sampling avoids.
	ScoresExact bool
	// Exact says that no arm was dropped by a random test and that the scores
	// are exact: the answer is then right with certainty.
	Exact bool
	// Pulls counts rewards f(i, j) evaluated, exact scores included.
	// CachedPulls is the part of them that sampling took from a warm start.
	Pulls, CachedPulls int64
	Guarantee          GuaranteeKind
	Delta              float64
	Epsilon            float64 // allowed gap in score units; 0 where the method has none
	Sampling           Sampling
	// Rounds lists the looks at which arms were dropped, and the last one.
	Rounds []RoundTally
}

// RoundTally is the state after one look.
type RoundTally struct {
	Coordinates int // coordinates pulled so far of each arm that was still in
	Survivors   int // arms after the look
}

// ranked returns the k best of ids by score descending, id ascending, in new
// slices.
func ranked(ids []int, scores []float64, k int) ([]int, []float64) {
	type entry struct {
		id    int
		score float64
	}
	order := make([]entry, len(ids))
	for p, id := range ids {
		order[p] = entry{id, scores[p]}
	}
	slices.SortFunc(order, func(a, b entry) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return cmp.Compare(a.id, b.id)
	})
	order = order[:min(k, len(order))]
	bestIDs, best := make([]int, len(order)), make([]float64, len(order))
	for p, e := range order {
		bestIDs[p], best[p] = e.id, e.score
	}
	return bestIDs, best
}

// exactScores adds every reward of the listed arms in float64:
// len(ids) * Dim() pulls.
func exactScores(ctx context.Context, arms Arms, ids []int) ([]float64, error) {
	const between = 4096 // coordinates between two looks at the context
	sums, column := make([]float64, len(ids)), make([]float64, len(ids))
	for j := range arms.Dim() {
		if j%between == 0 && ctx.Err() != nil {
			return nil, stopped(ctx, j)
		}
		arms.Pull(j, ids, column)
		for p, x := range column {
			sums[p] += x
		}
	}
	for p, s := range sums {
		if !finite(s) {
			return nil, fmt.Errorf("%w: the rewards of arm %d sum to %v", ErrReward, ids[p], s)
		}
	}
	return sums, nil
}

func stopped(ctx context.Context, coordinates int) error {
	return fmt.Errorf("stopped after %d coordinates: %w", coordinates, ctx.Err())
}

func checkK(k, n int) error {
	if k < 1 || k > n {
		return fmt.Errorf("%w: k = %d, need 1 to %d", ErrK, k, n)
	}
	return nil
}

func checkDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("%w: delta = %v, need 0 < delta < 1", ErrDelta, delta)
	}
	return nil
}

// checkRange accepts lo = hi: a query of zeros has such rewards.
func checkRange(lo, hi float64) error {
	if !finite(lo) || !finite(hi) || !finite(hi-lo) || lo > hi {
		return fmt.Errorf("%w: [%v, %v], need finite lo <= hi", ErrRange, lo, hi)
	}
	return nil
}

// allArms returns 0, 1, ..., n-1.
func allArms(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

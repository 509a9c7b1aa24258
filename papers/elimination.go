package papers

import (
	"context"
	"thresher/bandit"
)

// elimination is the loop that BanditMIPS, its variants and the bins of
// Bucket_AE share: successive elimination by confidence intervals of running
// means (arXiv 2212.07551, Algorithm 1, lines 4 to 10). All arms still in are
// pulled at the same coordinate.
type elimination struct {
	arms   Arms
	coords coordinateStream
	rule   meanRule
	k      int
	every  int // coordinates between two looks
	limit  int // coordinates after which sampling ends
	// covers: limit draws visit every coordinate once, with factor 1; the sums
	// are then the exact scores.
	covers bool
	// carried are lower bounds of the means of arms outside the loop, which count among the k best: the
	// loop may then keep fewer than k arms. ceilings, one an arm of alive, are upper bounds of means
	// that are known before any reward is; nil if there are none.
	carried, ceilings []float64

	alive   []int
	sums    []float64
	squares []float64 // sums of squared deviations from the running means
	s       int       // rewards in each mean
	pulls   int64
	dropped bool
	rounds  []RoundTally

	column, lower []float64
}

// start gives the loop its arms, which it takes over.
func (e *elimination) start(ids []int) {
	e.alive = ids
	e.sums = make([]float64, len(ids))
	e.column = make([]float64, len(ids))
	e.lower = make([]float64, len(ids), len(ids)+len(e.carried))
	if e.rule.spread == EmpiricalBernstein {
		e.squares = make([]float64, len(ids))
	}
}

// run pulls and drops until k arms are left or limit coordinates are drawn.
func (e *elimination) run(ctx context.Context) error {
	for e.s < e.limit && len(e.alive) > e.k {
		if ctx.Err() != nil {
			return stopped(ctx, e.s)
		}
		for range min(e.every, e.limit-e.s) {
			if err := e.pull(); err != nil {
				return err
			}
		}
		e.drop()
	}
	e.record(true)
	return nil
}

// pull draws one coordinate and adds its reward to every arm's mean.
func (e *elimination) pull() error {
	j, factor := e.coords.next()
	column := e.column[:len(e.alive)]
	e.arms.Pull(j, e.alive, column)
	e.pulls += int64(len(column))
	before, after := 1/float64(max(e.s, 1)), 1/float64(e.s+1)
	for p, x := range column {
		x *= factor
		if err := e.rule.admit(x, e.alive[p], j); err != nil {
			return err
		}
		sum := e.sums[p]
		e.sums[p] = sum + x
		if e.squares != nil && e.s > 0 {
			// Both factors have the same sign, except for rounding if all rewards of an arm
			// are equal; a negative sum would have no square root.
			e.squares[p] += max(0, (x-sum*before)*(x-(sum+x)*after))
		}
	}
	e.s++
	return nil
}

// drop keeps {i : mean_i + C_i >= k-th largest (mean - C)} (line 9, for k arms).
func (e *elimination) drop() {
	common := e.rule.radius(e.s, 0)
	lower := e.lower[:len(e.alive)]
	for p := range e.alive {
		lower[p] = e.mean(p) - e.radius(p, common)
	}
	// The k arms of the greatest lower bounds pass, whatever their ceilings, which may be estimates: with
	// those that are carried at least k stay.
	bar := bandit.KthLargest(append(lower, e.carried...), e.k)
	e.keep(func(p int) bool {
		mean, radius := e.mean(p), e.radius(p, common)
		return mean-radius >= bar || mean+radius >= bar && (e.ceilings == nil || e.ceilings[p] >= bar)
	})
	e.record(false)
}

func (e *elimination) mean(p int) float64 { return e.sums[p] / float64(max(e.s, 1)) }

func (e *elimination) radius(p int, common float64) float64 {
	if e.squares == nil {
		return common
	}
	return e.rule.radius(e.s, e.squares[p]/float64(max(e.s-1, 1)))
}

// keep removes the arms at which stays is false, in place and in order.
func (e *elimination) keep(stays func(p int) bool) {
	left := 0
	for p := range e.alive {
		if !stays(p) {
			continue
		}
		e.alive[left], e.sums[left] = e.alive[p], e.sums[p]
		if e.squares != nil {
			e.squares[left] = e.squares[p]
		}
		if e.ceilings != nil {
			e.ceilings[left] = e.ceilings[p]
		}
		left++
	}
	if left < len(e.alive) {
		e.dropped = true
	}
	e.alive, e.sums = e.alive[:left], e.sums[:left]
}

// record notes the survivors when they have changed, and at the end.
func (e *elimination) record(last bool) {
	now := RoundTally{Coordinates: e.s, Survivors: len(e.alive)}
	before := RoundTally{Survivors: len(e.column)} // as many as the loop began with
	if n := len(e.rounds); n > 0 {
		before = e.rounds[n-1]
	}
	if now == before || (!last && now.Survivors == before.Survivors) {
		return
	}
	e.rounds = append(e.rounds, now)
}

// finish ranks what is left (lines 11 and 12): exact scores if more than k arms
// survive, if nothing was sampled, or if the caller wants them.
func (e *elimination) finish(ctx context.Context, wantExact bool) (Outcome, error) {
	out := Outcome{Rounds: e.rounds, Sampling: e.rule.sampling, Delta: e.rule.delta}
	complete := e.covers && e.s == e.limit
	var scores []float64
	switch {
	case complete:
		scores = e.sums
	case len(e.alive) > e.k || e.s == 0 || wantExact:
		var err error
		if scores, err = exactScores(ctx, e.arms, e.alive); err != nil {
			return Outcome{}, err
		}
		e.pulls += int64(len(e.alive)) * int64(e.arms.Dim())
		complete = true
	default:
		scores = make([]float64, len(e.alive))
		for p := range scores {
			scores[p] = e.mean(p) * float64(e.arms.Dim())
		}
	}
	out.IDs, out.Scores = ranked(e.alive, scores, e.k)
	out.Pulls, out.ScoresExact, out.Exact = e.pulls, complete, complete && !e.dropped
	return out, nil
}

package duel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"thresher/internal/philox"
)

// Simulation plays whole tournaments against known preferences.
type Simulation struct {
	Design Design
	// Arms is K. Model draws the preferences of K arms, which must have a best arm.
	Arms  int
	Model Model
	// Trials, at most ten million, are independent; each is a function of Seed and its
	// number alone.
	Trials int
	Seed   uint64
	// Workers is the number of trials played concurrently; 0 is one a core.
	Workers int
	// OneByOne plays every duel. Without it, Interleaved Filter, and Beat-the-Mean with
	// strict testing, skip ahead; the distribution of an Outcome is the same.
	OneByOne bool
	// Progress, if set, is called after every trial with the number done, from any
	// goroutine.
	Progress func(done, total int)
}

// Outcome is the result of one tournament.
type Outcome struct {
	Winner int `json:"winner"`
	Best   int `json:"best"`
	// Gap is eps(best, winner); with Rank, the greatest eps(later, earlier) of all pairs that
	// the ranking orders, 0 if there is none above 0.
	Gap float64 `json:"gap"`
	// Duels is the number played to find the winner.
	Duels int64 `json:"duels"`
	// Regret is (1/2) sum of eps(best, a) + eps(best, b) over all duels a-b, up to the
	// horizon if there is one: equation (1) of Beat-the-Mean. After the last duel the winner
	// is counted as playing itself.
	Regret float64 `json:"regret"`
}

// maxTrials bounds the outcomes that a simulation keeps.
const maxTrials = 10_000_000

// Random streams of a trial's seed.
const (
	modelStream = iota
	choiceStream
	resultStream
	trialStreams
)

// Run plays all trials and returns their outcomes in the trials' order.
func (s *Simulation) Run(ctx context.Context) (outcomes []Outcome, err error) {
	err = together(ctx, s.Workers, []*Simulation{s}, func(_ int, o []Outcome) error {
		outcomes = o
		return nil
	})
	return outcomes, err
}

// together plays the trials of several simulations with workers goroutines (0 is one a
// core) and calls each with the outcomes of a simulation, in order, as soon as they are
// complete. Workers start a simulation without waiting for the end of the one before.
func together(ctx context.Context, workers int, all []*Simulation, each func(i int, outcomes []Outcome) error) error {
	if workers < 0 {
		return fmt.Errorf("duel: %d workers", workers)
	}
	workers = workersOf(workers)
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	runs := make([]*trialRun, len(all))
	trials := 0
	for i, s := range all {
		r, err := s.beginRun(trials)
		if err != nil {
			return err
		}
		runs[i] = r
		trials += s.Trials
	}
	var begun atomic.Int64
	for range min(workers, trials) {
		wg.Go(func() {
			at := 0
			for i := int(begun.Add(1)) - 1; i < trials; i = int(begun.Add(1)) - 1 {
				for i >= runs[at].first+len(runs[at].outcomes) {
					at++
				}
				if err := runs[at].play(ctx, i-runs[at].first); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i, r := range runs {
		select {
		case <-r.complete:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := each(i, r.outcomes); err != nil {
			return err
		}
	}
	return nil
}

// workersOf returns workers, or the number of cores if that is 0.
func workersOf(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}

// Bytes estimates Run's memory: an outcome a trial and, a worker, preferences and counts
// of every pair of arms.
func (s *Simulation) Bytes() float64 {
	k := float64(max(s.Arms, 0))
	return outcomeBytes*float64(min(max(s.Trials, 0), maxTrials)) + (8+40*float64(max(workersOf(s.Workers), 0)))*k*k
}

// trialRun is a simulation in progress.
type trialRun struct {
	*Simulation
	design   Design // completed
	first    int    // index of its first trial among those of all simulations
	outcomes []Outcome
	done     atomic.Int64
	complete chan struct{} // closed with the last outcome
}

func (s *Simulation) beginRun(first int) (*trialRun, error) {
	d, err := s.Design.complete(s.Arms)
	if err != nil {
		return nil, err
	}
	if s.Trials < 1 || s.Trials > maxTrials {
		return nil, fmt.Errorf("duel: %d trials are not in [1, %d]", s.Trials, maxTrials)
	}
	return &trialRun{Simulation: s, design: d, first: first, outcomes: make([]Outcome, s.Trials), complete: make(chan struct{})}, nil
}

func (r *trialRun) play(ctx context.Context, i int) (err error) {
	if r.outcomes[i], err = r.trial(ctx, r.design, i); err != nil {
		return err
	}
	done := int(r.done.Add(1))
	if r.Progress != nil {
		r.Progress(done, r.Trials)
	}
	if done == r.Trials {
		close(r.complete)
	}
	return nil
}

func (s *Simulation) trial(ctx context.Context, d Design, i int) (Outcome, error) {
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	stream := func(n uint64) *philox.Source {
		return philox.New(s.Seed, uint64(i)*trialStreams+n)
	}
	f := s.Model(rand.New(stream(modelStream)))
	if f.Arms() != s.Arms {
		return Outcome{}, fmt.Errorf("duel: preferences of %d arms for a tournament of %d", f.Arms(), s.Arms)
	}
	if f.Best() < 0 {
		return Outcome{}, errors.New("duel: no arm beats all others, so that there is no regret")
	}
	if d.Algorithm == BeatTheMean && d.Testing == Strict && !s.OneByOne {
		return skipAhead(ctx, d, f, stream(choiceStream))
	}
	if (d.Algorithm == InterleavedFilter1 || d.Algorithm == InterleavedFilter2) && !s.OneByOne {
		return skipFilter(ctx, d, f, rand.New(stream(choiceStream)), stream(resultStream))
	}
	return play(ctx, d, f, rand.New(stream(choiceStream)), rand.New(stream(resultStream)))
}

// play plays every duel of a completed design.
func play(ctx context.Context, d Design, f *Preferences, choices, results *rand.Rand) (Outcome, error) {
	between := int64(1 << 16) // duels between two checks of the context
	if d.Algorithm == DoubleThompson {
		between /= int64(f.k * f.k) // each draws as many variates
	}
	losses := f.losses()
	strategy := newStrategy(f.k, d, choices)
	var regret float64
	var duels, looked int64
	var sweep []pair
	for {
		sweep = sweep[:0]
		for duel, ok := strategy.draw(); ok; duel, ok = strategy.draw() {
			sweep = append(sweep, duel)
			if d.Testing == Strict {
				break
			}
		}
		if len(sweep) == 0 {
			break // nothing is pending, so it has ended
		}
		for _, duel := range sweep {
			strategy.tell(duel, results.Float64() < f.p[duel.a*f.k+duel.b])
			regret += losses[duel.a] + losses[duel.b]
		}
		duels += int64(len(sweep))
		if duels-looked >= between {
			looked = duels
			if ctx.Err() != nil {
				return Outcome{}, context.Cause(ctx)
			}
		}
	}
	var st State
	strategy.describe(&st)
	o := outcome(d, f, st.Leader, duels, regret/2)
	if st.Ranking != nil {
		o.Gap = f.misplacement(st.Ranking)
	}
	return o, nil
}

// misplacement returns the greatest eps(later, earlier) of the pairs that a ranking orders.
func (f *Preferences) misplacement(r *Ranking) (most float64) {
	for p, earlier := range r.Places[:r.Top] {
		from := p + 1
		if r.Top < f.k {
			from = r.Top
		}
		for _, later := range r.Places[from:] {
			most = max(most, f.At(later.Arm, earlier.Arm)-.5)
		}
	}
	return most
}

// outcome adds the winner's regret from the last duel to the horizon.
func outcome(d Design, f *Preferences, winner int, duels int64, regret float64) Outcome {
	best := f.Best()
	gap := f.At(best, winner) - .5
	if d.Goal == Online {
		regret += float64(d.Horizon-duels) * gap
	}
	return Outcome{Winner: winner, Best: best, Gap: gap, Duels: duels, Regret: regret}
}

package duel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// Simulation plays whole tournaments against known preferences.
type Simulation struct {
	Design Design
	// Arms is K, Model draws preferences of as many arms, one of which must be best.
	Arms  int
	Model Model
	// Trials are independent; each is a function of Seed and its number alone.
	Trials int
	Seed   uint64
	// Workers is how many trials are played at a time; 0 = one a core.
	Workers int
	// OneByOne plays every duel. Without it, Interleaved Filter, and Beat-the-Mean
	// under strict testing, skip ahead; the law of an Outcome is the same.
	OneByOne bool
	// Progress hears after every trial how many are done, from any goroutine.
	Progress func(done, total int)
}

// Outcome is one tournament played to its end.
type Outcome struct {
	Winner int `json:"winner"`
	Best   int `json:"best"`
	// Gap is eps(best, winner).
	Gap float64 `json:"gap"`
	// Duels were played to find the winner.
	Duels int64 `json:"duels"`
	// Regret is (1/2) sum of eps(best, a) + eps(best, b) over all duels a-b, to the
	// horizon if there is one: equation (1) of Beat-the-Mean. After the last duel
	// the winner plays itself.
	Regret float64 `json:"regret"`
}

// Streams of a trial's seed.
const (
	modelStream = iota
	choiceStream
	resultStream
	trialStreams
)

// Run plays all trials. The outcomes are in their order.
func (s *Simulation) Run(ctx context.Context) ([]Outcome, error) {
	d, err := s.Design.complete(s.Arms)
	if err != nil {
		return nil, err
	}
	if s.Trials < 1 || s.Workers < 0 {
		return nil, fmt.Errorf("duel: %d trials on %d workers", s.Trials, s.Workers)
	}
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make([]Outcome, s.Trials)
	var begun, done atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, s.Trials) {
		wg.Go(func() {
			for i := int(begun.Add(1)) - 1; i < s.Trials; i = int(begun.Add(1)) - 1 {
				var err error
				if outcomes[i], err = s.trial(ctx, d, i); err != nil {
					cancel(err)
					return
				}
				if s.Progress != nil {
					s.Progress(int(done.Add(1)), s.Trials)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return outcomes, nil
}

func (s *Simulation) trial(ctx context.Context, d Design, i int) (Outcome, error) {
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	stream := func(n uint64) *rand.Rand {
		return rand.New(newSource(s.Seed, uint64(i)*trialStreams+n))
	}
	f := s.Model(stream(modelStream))
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
		return skipFilter(ctx, d, f, stream(choiceStream), stream(resultStream))
	}
	return play(ctx, d, f, stream(choiceStream), stream(resultStream))
}

// play plays every duel of a completed design.
func play(ctx context.Context, d Design, f *Preferences, choices, results *rand.Rand) (Outcome, error) {
	const between = 1 << 16 // duels between two looks at the context
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
			break // it waits for nothing, so it has ended
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
	return outcome(d, f, st.Leader, duels, regret/2), nil
}

// outcome adds what the winner costs from the last duel to the horizon.
func outcome(d Design, f *Preferences, winner int, duels int64, regret float64) Outcome {
	best := f.Best()
	gap := f.At(best, winner) - .5
	if d.Goal == Online {
		regret += float64(d.Horizon-duels) * gap
	}
	return Outcome{Winner: winner, Best: best, Gap: gap, Duels: duels, Regret: regret}
}

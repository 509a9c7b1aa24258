package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/internal/philox"
)

// Algorithms returns the algorithms that can be compared, in the order of figures.
func Algorithms() []slate.Algorithm {
	return []slate.Algorithm{slate.AFSM, slate.LSBGreedy, slate.ModifiedGreedy, slate.BetterGreedy, slate.MCSGreedy, slate.Random}
}

// Simulation lets algorithms recommend within one constraint. A trial is one of Users
// users, each with random weights, with one of Repeats streams of random rewards. All
// algorithms meet the same users.
type Simulation struct {
	Constraint *slate.Constraint
	Algorithms []slate.Algorithm
	// Options apply to all rounds; Algorithm, Seed and Round are set for each. Memory is the
	// limit of all Workers together.
	Options slate.Options
	// Ridge is the lambda of the estimators; 0 is 1.
	Ridge                  float64
	Users, Repeats, Rounds int
	// Weights are those of each user, d numbers at least 0; nil draws Tastes. An item's gain is the probability of its
	// reward, so that a gain above 1 is an error.
	Weights [][]float64
	// Together plans users in groups by a slate.Many where that has bounds. Outcomes are the same but for
	// Evaluations, which are then those of the group, and less.
	Together bool
	// Marks are the rounds, ascending from 1 on, after which averages are taken; empty is
	// after the last.
	Marks []int
	Seed  uint64
	// Workers is the number of trials played concurrently; 0 is one a core.
	Workers int
	// Progress, if set, is called after every trial with the number done, from any goroutine.
	Progress func(done, total int)
}

// Outcome is the result of one algorithm.
type Outcome struct {
	Algorithm slate.Algorithm
	// Rewards and Values have an entry for each mark: the sum of a list's rewards, and its
	// expectation f(S), averaged over the rounds so far.
	Rewards, Values []Mean
	// Known is f(S) of the list that the algorithm chooses if it knows the weights.
	Known Mean
	// Evaluations is the number of UCB scores computed a round.
	Evaluations float64
}

func (s *Simulation) checkWeights(d int) error {
	if s.Weights == nil {
		return nil
	}
	if len(s.Weights) < s.Users {
		return fmt.Errorf("trial: weights of %d users, there are %d", len(s.Weights), s.Users)
	}
	for u, w := range s.Weights[:s.Users] {
		if len(w) != d {
			return fmt.Errorf("trial: user %d: %d weights of %d topics", u, len(w), d)
		}
		for g, x := range w {
			if !(x >= 0 && x <= slate.MaxMagnitude) {
				return fmt.Errorf("trial: user %d, topic %d: weight %g is not in [0, %g]", u, g, x, slate.MaxMagnitude)
			}
		}
	}
	return nil
}

// Random streams of a seed; 0 is that of items.News.
const (
	tasteStream = (iota + 1) << 56
	rewardStream
	choiceStream
	knownStream
)

// Tastes returns the weights of a user, d numbers with sum 1: two topics are liked, the
// others hardly (section 7.1).
func Tastes(seed uint64, user, d int) []float64 {
	w := make([]float64, d)
	items.Peaks(rand.New(philox.New(seed, tasteStream+uint64(user))), w)
	var sum float64
	for _, x := range w {
		sum += x
	}
	for g := range w {
		w[g] /= sum
	}
	return w
}

// Run plays all trials. Outcomes are in the order of Algorithms, and a function of the
// fields above Workers alone.
func (s *Simulation) Run(ctx context.Context) ([]Outcome, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	marks := s.Marks
	if len(marks) == 0 {
		marks = []int{s.Rounds}
	}
	trials := make([]userRun, 0, s.trials())
	var groups [][]userRun // consecutive trials that are played together
	for _, a := range s.Algorithms {
		from := len(trials)
		for i := range s.Users * s.Repeats {
			trials = append(trials, userRun{algorithm: a, user: i / s.Repeats, repeat: i % s.Repeats})
		}
		groups = slices.AppendSeq(groups, slices.Chunk(trials[from:], s.together(a)))
	}
	var many *slate.Many
	if s.Together {
		var err error
		if many, err = slate.NewMany(s.Constraint.Items(), slate.ManyOptions{Workers: 1}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var begun, done atomic.Int64
	var wg sync.WaitGroup
	for range min(s.workers(), len(groups)) {
		wg.Go(func() {
			p := &party{Simulation: s, planner: slate.NewPlanner(s.Constraint), many: many, marks: marks}
			for i := int(begun.Add(1)) - 1; i < len(groups); i = int(begun.Add(1)) - 1 {
				if err := p.play(ctx, groups[i]); err != nil {
					cancel(err)
					return
				}
				if s.Progress != nil {
					s.Progress(int(done.Add(int64(len(groups[i])))), len(trials))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(s.Algorithms))
	for i, a := range s.Algorithms {
		outcomes[i] = s.summarize(a, trials, len(marks))
	}
	return outcomes, nil
}

// maxTrials bounds the trials whose results are kept.
const maxTrials = 10_000_000

// trials returns their number, after check has found at most maxTrials.
func (s *Simulation) trials() int { return s.Users * s.Repeats * len(s.Algorithms) }

// workers returns the number of trials played concurrently.
func (s *Simulation) workers() int {
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return min(workers, s.trials())
}

// share returns the memory limit of each worker.
func (s *Simulation) share() int64 {
	if s.Options.Memory <= 0 {
		return s.Options.Memory
	}
	return max(1, s.Options.Memory/int64(s.workers()))
}

func (s *Simulation) check() error {
	if s.Users < 1 || s.Repeats < 1 || s.Rounds < 1 || s.Workers < 0 {
		return fmt.Errorf("trial: %d users, %d repeats, %d rounds, %d workers", s.Users, s.Repeats, s.Rounds, s.Workers)
	}
	if len(s.Algorithms) == 0 {
		return errors.New("trial: no algorithms")
	}
	if n := float64(s.Users) * float64(s.Repeats) * float64(len(s.Algorithms)); n > maxTrials {
		return fmt.Errorf("trial: %d users, %d repeats and %d algorithms make %.0f trials; at most %d are kept", s.Users, s.Repeats, len(s.Algorithms), n, maxTrials)
	}
	for i, a := range s.Algorithms {
		if !slices.Contains(Algorithms(), a) || slices.Contains(s.Algorithms[:i], a) {
			return fmt.Errorf("trial: algorithm %q is unknown or there twice; there are %q", a, Algorithms())
		}
		if err := s.Constraint.CheckScratch(a, s.share()); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	before := 0
	for _, m := range s.Marks {
		if m <= before || m > s.Rounds {
			return fmt.Errorf("trial: mark %d behind %d, of %d rounds", m, before, s.Rounds)
		}
		before = m
	}
	d := s.Constraint.Items().Objective().Features()
	if s.Weights == nil && d < 2 {
		return fmt.Errorf("trial: users like two topics, there are %d", d)
	}
	return s.checkWeights(d)
}

// summarize averages the trials of one algorithm.
func (s *Simulation) summarize(a slate.Algorithm, trials []userRun, marks int) Outcome {
	o := Outcome{Algorithm: a, Rewards: make([]Mean, marks), Values: make([]Mean, marks)}
	over := func(figure func(*userRun) float64) Mean {
		byUser := make([][]float64, s.Users)
		for i := range trials {
			if t := &trials[i]; t.algorithm == a {
				byUser[t.user] = append(byUser[t.user], figure(t))
			}
		}
		return meanOf(byUser)
	}
	for m := range marks {
		o.Rewards[m] = over(func(t *userRun) float64 { return t.rewards[m] })
		o.Values[m] = over(func(t *userRun) float64 { return t.values[m] })
	}
	o.Known = over(func(t *userRun) float64 { return t.known })
	o.Evaluations = over(func(t *userRun) float64 { return float64(t.evaluations) / float64(s.Rounds) }).Mean
	return o
}

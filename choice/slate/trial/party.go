package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"thresher/choice/slate"
	"thresher/internal/philox"
)

// userRun is one user's rounds with one algorithm, and its results by mark.
type userRun struct {
	algorithm       slate.Algorithm
	user, repeat    int
	rewards, values []float64
	known           float64
	evaluations     int
}

// groupSize is the most trials that are played together: as many as a slate.Many plans together.
const groupSize = 64

// together returns how many trials of an algorithm are played together.
func (s *Simulation) together(a slate.Algorithm) int {
	switch a {
	case slate.AFSM, slate.LSBGreedy, slate.ModifiedGreedy, slate.BetterGreedy:
		if s.Together {
			return groupSize
		}
	}
	return 1 // Random draws by each user's own position, and MCSGreedy has no bounds
}

// party plays trials for one goroutine.
type party struct {
	*Simulation
	planner *slate.Planner
	many    *slate.Many // nil without Together
	marks   []int
}

// player is a trial in progress.
type player struct {
	*userRun
	number        uint64 // of the user's repetition
	weights       []float64
	estimate      *slate.Estimator
	luck          *rand.Rand
	reward, value float64 // sums of the rounds so far
}

// play plays all rounds of trials of one algorithm, side by side.
func (p *party) play(ctx context.Context, trials []userRun) error {
	players := make([]player, len(trials))
	for i := range trials {
		var err error
		if players[i], err = p.begin(&trials[i]); err != nil {
			return err
		}
	}
	for round := 1; round <= p.Rounds; round++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		lists, err := p.recommend(ctx, players, round)
		if err != nil {
			return fmt.Errorf("%s, round %d: %w", trials[0].algorithm, round, err)
		}
		for i := range players {
			if err := p.learn(&players[i], lists[i], round); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *party) begin(t *userRun) (player, error) {
	d := p.Constraint.Items().Objective().Features()
	x := player{userRun: t, number: uint64(t.user)*uint64(p.Repeats) + uint64(t.repeat)}
	if p.Weights == nil {
		x.weights = Tastes(p.Seed, t.user, d)
	} else {
		x.weights = p.Weights[t.user]
	}
	chosen, err := p.planner.Known(x.weights, p.options(t.algorithm, knownStream+x.number))
	if err != nil {
		return player{}, fmt.Errorf("%s: %w", t.algorithm, err)
	}
	t.known = chosen.Value
	ridge := p.Ridge
	if ridge == 0 {
		ridge = 1
	}
	if x.estimate, err = slate.NewEstimator(d, ridge); err != nil {
		return player{}, err
	}
	x.luck = rand.New(philox.New(p.Seed, rewardStream+uint64(slices.Index(Algorithms(), t.algorithm))<<48+x.number))
	return x, nil
}

func (p *party) options(a slate.Algorithm, position uint64) slate.Options {
	o := p.Options
	o.Algorithm, o.Seed, o.Round = a, p.Seed, position
	o.Memory = p.share()
	return o
}

// recommend makes a list for each player.
func (p *party) recommend(ctx context.Context, players []player, round int) ([]slate.Slate, error) {
	a := players[0].algorithm
	if p.together(a) > 1 {
		users := make([]*slate.Estimator, len(players))
		for i := range players {
			users[i] = players[i].estimate
		}
		lists, err := p.many.Recommend(ctx, p.Constraint, users, p.options(a, 0))
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return lists, err
	}
	x := &players[0]
	list, err := p.planner.Recommend(x.estimate, p.options(a, choiceStream+x.number*uint64(p.Rounds)+uint64(round-1)))
	return []slate.Slate{list}, err
}

// learn draws the rewards of a list and adds them to the player's estimate and sums.
func (p *party) learn(x *player, list slate.Slate, round int) error {
	d := len(x.weights)
	gains, err := p.Constraint.Items().Features(list.Items())
	if err != nil {
		return err
	}
	likes := make([]float64, len(list.Picks))
	for i := range likes {
		f := dot(x.weights, gains[i*d:(i+1)*d])
		if f > 1+1e-9 {
			return fmt.Errorf("trial: user %d: item %d: a gain of %g is no probability", x.user, list.Picks[i].Item, f)
		}
		x.value += f
		if x.luck.Float64() < f {
			likes[i] = 1
			x.reward++
		}
	}
	if err := x.estimate.Update(gains, likes); err != nil {
		return err
	}
	x.evaluations += list.Evaluations
	if len(x.rewards) < len(p.marks) && round == p.marks[len(x.rewards)] {
		x.rewards = append(x.rewards, x.reward/float64(round))
		x.values = append(x.values, x.value/float64(round))
	}
	return nil
}

func dot(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

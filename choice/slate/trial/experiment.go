package trial

import (
	"context"
	"fmt"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
)

// Axis is what a figure of section 7 of the paper varies.
type Axis string

const (
	ByRound  Axis = "reward"      // the rounds so far: figures 1a, 2a, 3a
	ByBudget Axis = "budget"      // the budget, after the last round: figures 1b, 2b, 3b
	ByLength Axis = "cardinality" // the most items of a list, after the last round: figures 1c, 2c, 3c
)

// Axes lists them.
func Axes() []Axis { return []Axis{ByRound, ByBudget, ByLength} }

// The data sets of section 7 of the paper.
const (
	News   = "news"    // items.News
	Movies = "ml-100k" // items.MovieLens
	Songs  = "songs"   // items.GenerateSongs
)

// The sizes of Songs, of section 7.3.
const (
	SongCount  = 1000
	SongGenres = 30
	Listeners  = 100
)

// Usual is an experiment on a data set where nothing else is said. The paper's text lacks these numbers; ours bind
// both length and budget.
type Usual struct {
	Length  int
	Budget  float64
	Group   int // most items of every group; 0 for no limit
	Budgets []float64
	Lengths []int
}

// UsualOf returns what is usual of a data set; of other items, the axes alone.
func UsualOf(data string) Usual {
	u := Usual{Budgets: []float64{.1, .2, .5, 1, 2, 4}, Lengths: []int{1, 2, 3, 5, 8, 12, 16}}
	switch data {
	case News:
		u.Length, u.Budget = 8, 1
	case Movies:
		u.Length, u.Budget, u.Group = 8, .2, 2
	case Songs:
		u.Length, u.Budget, u.Budgets = 8, 1200, []float64{300, 600, 1200, 1800, 2400, 4800} // seconds
	}
	return u
}

// UsualRounds returns the rounds of each user.
func UsualRounds(a Axis) int {
	if a == ByRound {
		return 300
	}
	return 100
}

// marksOfRounds is the number of points of a curve over the rounds.
const marksOfRounds = 60

// Experiment is one figure: a simulation at each point of an axis.
type Experiment struct {
	Set *items.Set
	// Limits are those of all points; the one on the axis is replaced.
	Limits items.Limits
	Axis   Axis
	// Cost names the cost whose budget is on the axis, and is told by points.
	Cost string
	// At are the budgets or lengths on the axis; unused with ByRound.
	At []float64
	// Simulation is played at each point; Constraint and Marks are set, and Progress to that of the experiment.
	Simulation Simulation
	// Progress, if set, is called with the trials done at the present point.
	Progress func(x float64, done, total int)
}

// Mark is the result of one algorithm at one point of the axis, after a number of rounds.
type Mark struct {
	X         float64
	Algorithm slate.Algorithm
	Length    int
	Budget    float64 // of Cost; 0 if there is none
	Round     int
	// Reward is the sum of a list's rewards and Value its expectation, averaged over the rounds so far. Known is the
	// value of the list that the algorithm chooses if it knows the weights.
	Reward, Value, Known Mean
	Evaluations          float64 // UCB scores computed a round
}

// Run plays all points and calls each with every mark as its point is done.
func (e *Experiment) Run(ctx context.Context, each func(Mark) error) error {
	at := e.At
	if e.Axis == ByRound {
		at = []float64{0}
	}
	for _, x := range at {
		limits := e.Limits
		switch e.Axis {
		case ByRound:
		case ByBudget:
			limits.Budgets = map[string]float64{e.Cost: x}
		case ByLength:
			if limits.Length = int(x); limits.Length < 1 {
				return fmt.Errorf("trial: length %g is below 1", x)
			}
		default:
			return fmt.Errorf("trial: axis %q; there are %q", e.Axis, Axes())
		}
		var err error
		s := e.Simulation
		if s.Constraint, err = e.Set.Constrain(limits); err != nil {
			return err
		}
		s.Marks = []int{s.Rounds}
		if e.Axis == ByRound {
			s.Marks = marks(s.Rounds)
		}
		if e.Progress != nil {
			s.Progress = func(done, total int) { e.Progress(x, done, total) }
		}
		outcomes, err := s.Run(ctx)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			for i, round := range s.Marks {
				m := Mark{
					X: x, Algorithm: o.Algorithm, Length: limits.Length, Budget: limits.Budgets[e.Cost], Round: round,
					Reward: o.Rewards[i], Value: o.Values[i], Known: o.Known, Evaluations: o.Evaluations,
				}
				if e.Axis == ByRound {
					m.X = float64(round)
				}
				if err := each(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// marks returns up to marksOfRounds rounds, evenly spaced, including the first and the last.
func marks(rounds int) []int {
	if rounds < 1 {
		return nil // refused by the simulation
	}
	at := []int{1}
	for i := 1; i < marksOfRounds; i++ {
		if round := 1 + i*(rounds-1)/(marksOfRounds-1); round > at[len(at)-1] {
			at = append(at, round)
		}
	}
	return at
}

// Title is an algorithm's name in figures.
func Title(a slate.Algorithm) string {
	switch a {
	case slate.AFSM:
		return "AFSM-UCB"
	case slate.LSBGreedy:
		return "LSBGreedy"
	case slate.ModifiedGreedy:
		return "modified UCB"
	case slate.BetterGreedy:
		return "better of both"
	case slate.MCSGreedy:
		return "MCSGreedy"
	}
	return "random"
}

package trial

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world generates news: lists of up to length of n items within budget.
func world(t *testing.T, n, d, length int, budget float64) *slate.Constraint {
	t.Helper()
	set, err := items.News(n, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	objective, err := slate.NewCoverage(n, d, set.Features)
	if err != nil {
		t.Fatal(err)
	}
	all, err := slate.NewItems(objective, slate.Attributes{Knapsacks: 1, Costs: set.Costs})
	if err != nil {
		t.Fatal(err)
	}
	c, err := all.Constrain(slate.Limits{Length: length, Budgets: []float64{budget}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func simulation(t *testing.T) *Simulation {
	return &Simulation{
		Constraint: world(t, 30, 6, 3, .5), Algorithms: Algorithms(), Users: 3, Repeats: 2, Rounds: 12, Marks: []int{1, 5, 12}, Seed: 4,
		Options: slate.Options{Confidence: slate.Confidence{Rule: slate.Tuned}},
	}
}

// Outcomes do not depend on the number of workers, nor on which other algorithms play.
func TestOutcomesAreAFunctionOfTheSeed(t *testing.T) {
	ctx := context.Background()
	s := simulation(t)
	s.Workers = 1
	want, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 7
	got, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("on 1 worker, on 7:\n%s", d)
	}
	s.Algorithms = []slate.Algorithm{slate.Random, slate.LSBGreedy}
	few, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range few {
		for _, w := range want {
			if o.Algorithm == w.Algorithm && !cmp.Equal(o, w) {
				t.Errorf("%s in other company:\n%s", o.Algorithm, cmp.Diff(w, o))
			}
		}
	}
	s.Seed = 5
	other, err := s.Run(ctx)
	if err != nil || cmp.Equal(few, other) {
		t.Errorf("another seed, the same outcomes: %v", err)
	}
}

// Users who are planned together have the outcomes that they have alone, for less work.
func TestTogether(t *testing.T) {
	for _, workers := range []int{1, 3} {
		s := simulation(t)
		s.Users, s.Repeats, s.Workers = 23, 3, workers // groups of 64 and 5
		alone, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s.Together = true
		got, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if a := got[i].Algorithm; a == slate.AFSM && !(got[i].Evaluations < alone[i].Evaluations) {
				t.Errorf("%s: %g scores a round, alone %g", a, got[i].Evaluations, alone[i].Evaluations)
			}
			got[i].Evaluations = alone[i].Evaluations
		}
		if d := cmp.Diff(alone, got); d != "" {
			t.Errorf("%d workers: alone, together:\n%s", workers, d)
		}
	}
}

// Weights that are given are those of the users.
func TestGivenWeights(t *testing.T) {
	s := simulation(t)
	want, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for u := range s.Users {
		s.Weights = append(s.Weights, Tastes(s.Seed, u, 6))
	}
	got, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("drawn, given:\n%s", d)
	}
	clear(s.Weights[1])
	if got, err = s.Run(context.Background()); err != nil || cmp.Equal(want, got) {
		t.Errorf("other weights, the same outcomes: %v", err)
	}
}

// The mean of rewards is that of values: rewards are drawn with probability f.
func TestRewardsHaveTheirMean(t *testing.T) {
	s := simulation(t)
	s.Algorithms, s.Users, s.Repeats, s.Rounds, s.Marks = []slate.Algorithm{slate.Random}, 20, 10, 50, nil
	outcomes, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o := outcomes[0]
	// 200 trials of 50 rounds with a variance of at most 1/4 each of 3 rewards: five
	// standard deviations, false alarm 6e-7.
	if d := math.Abs(o.Rewards[0].Mean - o.Values[0].Mean); d > 5*math.Sqrt(.75/10000) {
		t.Errorf("rewards %+v, values %+v", o.Rewards[0], o.Values[0])
	}
	if o.Rewards[0].SD == 0 || o.Values[0].SE == 0 || o.Values[0].SE > o.Values[0].SD {
		t.Errorf("%+v", o)
	}
}

// Learning algorithms approach what they would do with known weights; random does not.
func TestLearning(t *testing.T) {
	s := simulation(t)
	s.Algorithms, s.Users, s.Repeats, s.Rounds, s.Marks = []slate.Algorithm{slate.AFSM, slate.LSBGreedy, slate.Random}, 8, 1, 400, []int{10, 400}
	outcomes, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	random := outcomes[2].Values[1].Mean
	for _, o := range outcomes[:2] {
		early, late := o.Values[0].Mean, o.Values[1].Mean
		if late <= early || late < 1.5*random || late > o.Known.Mean+.02 || late < .85*o.Known.Mean {
			t.Errorf("%s: %.3f after 10 rounds, %.3f after 400, %.3f if it knew; random %.3f", o.Algorithm, early, late, o.Known.Mean, random)
		}
	}
	if lsb := outcomes[1]; lsb.Evaluations < 3 || lsb.Evaluations > 90 {
		t.Errorf("%g evaluations a round for 3 of 30 items", lsb.Evaluations)
	}
}

func TestTastes(t *testing.T) {
	w := Tastes(1, 3, 8)
	var sum float64
	liked := 0
	for _, x := range w {
		sum += x
		if x > .3 {
			liked++
		}
	}
	if math.Abs(sum-1) > 1e-12 || liked != 2 {
		t.Errorf("%v", w)
	}
	if cmp.Equal(w, Tastes(1, 4, 8)) || cmp.Equal(w, Tastes(2, 3, 8)) || !cmp.Equal(w, Tastes(1, 3, 8)) {
		t.Error("tastes are not a function of seed and user")
	}
}

func TestMeanOf(t *testing.T) {
	got := meanOf([][]float64{{1, 3}, {5, 7}})
	want := Mean{Mean: 4, SD: math.Sqrt(20. / 3), SE: 2, Of: 2, ByUser: []float64{2, 6}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if one := meanOf([][]float64{{1, 3}}); one.SE != 1 {
		t.Errorf("one user: %+v", one)
	}
	if one := meanOf([][]float64{{2}}); !cmp.Equal(one, Mean{Mean: 2, Of: 1, ByUser: []float64{2}}) {
		t.Errorf("one trial: %+v", one)
	}
}

func TestRefusedSimulations(t *testing.T) {
	for want, change := range map[string]func(*Simulation){
		"0 users":                         func(s *Simulation) { s.Users = 0 },
		"0 repeats":                       func(s *Simulation) { s.Repeats = 0 },
		"-1 workers":                      func(s *Simulation) { s.Workers = -1 },
		"no algorithms":                   func(s *Simulation) { s.Algorithms = nil },
		`algorithm "ucb" is`:              func(s *Simulation) { s.Algorithms = []slate.Algorithm{"ucb"} },
		`algorithm "lsb" is`:              func(s *Simulation) { s.Algorithms = []slate.Algorithm{"lsb", "afsm", "lsb"} },
		"mark 5 behind 5":                 func(s *Simulation) { s.Marks = []int{5, 5} },
		"mark 13 behind 5, of 12":         func(s *Simulation) { s.Marks = []int{5, 13} },
		"afsm: slate: epsilon":            func(s *Simulation) { s.Options.Epsilon = -1 },
		"slate: estimator: lambda":        func(s *Simulation) { s.Ridge = -1 },
		"weights of 1 users, there are 3": func(s *Simulation) { s.Weights = make([][]float64, 1) },
		"user 0: 0 weights of 6 topics":   func(s *Simulation) { s.Weights = make([][]float64, 3) },
		"user 2, topic 5: weight -1": func(s *Simulation) {
			s.Weights = [][]float64{make([]float64, 6), make([]float64, 6), {0, 0, 0, 0, 0, -1}}
		},
		"is no probability": func(s *Simulation) {
			heavy := []float64{9, 9, 9, 9, 9, 9}
			s.Weights = [][]float64{heavy, heavy, heavy}
		},
	} {
		s := simulation(t)
		s.Workers = 1 // of several, any may be the first to fail
		change(s)
		if _, err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	s := simulation(t)
	s.Rounds, s.Marks = 1<<30, nil
	s.Users, s.Algorithms = 1, []slate.Algorithm{slate.Random}
	s.Workers = 2
	cancel(gone)
	if _, err := s.Run(ctx); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

package duel

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// Points come in order and equal those of separate simulations, for any number of
// workers.
func TestFigure(t *testing.T) {
	const trials = 5
	var want []Point
	for _, workers := range []int{1, 3} {
		g := &Figure{Number: 2, Trials: trials, Seed: 4, Workers: workers, Arms: []int{3, 5}, Gammas: []float64{1.5}, FixedArms: 4}
		var got []Point
		if err := g.Run(context.Background(), func(p Point) error { got = append(got, p); return nil }); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers\n%+v\n1 worker\n%+v", workers, got, want)
		}
	}
	if len(want) != 9 || want[3].Arms != 5 || want[3].Algorithm != BeatTheMean || want[8].Gamma != 1.5 || want[8].X() != 1.5 {
		t.Fatalf("%+v", want)
	}
	alone := Simulation{
		Design: Design{Algorithm: BeatTheMean, Horizon: figureHorizon, Gamma: figureGamma}, Arms: 5, Model: Always(Chain(5, figureGap, figureGamma)), Trials: trials, Seed: 4,
	}
	o := runAll(t, &alone)
	mean, sd := moments(regrets(o))
	if p := want[3]; !near(p.Regret, mean) || !near(p.RegretSD, sd) || p.Trials != trials || p.Right != int(winners(o, 0)) {
		t.Errorf("%+v; alone %g (%g)", p, mean, sd)
	}
	stop := errors.New("enough")
	g := &Figure{Number: 1, Trials: 2, Arms: []int{3}}
	if err := g.Run(context.Background(), func(Point) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// Figure 2 shows what the paper says: the regret of Interleaved Filter with the radius
// of its own paper grows faster than K and exceeds that of Beat-the-Mean, which is
// linear. 100 trials have factors of 26 and 5.1 from 20 arms to 100. The seed is fixed,
// so the result is deterministic.
func TestFigureTwo(t *testing.T) {
	g := &Figure{Number: 2, Trials: 10, Seed: 1, Arms: []int{20, 100}, Gammas: []float64{1}, FixedArms: 2, FilterRadii: []Radius{Wide}}
	regret := map[Algorithm][]float64{}
	err := g.Run(context.Background(), func(p Point) error {
		if p.Radius != Wide {
			t.Errorf("%+v", p)
		}
		if p.Panel == 0 {
			regret[p.Algorithm] = append(regret[p.Algorithm], p.Regret)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	beat, filter := regret[BeatTheMean], regret[InterleavedFilter2]
	if growth := filter[1] / filter[0]; growth < 8 {
		t.Errorf("five times the arms take Interleaved Filter %.1f times the regret: %v", growth, filter)
	}
	if growth := beat[1] / beat[0]; growth > 6 {
		t.Errorf("five times the arms take Beat-the-Mean %.1f times the regret: %v", growth, beat)
	}
}

// A panel alone has the points that it has beside the other.
func TestFigurePanels(t *testing.T) {
	points := func(panels ...int) (all []Point) {
		g := &Figure{Number: 2, Panels: panels, Trials: 2, Seed: 3, Arms: []int{3, 4}, Gammas: []float64{1, 2}, FixedArms: 3}
		if err := g.Run(context.Background(), func(p Point) error { all = append(all, p); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	whole := points()
	if got := slices.Concat(points(0), points(1)); len(whole) != 12 || !slices.Equal(got, whole) {
		t.Errorf("%+v, want %+v", got, whole)
	}
	for _, bad := range [][]int{{-1}, {2}, {1, 0}, {0, 0}} {
		g := &Figure{Number: 1, Panels: bad, Trials: 1, Arms: []int{3}}
		if err := g.Run(context.Background(), func(Point) error { return nil }); err == nil {
			t.Errorf("panels %v are taken", bad)
		}
	}
}

// Anytime is added where gaps are given.
func TestFigureAnytime(t *testing.T) {
	var with []string
	g := &Figure{Number: 1, Anytime: true, Trials: 2, Seed: 3, Arms: []int{3}, FilterRadii: []Radius{Tight}}
	if err := g.Run(context.Background(), func(p Point) error { with = append(with, p.Setting+" "+string(p.Algorithm)); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []string{"constant beat-the-mean", "constant interleaved-filter-2", "constant anytime", "logistic beat-the-mean", "logistic interleaved-filter-2"}
	if !slices.Equal(with, want) {
		t.Errorf("%q, want %q", with, want)
	}
}

// Play counts the winners that are the best arm, and those within epsilon of it.
func TestPlay(t *testing.T) {
	f := Constant(4, .05)
	for _, c := range []struct {
		epsilon float64
		near    bool
	}{{.1, true}, {.04, false}} {
		s := &Simulation{Design: Design{Algorithm: Anytime, Epsilon: c.epsilon, Delta: .4}, Arms: 4, Model: Always(f), Trials: 200, Seed: 1}
		outcomes := runAll(t, s)
		got, err := s.Play(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		duels := make([]float64, len(outcomes))
		for i, o := range outcomes {
			duels[i] = float64(o.Duels)
		}
		mean, sd := moments(duels)
		best := int(winners(outcomes, 0))
		if !near(got.Duels, mean) || !near(got.DuelsSD, sd) || got.Best != best || best == 200 {
			t.Errorf("epsilon %g: %+v; %d best, %g duels (%g)", c.epsilon, got, best, mean, sd)
		}
		if want := best; c.near && got.Near != 200 || !c.near && got.Near != want {
			t.Errorf("epsilon %g: %d of 200 are near, %d the best", c.epsilon, got.Near, best)
		}
	}
}

func TestFigureRadii(t *testing.T) {
	for _, radii := range [][]Radius{{"narrow"}, {Tight, Tight}} {
		g := &Figure{Number: 1, Trials: 1, Arms: []int{3}, FilterRadii: radii}
		if err := g.Run(context.Background(), func(Point) error { return nil }); err == nil {
			t.Errorf("%v is taken", radii)
		}
	}
	var got []Radius
	g := &Figure{Number: 1, Trials: 1, Arms: []int{3}}
	if err := g.Run(context.Background(), func(p Point) error { got = append(got, p.Radius); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []Radius{Tight, Wide, Tight, Tight, Wide, Tight}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func near(a, b float64) bool { return a-b <= 1e-6*b && b-a <= 1e-6*b }

// A worker that has no trial left in one simulation continues with the next: here the
// only trial of the first waits until the second has begun.
func TestSimulationsOverlap(t *testing.T) {
	begun := make(chan struct{})
	f := Constant(3, .4)
	first := &Simulation{Design: Design{Algorithm: BeatTheMean, Horizon: 100}, Arms: 3, Trials: 1, Model: func(*rand.Rand) *Preferences { <-begun; return f }}
	second := &Simulation{Design: Design{Algorithm: BeatTheMean, Horizon: 100}, Arms: 3, Trials: 1, Model: func(*rand.Rand) *Preferences { close(begun); return f }}
	var order []int
	err := together(context.Background(), 2, []*Simulation{first, second}, func(i int, o []Outcome) error {
		order = append(order, i)
		return nil
	})
	if err != nil || !slices.Equal(order, []int{0, 1}) {
		t.Errorf("%v, %v", order, err)
	}
}

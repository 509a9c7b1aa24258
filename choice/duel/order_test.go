package duel

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// playLeaning plays a tournament in which every judge prefers the arm shown first by lean.
func playLeaning(t testing.TB, c Config, f *Preferences, lean float64) State {
	t.Helper()
	tournament := begin(t, c, nil)
	r := rand.New(philox.New(c.Seed, 99))
	for {
		duels, err := tournament.Next(1)
		if errors.Is(err, ErrEnded) {
			return tournament.State()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range duels {
			if _, err := tournament.Report(Result{Duel: d.ID, AWon: r.Float64() < f.At(d.A, d.B)+lean}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A judge who prefers the first place more than the better arm cannot make a worse one the
// winner if the order is random. In the order of the draws he does.
func TestLeaningJudges(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	const lean, delta = .15, .2
	trials := trials(*contests)
	for name, c := range map[string]struct {
		d Design
		f *Preferences
	}{
		"two": {Design{Delta: delta}, Constant(2, .08)}, "four": {Design{Delta: delta}, Constant(4, .1)},
		"sweep": {Design{Delta: delta, Testing: Sweep}, Constant(3, .1)}, "knockout": {Design{Algorithm: Knockout, Epsilon: .15, Delta: delta}, Constant(3, .16)},
	} {
		wrong := map[Order]int{}
		caught := 0
		for _, order := range []Order{DrawnOrder, RandomOrder} {
			for seed := range trials {
				s := playLeaning(t, Config{Arms: names(c.f.k), Design: c.d, Seed: uint64(seed), Order: order}, c.f, lean)
				if s.Leader != 0 {
					wrong[order]++
				}
				if (s.Lean != nil) != (order == RandomOrder) {
					t.Fatalf("%s: lean %+v in order %q", name, s.Lean, order)
				}
				if s.Lean != nil && (s.Lean.Low > lean || s.Lean.High < lean) {
					caught++
				}
			}
		}
		atMost(t, name, wrong[RandomOrder], trials, delta)
		atMost(t, name+": lean outside its interval", caught, trials, .05)
		if c.d.Algorithm != Knockout && float64(wrong[DrawnOrder]) < 1.2*delta*float64(trials) {
			t.Errorf("%s: in the order of the draws %d of %d winners are wrong; the judges do not lean enough for this test", name, wrong[DrawnOrder], trials)
		}
		t.Logf("%s: %d wrong in random order, %d in the order of the draws, of %d", name, wrong[RandomOrder], wrong[DrawnOrder], trials)
	}
}

// The order is a function of the seed and the duel alone, each way about half the time, and
// survives saving; a duel shown again has the same order.
func TestRandomOrder(t *testing.T) {
	c := Config{Arms: names(3), Design: Design{Delta: 1e-40}, Seed: 4, Order: RandomOrder}
	a := begin(t, c, nil)
	c.Order = DrawnOrder
	b := begin(t, c, nil)
	swapped := 0
	for range 50 {
		a = reborn(t, a, swapped%2, nil)
		x, err := a.Next(1)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Next(1)
		if err != nil {
			t.Fatal(err)
		}
		first := Result{Duel: x[0].ID, AWon: x[0].A < x[0].B}
		if x[0].A != y[0].A {
			swapped++
			if x[0].A != y[0].B || x[0].B != y[0].A {
				t.Fatalf("%+v is not %+v", x, y)
			}
		} else if x[0] != y[0] {
			t.Fatalf("%+v is not %+v", x, y)
		}
		a.Recall()
		if again, err := a.Next(1); err != nil || again[0] != x[0] {
			t.Fatalf("%+v, %v; was %+v", again, err, x)
		}
		if d, ok := a.Duel(x[0].ID); !ok || d != x[0] {
			t.Fatalf("%+v; was %+v", d, x)
		}
		if _, err := a.Report(first); err != nil {
			t.Fatal(err)
		}
		if status, err := a.Check(first); err != nil || status != Settled {
			t.Fatal(status, err)
		}
		if _, err := b.Report(Result{Duel: y[0].ID, AWon: y[0].A < y[0].B}); err != nil {
			t.Fatal(err)
		}
	}
	if swapped < 10 || swapped > 40 {
		t.Errorf("%d of 50 duels were swapped", swapped)
	}
	if s := a.State().Lean; s == nil || s.Duels != 50 {
		t.Errorf("%+v", s)
	}
}

// The interval misses the lean at some time of a tournament with probability 5% at most.
func TestLeanIntervals(t *testing.T) {
	trials := trials(250)
	for _, lean := range []float64{-.5, -.2, 0, .05, .45} {
		missed := 0
		r := rand.New(philox.New(7, math.Float64bits(lean)))
		for range trials {
			var p places
			ever := false
			for range 300 {
				p.count(&pendingDuel{B: 1, AWon: r.Float64() < .5+lean}, false)
				l := p.lean()
				if !(l.Low <= l.Estimate && l.Estimate <= l.High && l.Low >= -.5 && l.High <= .5) {
					t.Fatalf("%+v of %+v", l, p)
				}
				ever = ever || l.Low > lean+slack || l.High < lean-slack
			}
			if ever {
				missed++
			}
		}
		atMost(t, "missed the lean", missed, trials, .05)
	}
	p := places{Judged: 400, FirstWins: 260}
	if l := p.lean(); math.Abs(l.Estimate-.15) > 1e-12 || l.Low < .06 || l.High > .24 {
		t.Errorf("%+v of %+v", l, p)
	}
}

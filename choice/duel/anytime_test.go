package duel

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// contests is the number of tournaments of each cell of TestAnytimeFailures, and of each
// mean in TestAnytimeJudgments. `make duels` plays 10,000.
var contests = flag.Int("contests", 400, "tournaments of each cell in the tests of anytime")

// preferencesOf builds preferences from what is above the diagonal.
func preferencesOf(gaps [][]float64) *Preferences {
	return newPreferences(len(gaps), func(i, j int) float64 { return gaps[i][j] })
}

// unbeaten lists the arms that no other beats.
func (f *Preferences) unbeaten() (arms []int) {
	for i := range f.k {
		beaten := false
		for j := range f.k {
			beaten = beaten || f.At(i, j) < .5
		}
		if !beaten {
			arms = append(arms, i)
		}
	}
	return arms
}

// wrong reports whether naming arm x is an error: an unbeaten arm beats it by more than
// epsilon.
func (f *Preferences) wrong(x int, epsilon float64) bool {
	for _, b := range f.unbeaten() {
		if f.At(b, x) > .5+epsilon+slack {
			return true
		}
	}
	return false
}

// playAnytime plays a completed design with the arms in random order, so that no number is
// special, and calls after every result.
func playAnytime(d Design, f *Preferences, seed uint64, each func(s *anytime, arm []int)) (s *anytime, arm []int) {
	r := rand.New(philox.New(seed, 1))
	arm = r.Perm(f.k)
	s = newAnytime(f.k, d, rand.New(philox.New(seed, 0)))
	for {
		p, ok := s.draw()
		if !ok {
			return s, arm
		}
		s.tell(p, r.Float64() < f.At(arm[p.a], arm[p.b]))
		if each != nil {
			each(s, arm)
		}
	}
}

// The probability of naming an arm that an unbeaten one beats by more than epsilon is at
// most delta, whatever the preferences. Where all are equal no named arm is wrong; then the
// probability of naming any without an epsilon is bounded, by K delta/(K-1).
func TestAnytimeFailures(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	ring := [][]float64{{0, .02, .02, .02}, {0, 0, .4, -.4}, {0, 0, 0, .4}, {}} // the last three in a circle
	popular := newPreferences(6, func(i, j int) float64 {
		if i == 0 {
			return .03
		}
		return .45 // arm 1 has the highest mean, arm 0 beats it
	})
	type test struct {
		name  string
		d     Design
		f     *Preferences
		equal bool
	}
	for _, c := range []test{
		{"two arms", Design{Delta: .05}, Constant(2, .1), false},
		{"two arms, hardly different", Design{Delta: .2, Horizon: 3000}, Constant(2, 1e-6), false},
		{"two arms, online", Design{Horizon: 30}, Constant(2, .02), false},
		{"two equal arms", Design{Delta: .2, Horizon: 3000}, Constant(2, 0), true},
		{"three equal arms", Design{Delta: .2, Horizon: 3000}, Constant(3, 0), true},
		{"ten equal arms", Design{Delta: .3, Horizon: 20_000}, Constant(10, 0), true},
		{"ten equal arms, sweeps", Design{Delta: .3, Horizon: 20_000, Testing: Sweep}, Constant(10, 0), true},
		{"five equal arms, epsilon", Design{Epsilon: .1, Delta: .05}, Constant(5, 0), false},
		{"five arms", Design{Delta: .05}, Constant(5, .15), false},
		{"five arms, epsilon below the gap", Design{Epsilon: .1, Delta: .05}, Constant(5, .15), false},
		{"three arms, epsilon just below the gap", Design{Epsilon: .1, Delta: .2}, Constant(3, .101), false},
		{"two arms, epsilon just below the gap", Design{Epsilon: .1, Delta: .2, Horizon: 3000}, Constant(2, .1001), false},
		{"ten arms", Design{Delta: .2}, Constant(10, .1), false},
		{"ten arms, sweeps", Design{Delta: .2, Testing: Sweep}, Constant(10, .1), false},
		{"thirty arms, hardly different", Design{Delta: .3, Horizon: 10_000}, Constant(30, 1e-6), false},
		{"gamma 1.5", Design{Delta: .05}, Chain(6, .1, 1.5), false},
		{"arXiv, gamma 1.5", Design{Delta: .05, Epsilon: .02}, ArXiv(), false},
		{"a circle below the best", Design{Delta: .2, Horizon: 20_000}, preferencesOf(ring), false},
		{"the best by a hair, another more popular", Design{Delta: .2}, popular, false},
		{"two are best", Design{Delta: .2, Horizon: 20_000}, preferencesOf([][]float64{{0, 0, .1, .1}, {0, 0, .1, .1}, {0, 0, 0, .1}, {}}), false},
		// Arm 0 is as good as all but arm 1, which beats the others by more. What speaks against
		// arm 0 under another champion must not count once arm 1 is champion.
		{"good enough for the first champion only", Design{Epsilon: .2, Delta: .1}, newPreferences(10, func(i, j int) float64 {
			switch {
			case i == 0 && j == 1:
				return .4
			case i == 1:
				return .12
			}
			return 0
		}), false},
		{"a circle", Design{Delta: .2, Horizon: 20_000}, preferencesOf([][]float64{{0, .2, -.2}, {0, 0, .2}, {}}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := c.d.complete(c.f.k)
			if err != nil {
				t.Fatal(err)
			}
			wrong, named, duels, trials := 0, 0, int64(0), trials(*contests)
			for seed := range trials {
				s, arm := playAnytime(d, c.f, uint64(seed), nil)
				duels += s.told
				if !s.finished() {
					continue
				}
				named++
				if c.f.wrong(arm[s.champion], d.Epsilon) {
					wrong++
				}
			}
			atMost(t, "named a wrong arm", wrong, trials, d.failure())
			if k := float64(c.f.k); c.equal {
				atMost(t, "named one of equals", named, trials, d.failure()*k/(k-1))
			}
			t.Logf("wrong %d, named %d of %d; %d judgments on average; delta %g", wrong, named, trials, duels/int64(trials), d.failure())
		})
	}
}

// Whoever stops when the stated failure probability first is alpha or less is wrong with
// probability alpha at most, whatever alpha.
func TestAnytimeGuaranteeOfTheMoment(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Design
		f    *Preferences
	}{
		{"two", Design{Delta: .02, Horizon: 1000}, Constant(2, 1e-6)},
		{"four", Design{Delta: .02, Horizon: 1000}, Constant(4, .02)},
		{"epsilon", Design{Delta: .02, Epsilon: .1, Horizon: 1000}, Constant(3, .1001)},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := c.d.complete(c.f.k)
			if err != nil {
				t.Fatal(err)
			}
			alphas := []float64{.5, .3, .2, .1, .05}
			wrong, trials := make([]int, len(alphas)), trials(*contests)
			for seed := range trials {
				stopped := 0
				playAnytime(d, c.f, uint64(seed), func(s *anytime, arm []int) {
					var st State
					s.describe(&st)
					for st.Guarantee != nil && stopped < len(alphas) && st.Guarantee.Failure <= alphas[stopped] {
						if c.f.wrong(arm[st.Leader], d.Epsilon) {
							wrong[stopped]++
						}
						stopped++
					}
				})
			}
			for i, alpha := range alphas {
				atMost(t, fmt.Sprint("stopped at ", alpha), wrong[i], trials, alpha)
			}
			t.Log(alphas, wrong, trials)
		})
	}
}

// The judgments until the best is found. The limits are what a simple test of each pair
// takes (two-sided uniform mixtures and a union bound over pairs, leader against all), and
// for 100 arms what Knockout takes within epsilon.
func TestAnytimeJudgments(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	for _, c := range []struct {
		name  string
		d     Design
		f     *Preferences
		limit float64
	}{
		{"2 arms, gap .1", Design{Delta: .05}, Constant(2, .1), 194},
		{"5 arms, gap .15", Design{Delta: .05}, Constant(5, .15), 474},
		{"5 arms, gap .15, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, .15), 250},
		{"10 arms, gap .1", Design{Delta: .05}, Constant(10, .1), 3192},
		{"10 arms, gap .1, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(10, .1), 1200},
		{"100 arms, gap .1", Design{Delta: .05}, Constant(100, .1), 30_000},
		{"100 arms, gap .1, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(100, .1), 30_000},
		{"arXiv", Design{Delta: .05}, ArXiv(), 5177},
		{"5 equal arms, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, 0), 1100},
	} {
		n := trials(*contests)
		if c.f.k >= 100 {
			n = max(n/10, 10)
		}
		s := Simulation{Design: c.d, Arms: c.f.k, Model: Always(c.f), Trials: n, Seed: 5}
		mean, sd := moments(lengths(runAll(t, &s)))
		if sd /= math.Sqrt(float64(n)); mean > c.limit {
			t.Errorf("%s: %.0f judgments (%.0f), at most %.0f are wanted", c.name, mean, sd, c.limit)
		} else {
			t.Logf("%s: %.0f judgments (standard error %.0f)", c.name, mean, sd)
		}
	}
}

// plainAnytime computes every capital from the counts, for every test.
type plainAnytime struct{ *anytime }

func (s plainAnytime) tell(d pair, won bool) change {
	for a := range s.known {
		s.forget(a)
	}
	return s.anytime.tell(d, won)
}

// What is remembered between tests changes nothing, to the last bit, however many duels
// are out.
func TestAnytimeIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 9).Draw(t, "k")
		d := Design{Delta: rapid.Float64Range(.01, .5).Draw(t, "delta")}
		if rapid.Bool().Draw(t, "near") {
			d.Epsilon = rapid.Float64Range(.01, .3).Draw(t, "epsilon")
		}
		if rapid.Bool().Draw(t, "sweep") {
			d.Testing = Sweep
		}
		d, err := d.complete(k)
		if err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		ahead := rapid.IntRange(1, 80).Draw(t, "ahead")
		fast := newAnytime(k, d, rand.New(philox.New(seed, 0)))
		plain := plainAnytime{newAnytime(k, d, rand.New(philox.New(seed, 0)))}
		r := rand.New(rand.NewPCG(seed, 1))
		f := newPreferences(k, func(i, j int) float64 { return (r.Float64() - .4) / 2 })
		var out []pair
		for step := 0; !fast.ended() && step < 5000; step++ {
			if len(out) < ahead {
				a, ok := fast.draw()
				b, same := plain.draw()
				if a != b || ok != same {
					t.Fatalf("step %d: %v, %t; plain %v, %t", step, a, ok, b, same)
				}
				if ok {
					out = append(out, a)
				}
			}
			if len(out) > 0 && (len(out) == ahead || r.IntN(2) > 0) {
				won := r.Float64() < f.At(out[0].a, out[0].b)
				a, b := fast.tell(out[0], won), plain.tell(out[0], won)
				if out = out[1:]; a.withdraw {
					out = nil
				}
				if diff := cmp.Diff(b, a, cmp.AllowUnexported(change{})); diff != "" {
					t.Fatalf("step %d (-plain +fast)\n%s", step, diff)
				}
				if r.IntN(50) == 0 {
					var x, y State
					fast.describe(&x)
					plain.describe(&y)
					if diff := cmp.Diff(y, x); diff != "" {
						t.Fatalf("step %d (-plain +fast)\n%s", step, diff)
					}
				}
			}
		}
		if diff := cmp.Diff(plain.save(), fast.save()); diff != "" {
			t.Fatalf("(-plain +fast)\n%s", diff)
		}
	})
}

// Against the probability of each hypothesis no wager gains or loses on average, and an arm
// that wins more often makes it lose.
func TestWagersAreFair(t *testing.T) {
	for _, epsilon := range []float64{0, .001, .1, .49} {
		b := newBets(epsilon)
		if sum := b.start.total(); math.Abs(sum-1) > 1e-12 {
			t.Errorf("epsilon %g: starts with %g", epsilon, sum)
		}
		for m := range wagers {
			mean := func(o *odds, p float64) float64 { return p*math.Exp(o.win[m]) + (1-p)*math.Exp(o.lose[m]) }
			if x := mean(&b.even, .5); math.Abs(x-1) > 1e-12 {
				t.Errorf("epsilon %g, wager %d at 1/2: %g", epsilon, m, x)
			}
			if x := mean(&b.near, .5+epsilon); math.Abs(x-1) > 1e-12 {
				t.Errorf("epsilon %g, wager %d at 1/2 + epsilon: %g", epsilon, m, x)
			}
			if x := mean(&b.near, .505+epsilon); x >= 1 {
				t.Errorf("epsilon %g, wager %d above 1/2 + epsilon: %g", epsilon, m, x)
			}
		}
	}
}

// Between lossesWanted and the count before, no capital reaches the threshold, even if the
// arm wins nothing in the meantime.
func TestLossesWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBets(rapid.SampledFrom([]float64{0, .05, .2}).Draw(t, "epsilon"))
		share := rapid.Float64Range(.01, 1).Draw(t, "share")
		rest := b.start
		for m := range rest {
			rest[m] *= rapid.Float64Range(0, 3).Draw(t, "rest")
		}
		w, l := rapid.Int64Range(0, 3000).Draw(t, "wins"), rapid.Int64Range(0, 3000).Draw(t, "losses")
		threshold := rapid.Float64Range(2, 1e6).Draw(t, "threshold")
		worth := func(w, l int64) float64 {
			c := rest
			b.multiplyNear(&c, share, w, l)
			return c.total()
		}
		if worth(w, l) >= threshold {
			return
		}
		want := b.lossesWanted(&rest, share, w, l, threshold)
		for more := range int64(3) {
			if x := worth(w+more, want-1); want-1 > l && x >= threshold {
				t.Fatalf("%d losses are wanted, but %d with %d wins make %g of %g", want, want-1, w+more, x, threshold)
			}
		}
	})
}

// All capitals stay numbers however long a tournament takes.
func TestAnytimeExtremes(t *testing.T) {
	for _, d := range []Design{{Delta: 1e-100}, {Delta: .999}, {Delta: 1e-50, Epsilon: .499}, {Delta: .5, Epsilon: 1e-9, Horizon: 200_000}} {
		for _, f := range []*Preferences{Constant(2, .5), Constant(5, .4), Constant(3, .1)} {
			d, err := d.complete(f.k)
			if err != nil {
				t.Fatal(err)
			}
			s, arm := playAnytime(d, f, 3, nil)
			if !s.finished() && s.told < s.horizon || d.Delta < .5 && f.wrong(arm[s.champion], d.Epsilon) {
				t.Errorf("%+v: arm %d after %d", d, arm[s.champion], s.told)
			}
			for _, c := range s.rest {
				if x := c.total(); !(x >= 0) || math.IsInf(x, 0) {
					t.Errorf("%+v: a capital of %g", d, x)
				}
			}
		}
	}
}

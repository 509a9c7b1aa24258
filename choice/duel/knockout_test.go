package duel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
)

// The length of a match by the paper's formulas: Compare continues while
// |p - 1/2| <= c - e and r <= ln(2/d)/(2 e^2), with c = sqrt(ln(4 r^2/d)/(2r)),
// e = (2^(1/3)-1) epsilon/(gamma 2^(i/3)), d = delta/2^i in round i.
func TestKnockoutMatches(t *testing.T) {
	const epsilon, delta, gamma = .2, .3, 1.5
	d, err := Design{Algorithm: Knockout, Epsilon: epsilon, Delta: delta, Gamma: gamma}.complete(4)
	if err != nil {
		t.Fatal(err)
	}
	want := func(round float64, wins func(r int) int) int {
		e := (math.Pow(2, 1./3) - 1) * epsilon / (gamma * math.Pow(2, round/3))
		d := delta / math.Pow(2, round)
		for r := 1; ; r++ {
			c := math.Sqrt(math.Log(4*float64(r*r)/d) / float64(2*r))
			p := float64(wins(r)) / float64(r)
			if math.Abs(p-.5) > c-e || float64(r) > math.Log(2/d)/(2*e*e) {
				return r
			}
		}
	}
	always := func(r int) int { return r }
	inTurn := func(r int) int { return r / 2 }
	for _, c := range []struct {
		name string
		won  func(r int) bool // whether the first of the pair wins its duel r, from 1
		wins func(r int) int
	}{
		{"clear", func(r int) bool { return true }, always},
		{"even", func(r int) bool { return r%2 == 0 }, inTurn},
	} {
		s := newKnockout(4, d, rand.New(philox.New(1, 0)))
		duels := map[pair]int{}
		for i := 0; !s.ended(); i++ {
			p, ok := s.draw()
			if !ok {
				t.Fatalf("%s: no duel, and not ended", c.name)
			}
			duels[p]++
			s.tell(p, c.won(duels[p]))
		}
		if len(duels) != 3 {
			t.Errorf("%s: matches %v; 4 arms have 3", c.name, duels)
		}
		first, second := want(1, c.wins), want(2, c.wins)
		lengths := map[int]int{}
		for _, n := range duels {
			lengths[n]++
		}
		if first == second || lengths[first] != 2 || lengths[second] != 1 {
			t.Errorf("%s: matches of %v duels; want 2 of %d and 1 of %d", c.name, lengths, first, second)
		}
	}
}

// The first arm loses an even match: p <= 1/2. With an odd number of arms one has a bye.
func TestKnockoutWinners(t *testing.T) {
	d, err := Design{Algorithm: Knockout, Epsilon: .4, Delta: .5}.complete(5)
	if err != nil {
		t.Fatal(err)
	}
	s := newKnockout(5, d, rand.New(philox.New(2, 0)))
	if len(s.matches) != 2 || s.bye < 0 || len(s.open) != 2 {
		t.Fatalf("%+v", s)
	}
	bye, rounds := s.bye, s.round
	for s.round == rounds {
		p, _ := s.draw()
		for _, e := range s.tell(p, false).eliminated {
			if e.Arm != p.a || e.Rival != p.b || e.Rate != 0 || e.RivalRate != 1 {
				t.Errorf("%+v in a match of %v", e, p)
			}
		}
	}
	if arms := s.alive(); len(arms) != 3 {
		t.Errorf("%v go on", arms)
	} else if arms[0] != bye && arms[1] != bye && arms[2] != bye {
		t.Errorf("%v go on, %d had waited", arms, bye)
	}
}

// Tournaments with parameters at the ends of their ranges end with finite figures, even
// if all matches are even, which makes them longest.
func TestKnockoutExtremes(t *testing.T) {
	most := math.Nextafter(.5, 0)
	for _, d := range []Design{
		{Epsilon: most, Delta: math.Nextafter(1, 0)},
		{Epsilon: most, Delta: 0x1p-1022},
		{Epsilon: most, Delta: .5, Gamma: 8},
	} {
		d.Algorithm = Knockout
		for _, k := range []int{2, 3} {
			d, err := d.complete(k)
			if err != nil {
				t.Fatal(err)
			}
			s := newKnockout(k, d, rand.New(philox.New(1, 0)))
			longest := 0.
			for i := 1; i <= 2; i++ {
				longest += matchOf(d, i).longest + 2
			}
			for i := 0; !s.ended(); i++ {
				p, ok := s.draw()
				if !ok || float64(i) > longest {
					t.Fatalf("%d arms, %+v: duel %d is %v, matches are over after %g", k, d, i, ok, longest)
				}
				for _, e := range s.tell(p, s.matches[s.seat[p.a]].n%2 == 0).eliminated {
					if !(e.Radius > 0 && e.Radius < 10) || !(e.Rate >= 0 && e.Rate <= .5) {
						t.Errorf("%d arms, %+v: %+v", k, d, e)
					}
				}
			}
		}
	}
}

// A seed gives what earlier releases gave: winner and duels of three trials each.
func TestKnockoutPlaysAsBefore(t *testing.T) {
	type played struct {
		winner int
		duels  int64
	}
	for _, c := range []struct {
		k                     int
		epsilon, delta, gamma float64
		testing               Testing
		want                  []played
	}{
		{2, .1, .05, 1, Strict, []played{{0, 412}, {0, 433}, {0, 849}}},
		{3, .2, .1, 1, Sweep, []played{{0, 1277}, {0, 1116}, {0, 1039}}},
		{7, .1, .05, 1.5, Strict, []played{{0, 4664}, {0, 4335}, {0, 4389}}},
		{64, .2, .01, 1, Sweep, []played{{0, 35947}, {0, 34528}, {0, 33645}}},
		{101, .15, .05, 1, Strict, []played{{0, 57654}, {0, 56539}, {0, 55266}}},
	} {
		d := Design{Algorithm: Knockout, Epsilon: c.epsilon, Delta: c.delta, Gamma: c.gamma, Testing: c.testing}
		s := Simulation{Design: d, Arms: c.k, Model: Always(Constant(c.k, .1)), Trials: len(c.want), Seed: 9}
		for i, o := range runAll(t, &s) {
			if got := (played{o.Winner, o.Duels}); got != c.want[i] {
				t.Errorf("%d arms, trial %d: %+v, was %+v", c.k, i, got, c.want[i])
			}
		}
	}
}

// plainKnockout draws and tests as defined: it scans the matches one by one and computes
// the radius for every duel.
type plainKnockout struct{ *knockout }

func (s plainKnockout) draw() (pair, bool) {
	for range s.matches {
		m := &s.matches[s.next]
		s.next = (s.next + 1) % len(s.matches)
		if m.winner < 0 && !m.flying {
			m.flying = true
			s.drawn++
			return pair{m.a, m.b}, true
		}
	}
	return pair{}, false
}

func (s plainKnockout) tell(d pair, won bool) change {
	s.calm = calm{}
	return s.knockout.tell(d, won)
}

// Knockout draws and eliminates as plainKnockout does, to the last bit, however many
// duels are issued ahead and wherever a tournament is saved and restored.
func TestKnockoutIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 20).Draw(t, "k")
		d, err := Design{
			Algorithm: Knockout, Epsilon: rapid.Float64Range(.05, .45).Draw(t, "epsilon"),
			Delta: rapid.Float64Range(.01, .99).Draw(t, "delta"), Gamma: rapid.Float64Range(1, 2).Draw(t, "gamma"),
		}.complete(k)
		if err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		fast := newKnockout(k, d, rand.New(philox.New(seed, 0)))
		plain := plainKnockout{newKnockout(k, d, rand.New(philox.New(seed, 0)))}
		r := rand.New(rand.NewPCG(seed, 1))
		edge := r.Float64()
		var out []pair
		for step := 0; !fast.ended() && step < 6000; step++ {
			if len(out) == 0 || r.IntN(3) > 0 {
				a, ok := fast.draw()
				b, same := plain.draw()
				if a != b || ok != same {
					t.Fatalf("step %d: %v, %t; plain %v, %t", step, a, ok, b, same)
				}
				if ok {
					out = append(out, a)
				}
			}
			if len(out) > 0 && r.IntN(2) > 0 {
				won := r.Float64() < edge
				a, b := fast.tell(out[0], won), plain.tell(out[0], won)
				out = out[1:]
				if diff := cmp.Diff(b, a, cmp.AllowUnexported(change{})); diff != "" {
					t.Fatalf("step %d (-plain +fast)\n%s", step, diff)
				}
			}
			if r.IntN(500) == 0 {
				saved := fast.save()
				if diff := cmp.Diff(plain.save(), saved); diff != "" {
					t.Fatalf("step %d, saved (-plain +fast)\n%s", step, diff)
				}
				again := newKnockout(k, d, rand.New(philox.New(0, 0)))
				again.rng = fast.rng
				if err := again.load(saved, out); err != nil {
					t.Fatal(err)
				}
				fast = again
			}
		}
		if fast.ended() != plain.ended() {
			t.Fatal("one has ended")
		}
	})
}

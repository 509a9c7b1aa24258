package duel

import (
	"math"
	"math/rand/v2"
	"testing"

	"thresher/bandit/philox"
)

// The length of a match by the formulas of the paper: Compare goes on while
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
		won  func(r int) bool // by the first of the pair, in its duel r from 1
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

// An even match is lost by the first arm: p <= 1/2. With an odd number of arms one
// waits.
func TestKnockoutWinners(t *testing.T) {
	d, err := Design{Algorithm: Knockout, Epsilon: .4, Delta: .5}.complete(5)
	if err != nil {
		t.Fatal(err)
	}
	s := newKnockout(5, d, rand.New(philox.New(2, 0)))
	if len(s.matches) != 2 || s.bye < 0 || s.open != 2 {
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

// At the ends of what it takes a tournament ends, with finite figures: also if all
// matches are even, after which they go on longest.
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
				longest += matchOf(d, i).longest() + 2
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

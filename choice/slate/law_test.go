package slate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// guess gives a planner intervals that hold but are otherwise as bad as possible: means
// are off by up to the width, by an amount that depends on item and list, half of the time
// by all of it.
func guess(p *Planner, c instance, r *rand.Rand, w []float64, size float64) {
	type key struct {
		set uint
		e   int
	}
	known := map[key][2]float64{}
	x := make([]float64, len(w))
	p.judge = func(e int) (mean, width float64) {
		at := key{setOf(p.chosen), e}
		if v, ok := known[at]; ok {
			return v[0], v[1]
		}
		p.list.Gains(x, e)
		width = size * r.Float64()
		off := 2*r.Float64() - 1
		if r.IntN(2) == 0 {
			off = math.Copysign(1, off)
		}
		known[at] = [2]float64{dot(w, x) + off*width, width}
		return known[at][0], width
	}
}

// Proposition 6 and Lemma 1 of UAI 2020 hold for random instances of weighted
// coverage, with the optimum by brute force and intervals that hold, whatever the
// errors within them:
//
//	f(S) + 2 beta sigma(S) >= min(rho/2, (f(C) - l rho)/(k+1))   S = GM-UCB(rho)
//	f(S) + 4 beta sigma(S) >= alpha f(OPT)                       S = AFSM-UCB
//
// These are theorems: there are no false alarms.
func TestPropositionAndLemma(t *testing.T) {
	count := 6000
	if testing.Short() {
		count = 500
	}
	r := newRand(13, 0)
	tight := math.Inf(1) // the smallest slack of a bound
	for count > 0 {
		n := 2 + r.IntN(8)
		c := weightedOf(r, n)
		a, l := randomLimits(r, n)
		con, err := must(NewItems(c.o, a)).Constrain(l)
		if err != nil {
			continue
		}
		w := uniform(r, c.o.Features(), 0, 1)
		least := optimum(c, n, w, func(set uint) bool { return set&(set-1) == 0 && allowed(a, l)(set) })
		if least == 0 {
			continue // all items are worthless
		}
		count--
		best := optimum(c, n, w, allowed(a, l))
		truth := func(s Slate) float64 {
			var v float64
			for i, x := range w {
				v += x * c.f(setOf(s.Items()), i)
			}
			return v
		}
		p := NewPlanner(con)
		guess(p, c, r, w, []float64{0, 0.1, 0.5, 2}[r.IntN(4)]*least)
		o := Options{Epsilon: 0.1 + r.Float64(), Lowest: least * (0.2 + 0.8*r.Float64()), Highest: least * (1 + 3*r.Float64())}
		p.rewind(0)
		p.build(0)
		for _, rho := range must(o.thresholds(con)) {
			s := p.slate(p.gm(0, rho))
			left := truth(s) + 2*s.Width
			right := min(rho/2, (best-float64(con.Knapsacks())*rho)/float64(con.K()+1))
			if left < right-1e-9 {
				t.Fatalf("Proposition 6: %v < %v at rho %v, list %v, %+v", left, right, rho, s.Items(), l)
			}
			if right > 0 {
				tight = min(tight, left/right)
			}
		}
		s := must(p.afsm(o))
		if left, right := truth(s)+4*s.Width, con.Alpha(o.Epsilon)*best; left < right-1e-9 {
			t.Fatalf("Lemma 1: %v < %v, list %v, %+v", left, right, s.Items(), l)
		}
	}
	t.Logf("the closest to Proposition 6 was a factor of %.3f", tight)
}

// With known weights lists are worth at least alpha OPT, for any objective.
func TestAlphaOfTheOptimum(t *testing.T) {
	count := 300
	if testing.Short() {
		count = 50
	}
	r := newRand(14, 0)
	for range count {
		s := newScene(r, 3+r.IntN(5))
		n := s.c.Items().Size()
		w := uniform(r, s.o.Features(), 0, 1)
		single := optimum(s.instance, n, w, func(set uint) bool { return set&(set-1) == 0 && allowed(s.a, s.l)(set) })
		if single == 0 {
			continue
		}
		best := optimum(s.instance, n, w, allowed(s.a, s.l))
		p := NewPlanner(s.c)
		o := Options{Epsilon: 0.1, Lowest: single * r.Float64(), Highest: single * (1 + r.Float64())}
		got := must(p.Known(w, o))
		var v float64
		for i, x := range w {
			v += x * s.f(setOf(got.Items()), i)
		}
		if v < got.Alpha*best-1e-9 || math.Abs(v-got.Value) > 1e-9 {
			t.Fatalf("%s: %v is worth %v, said %v, optimum %v, alpha %v, %+v", s.name, got.Items(), v, got.Value, best, got.Alpha, s.l)
		}
		if got.Alpha != s.c.Alpha(0.1) || got.Width != 0 {
			t.Fatalf("alpha %v, width %v", got.Alpha, got.Width)
		}
	}
}

package duel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
)

// The safe level of an arm: up to it, its rate stays strictly within the bounds whether it
// loses all further duels or wins them all; one level more may leave them.
func TestSafeLevels(t *testing.T) {
	for _, c := range []struct {
		n, w          int64
		centre, scale float64
	}{
		{100, 50, .5, 4}, {100, 58, .5, 4}, {1000, 300, .3, 2}, {7, 7, .6, 5}, {0, 0, .5, 3},
		{100, 90, .5, 2}, {100, 5, .5, 2}, // before a level at which they are outside
	} {
		b := boundsAbout(c.centre, c.scale)
		within := func(level int64) bool {
			n := max(c.n, level)
			worst := min(rate(c.w, n)-c.centre, 0) // of the rates it may have
			best := max(float64(c.w+n-c.n)/float64(max(n, 1))-c.centre, 0)
			return max(-worst, best) < c.scale/math.Sqrt(float64(level))
		}
		level := b.hold(c.n, c.w)
		for l := int64(1); l <= level; l++ {
			if !within(l) {
				t.Errorf("%+v: safe to level %d, and not at %d", c, level, l)
			}
		}
		if within(level + 1) {
			t.Errorf("%+v: safe to level %d, and at the next as well", c, level)
		}
	}
}

// The first two eliminations have the same distribution of times and of remaining counts
// as when every duel is played. Both depend on the order of turns: n_b, and the number of
// duels modulo the arms, would reveal an order that is not random and turns that are lost
// or counted twice.
func TestRemovalsHaveTheSameLaw(t *testing.T) {
	for name, f := range map[string]*Preferences{"constant": Constant(12, .35), "chain": Chain(8, .3, 1.5)} {
		k := f.Arms()
		d, err := Design{Algorithm: BeatTheMean, Horizon: 1e5}.complete(k)
		if err != nil {
			t.Fatal(err)
		}
		var skipped, played [5][]float64
		for i := range uint64(trials(1000)) {
			s := newSkip(d, f, philox.New(5, 2*i))
			for len(s.active) == k {
				s.step()
			}
			first := s.duels()
			var n, w []int64
			for _, c := range s.active {
				n, w = append(n, c.n), append(w, c.w)
			}
			for len(s.active) == k-1 {
				s.step()
			}
			add(&skipped, first, s.duels()-first, n, w)

			choices, results := rand.New(philox.New(6, 2*i)), rand.New(philox.New(6, 2*i+1))
			b := newBeat(k, d, choices)
			untilActive := func(left int) {
				for len(b.active) > left {
					p, ok := b.draw()
					if !ok {
						t.Fatal("no duel")
					}
					b.tell(p, results.Float64() < f.At(p.a, p.b))
				}
			}
			untilActive(k - 1)
			first, n, w = b.told, nil, nil
			for _, a := range b.active {
				n, w = append(n, b.n[a]), append(w, b.w[a])
			}
			untilActive(k - 2)
			add(&played, first, b.told-first, n, w)
		}
		for i, what := range []string{"duels to the first removal", "the same modulo the arms", "duels from there to the second", "spread of counts", "wins"} {
			sameLaw(t, name+": "+what, skipped[i], played[i])
		}
	}
}

// add appends the figures that TestRemovalsHaveTheSameLaw compares.
func add(to *[5][]float64, first, next int64, n, w []int64) {
	var wins int64
	for _, x := range w {
		wins += x
	}
	for i, x := range []int64{first, first % int64(len(n)+1), next, slices.Max(n) - slices.Min(n), wins} {
		to[i] = append(to[i], float64(x))
	}
}

// If a test would fire again after an elimination, it does so at the next duel, whoever's
// that is: here the turn of an arm that is neither best nor worst, one of two due.
func TestSweepBeginsWithATest(t *testing.T) {
	const k = 5
	d, err := Design{Algorithm: BeatTheMean, Horizon: 1e5}.complete(k)
	if err != nil {
		t.Fatal(err)
	}
	s := newSkip(d, Constant(k, .3), philox.New(1, 0))
	s.level = 1000
	for i, c := range []struct{ n, w int64 }{{1010, 900}, {1000, 500}, {1000, 500}, {1005, 500}, {1010, 100}} {
		s.active[i].n, s.active[i].w = c.n, c.w
	}
	s.allArmsNear()
	before := s.duels()
	s.sweep()
	if len(s.active) != k-1 || s.active[k-2].arm == k-1 || s.duels() != before+1 {
		t.Errorf("%+v after %d duels", s.active, s.duels()-before)
	}
}

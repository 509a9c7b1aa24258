package duel

import (
	"math"
	"testing"
)

// The level up to which an arm is safe: its rate stays strictly within the bounds if it
// loses all of its duels up to there, or wins them, and one level more might do.
func TestSafeLevels(t *testing.T) {
	for _, c := range []struct {
		n, w          int64
		centre, scale float64
	}{
		{100, 50, .5, 4}, {100, 58, .5, 4}, {1000, 300, .3, 2}, {7, 7, .6, 5}, {0, 0, .5, 3},
		{100, 90, .5, 2}, {100, 5, .5, 2}, // ahead of a level at which they are outside
	} {
		s := &skip{scale: c.scale, n: []int64{c.n}, w: []int64{c.w}}
		within := func(level int64) bool {
			n := max(c.n, level)
			worst := min(rate(c.w, n)-c.centre, 0) // of the rates that it may have
			best := max(float64(c.w+n-c.n)/float64(max(n, 1))-c.centre, 0)
			return max(-worst, best) < c.scale/math.Sqrt(float64(level))
		}
		level := s.within(0, c.centre)
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

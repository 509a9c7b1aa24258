package duel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
)

// naive is a Beat-the-Mean that keeps the history and recounts everything.
type naive struct {
	active  []int
	history []told
	out     []Elimination
}

type told struct {
	pair
	won bool
}

func (o *naive) counts(b int) (n, w int64) {
	for _, h := range o.history {
		if h.a == b && slices.Contains(o.active, h.b) {
			n++
			if h.won {
				w++
			}
		}
	}
	return n, w
}

// test applies line 16 once and reports whether it eliminated an arm.
func (o *naive) test(scale float64) bool {
	var rates []float64
	var duels []int64
	for _, b := range o.active {
		n, w := o.counts(b)
		rates, duels = append(rates, rate(w, n)), append(duels, n)
	}
	radius := radiusAt(scale, slices.Min(duels))
	lo, hi := slices.Min(rates), slices.Max(rates)
	if len(rates) == 1 || lo+radius > hi-radius {
		return false
	}
	worst, best := slices.Index(rates, lo), slices.Index(rates, hi)
	o.out = append(o.out, Elimination{
		Arm: o.active[worst], At: int64(len(o.history)), Rate: lo, Duels: duels[worst],
		Rival: o.active[best], RivalRate: hi, Radius: radius,
	})
	o.active = slices.Delete(o.active, worst, worst+1)
	return true
}

// Beat-the-Mean's running sums equal a recount of the whole history after every duel,
// and arms are eliminated exactly when the published test says so: after every duel
// with strict testing, otherwise at the end of sweeps of as many duels as arms. The arm
// that begins a duel has the fewest comparisons.
func TestBeatAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 6).Draw(t, "k")
		sweep := rapid.Bool().Draw(t, "sweep")
		d := Design{Algorithm: BeatTheMean, Horizon: int64(rapid.IntRange(k, 600).Draw(t, "horizon"))}
		if sweep {
			d.Testing = Sweep
		}
		d, err := d.complete(k)
		if err != nil {
			t.Fatal(err)
		}
		f := Constant(k, rapid.Float64Range(.3, .5).Draw(t, "gap"))
		r := rand.New(philox.New(rapid.Uint64().Draw(t, "seed"), 1))
		s := newBeat(k, d, r)
		o := &naive{active: allArms(k)}
		var out []Elimination
		end := k
		for !s.ended() {
			before := slices.Clone(s.n)
			duel, ok := s.draw()
			if !ok {
				t.Fatalf("no duel after %d, and not ended", len(o.history))
			}
			for _, b := range s.active {
				if before[b] < before[duel.a] {
					t.Fatalf("arm %d begins with %d comparisons, arm %d has %d", duel.a, before[duel.a], b, before[b])
				}
			}
			won := r.Float64() < f.At(duel.a, duel.b)
			o.history = append(o.history, told{duel, won})
			out = append(out, s.tell(duel, won).eliminated...)
			switch {
			case !sweep:
				o.test(s.scale)
			case len(o.history) == end || int64(len(o.history)) == d.Horizon:
				for o.test(s.scale) {
				}
				end = len(o.history) + len(o.active)
			}
			if diff := cmp.Diff(o.out, out); diff != "" {
				t.Fatalf("eliminated after %d duels (-naive +beat):\n%s", len(o.history), diff)
			}
			least := int64(1 << 60)
			for _, b := range s.active {
				n, w := o.counts(b)
				least = min(least, n)
				if s.n[b] != n || s.w[b] != w || s.planned[b] != n {
					t.Fatalf("arm %d after %d duels: %d wins in %d, planned %d; the history has %d in %d", b, len(o.history), s.w[b], s.n[b], s.planned[b], w, n)
				}
			}
			if s.least != least {
				t.Fatalf("n* = %d, the history has %d", s.least, least)
			}
		}
	})
}

package duel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/philox"
)

// fixedFilter returns a filter of four arms with champion 1 and c(n) = 1/sqrt(n).
func fixedFilter(prune bool) *filter {
	s := newFilter(4, Design{Goal: Online, Horizon: 1e6, Algorithm: InterleavedFilter2}, rand.New(philox.New(1, 0)))
	s.champion, s.active = 1, []int{0, 2, 3}
	s.scale, s.prune = 1, prune
	return s
}

// sweepOf tells one sweep; wins are the challengers that the champion beats.
func (s *filter) sweepOf(t *testing.T, wins ...int) []Elimination {
	t.Helper()
	var out []Elimination
	for i, left := 0, len(s.active); i < left; i++ {
		p, ok := s.draw()
		if !ok || p.a != s.champion {
			t.Fatalf("duel %v, %v of champion %d", p, ok, s.champion)
		}
		if i+1 == left {
			if p, ok := s.draw(); ok {
				t.Fatalf("%v before the sweep is told", p)
			}
		}
		out = append(out, s.tell(p, slices.Contains(wins, p.b)).eliminated...)
	}
	return out
}

// Worse challengers are eliminated when 1/2 leaves their interval; a better one becomes
// the champion, and a new round begins. With pruning, the challengers that the old
// champion merely led are eliminated with it.
func TestFilterRounds(t *testing.T) {
	for _, prune := range []bool{false, true} {
		s := fixedFilter(prune)
		// After 5 duels 3 has lost all: 1 - 1/sqrt(5) > 1/2; after 4 it had not.
		// 0 has won 3 of 5, 2 lost 3 of 5.
		for _, wins := range [][]int{{0, 3}, {0, 2, 3}, {2, 3}, {2, 3}} {
			if out := s.sweepOf(t, wins...); out != nil {
				t.Fatalf("%+v after %d duels", out, s.told)
			}
		}
		got := s.sweepOf(t, 3)
		want := []Elimination{{Arm: 3, At: 15, Rate: 0, Duels: 5, Rival: 1, RivalRate: 1, Radius: radiusAt(1, 5)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		// The champion loses to 0 from now on: 2/10 + 1/sqrt(10) > 1/2, but 2/11 + 1/sqrt(11)
		// < 1/2. Against 2 it wins every other duel, and leads by 7 of 11.
		for n := 6; n <= 10; n++ {
			var wins []int
			if n%2 == 0 {
				wins = []int{2}
			}
			if out := s.sweepOf(t, wins...); out != nil {
				t.Fatalf("%+v after %d sweeps", out, n)
			}
		}
		got = s.sweepOf(t, 2)
		ahead := rate(7, 11) // of the champion against 2
		want = nil
		if prune {
			want = append(want, Elimination{Arm: 2, At: 27, Rate: 1 - ahead, Duels: 11, Rival: 1, RivalRate: ahead, Radius: radiusAt(1, 11)})
		}
		want = append(want, Elimination{Arm: 1, At: 27, Rate: rate(2, 11), Duels: 11, Rival: 0, RivalRate: 1 - rate(2, 11), Radius: radiusAt(1, 11)})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pruning %v (-want +got)\n%s", prune, diff)
		}
		if s.champion != 0 || s.ended() != prune || slices.Max(s.n) != 0 || slices.Max(s.w) != 0 {
			t.Errorf("pruning %v: %+v", prune, s)
		}
	}
}

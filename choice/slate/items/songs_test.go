package items

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The traits that the paper's text names: popular songs cover several genres well, and about 47% of the songs cover
// no genre by .01. The seeds are fixed; over them the share differs by a per cent or two.
func TestSongs(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		s, err := GenerateSongs(1000, 30, 100, seed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Constrain(Limits{Length: 3, Budgets: map[string]float64{"seconds": 600}}); err != nil {
			t.Fatal(err)
		}
		low := 0
		var seconds float64
		for e := range s.Len() {
			if slices.Max(s.Row(e)) < .01 {
				low++
			}
			seconds += s.CostsOf(e)[0] / 1000
		}
		if low < 450 || low > 490 {
			t.Errorf("seed %d: %d of 1,000 songs cover no genre by .01, want 470", seed, low)
		}
		// The mean of a log-normal variable; four standard errors of its mean are 12 s.
		if want := usualSeconds * math.Exp(spreadOfLogs*spreadOfLogs/2); math.Abs(seconds-want) > 12 {
			t.Errorf("seed %d: %g seconds on average, want %g", seed, seconds, want)
		}
		popular, rest := wide(&s.Set, 0, 20), wide(&s.Set, 500, 1000)
		if popular < 2 || rest > .1 {
			t.Errorf("seed %d: popular songs cover %g genres by .2, half of all %g", seed, popular, rest)
		}
		for u, w := range s.Weights {
			var sum float64
			for _, x := range w {
				sum += x
			}
			if math.Abs(sum-1) > 1e-12 || slices.Min(w) < 0 {
				t.Fatalf("seed %d, listener %d: weights %v", seed, u, w)
			}
		}
	}
}

// wide returns how many genres the songs of a range of ranks cover by .2, on average.
func wide(s *Set, from, to int) (mean float64) {
	for e := from; e < to; e++ {
		for _, x := range s.Row(e) {
			if x >= .2 {
				mean += 1 / float64(to-from)
			}
		}
	}
	return mean
}

func TestSongsAreAFunctionOfTheSeed(t *testing.T) {
	made := func(seed uint64) *Songs {
		s, err := GenerateSongs(50, 4, 10, seed)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if d := cmp.Diff(made(3), made(3)); d != "" {
		t.Errorf("the same seed:\n%s", d)
	}
	if cmp.Equal(made(3), made(4)) {
		t.Error("another seed makes the same songs")
	}
	for _, bad := range [][3]int{{0, 2, 1}, {1, 1, 1}, {1, 2, 0}} {
		if _, err := GenerateSongs(bad[0], bad[1], bad[2], 1); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if s := made(5); len(s.Weights) != 10 || s.Len() != 50 || s.GroupNames[3] != "genre 3" {
		t.Errorf("%+v", s)
	}
}

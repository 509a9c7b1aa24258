package duel

import (
	"math"
	"strings"
	"testing"

	"thresher/internal/philox"
)

// Two arms have a closed form: the logarithm of the odds, with variance n/(w l), half of
// which is each one's distance to their mean.
func TestStrengthsOfTwo(t *testing.T) {
	s, err := BradleyTerry([][]int64{{0, 30}, {10, 0}})
	if err != nil {
		t.Fatal(err)
	}
	estimate, sd := math.Log(3)/2, math.Sqrt(40./300)/2
	for i, x := range s.Arms {
		if want := estimate * float64(1-2*i); math.Abs(x.Estimate-want) > 1e-6 || math.Abs(x.Error-sd) > 1e-6 || s.Separated {
			t.Errorf("arm %d: %+v, want %g with error %g", i, x, want, sd)
		}
	}
}

// Intervals of fixed counts hold the true strengths about as often as they say: of 6 x 400
// for 95%, a correct program fails with probability 1e-7 beyond these limits.
func TestStrengthsCover(t *testing.T) {
	truth := []float64{1.5, .7, .2, -.3, -.6, -1.5}
	f := Logistic(truth)
	r := philox.New(3, 3)
	inside, n := 0, 0
	for range 400 {
		wins := square(6)
		for i := range 6 {
			for j := range i {
				w := binomial(r, 60, f.At(i, j))
				wins[i][j], wins[j][i] = w, 60-w
			}
		}
		s, err := BradleyTerry(wins)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range s.Arms {
			if n++; x.Low <= truth[i] && truth[i] <= x.High {
				inside++
			}
		}
	}
	if share := float64(inside) / float64(n); share < .92 || share > .975 {
		t.Errorf("%d of %d intervals hold the truth", inside, n)
	}
}

// An arm that never lost, arms that never met and long chains of certain wins get finite
// strengths, in the right order, and it is said that they are separated.
func TestSeparatedStrengths(t *testing.T) {
	for name, wins := range map[string][][]int64{
		"never lost": {{0, 5, 6}, {0, 0, 4}, {0, 3, 0}},
		"never met":  {{0, 9, 0, 0}, {3, 0, 0, 0}, {0, 0, 0, 8}, {0, 0, 7, 0}},
		"chain":      {{0, 1e6, 0}, {0, 0, 1e6}, {0, 0, 0}},
	} {
		s, err := BradleyTerry(wins)
		if err != nil {
			t.Fatal(name, err)
		}
		sum := 0.
		for _, x := range s.Arms {
			sum += x.Estimate
			if math.IsNaN(x.Error) || !(x.Error > 0 && x.Error < 100) || math.Abs(x.Estimate) > 50 {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if !s.Separated || math.Abs(sum) > 1e-6 || !(s.Arms[0].Estimate > s.Arms[1].Estimate) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestStrengthsRefuse(t *testing.T) {
	for want, wins := range map[string][][]int64{
		"1 rows": {{0}}, "row 1 has 1 entries": {{0, 1}, {0}}, "row 0, column 1: -1 wins": {{0, -1}, {0, 0}},
		"row 1, column 1": {{0, 1}, {0, 2}}, "no duels": {{0, 0}, {0, 0}},
	} {
		if _, err := BradleyTerry(wins); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", wins, err, want)
		}
	}
}

// Every algorithm that counts pairs counts each duel once.
func TestWins(t *testing.T) {
	for name, d := range designs() {
		a := midway(t, d, 60)
		wins, sum := a.Wins(), int64(0)
		for i, row := range wins {
			for j, w := range row {
				if sum += w; i == j && w != 0 {
					t.Errorf("%s: arm %d met itself", name, i)
				}
			}
		}
		switch a.Config().Algorithm {
		case Anytime, Rank, Copeland:
			if sum != a.State().Duels {
				t.Errorf("%s: %d wins in %d duels", name, sum, a.State().Duels)
			}
		case DoubleThompson:
			if sum == 0 || sum > a.State().Duels {
				t.Errorf("%s: %d wins in %d duels", name, sum, a.State().Duels)
			}
		default:
			if wins != nil {
				t.Errorf("%s: %v", name, wins)
			}
		}
	}
}

func FuzzBradleyTerry(f *testing.F) {
	f.Add([]byte{0, 3, 1, 0})
	f.Add([]byte{0, 0, 5, 0, 0, 0, 255, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		k := min(int(math.Sqrt(float64(len(data)))), 8)
		wins := square(k)
		for i := range k {
			for j := range k {
				if wins[i][j] = int64(data[i*k+j]); i == j {
					wins[i][j] = 0
				}
			}
		}
		s, err := BradleyTerry(wins)
		if err != nil {
			if k >= 2 && !strings.Contains(err.Error(), "no duels") {
				t.Fatal(err, wins)
			}
			return
		}
		for _, x := range s.Arms {
			if !(x.Error >= 0) || math.IsInf(x.Error, 0) || math.IsNaN(x.Estimate) {
				t.Fatal(x, wins)
			}
		}
	})
}

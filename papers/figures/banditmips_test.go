package figures

import (
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/internal/plot"
)

// The embedded logs are those that the papers' figures are compared with.
func TestLogged(t *testing.T) {
	for _, id := range []string{"banditmips-1", "banditmips-2", "banditmips-3", "banditmips-4", "banditmips-5", "banditmips-6", "banditmips-7", "banditmips-8", "banditmips-9"} {
		rows, err := readLogged(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.n < 1 || r.d < 1 || r.k < 1 || !(r.multiplications > 0) || r.right < 0 || r.right > 1 || r.data == "" || r.algorithm == "" {
				t.Errorf("%s: %+v", id, r)
			}
		}
	}
	one := slices.DeleteFunc(mustLogged("banditmips-1"), func(l logged) bool { return l.data != setText || l.d != 1e4 })
	if len(one) != 1 || math.Abs(one[0].multiplications-14872.7) > .1 {
		t.Errorf("figure 1, CORRELATED_NORMAL_CUSTOM at 10,000: %+v", one)
	}
	// Figure 3: the greatest saving of BanditMIPS on NORMAL_CUSTOM with precision .95 is 66.6.
	best := 0.0
	for _, l := range mustLogged("banditmips-3") {
		if l.data == setNormal && l.algorithm == nameBanditMIPS && l.right >= .95 {
			best = max(best, float64(l.n*l.d)/l.multiplications)
		}
	}
	if math.Abs(best-66.6) > .1 {
		t.Errorf("figure 3: %v", best)
	}
	if _, err := readLogged("banditmips-10"); err == nil {
		t.Error("there are logs of figure 10")
	}
}

// Rows that grow as x^1.5 in one draw and x^.5 in another have the exponent 1, and an interval of Student's distribution with
// one degree of freedom.
func TestExponent(t *testing.T) {
	var rows []Row
	for draw, power := range []float64{1.5, .5} {
		for _, x := range []float64{10, 100, 1000} {
			rows = append(rows, Row{Draw: draw, X: x, Multiplications: 7 * math.Pow(x, power)})
		}
	}
	mean, half := exponent(rows)
	if want := 12.7062 * math.Sqrt(.5) / math.Sqrt2; math.Abs(mean-1) > 1e-9 || math.Abs(half-want) > 1e-3 {
		t.Errorf("%v +- %v, want 1 +- %v", mean, half, want)
	}
	if mean, half := exponent(rows[:3]); math.Abs(mean-1.5) > 1e-9 || half != 0 {
		t.Errorf("of one draw: %v +- %v", mean, half)
	}
	if mean, _ := exponent(nil); mean != 0 {
		t.Errorf("of none: %v", mean)
	}
}

// Algorithm 1 needs as many coordinates as make four radii the gap.
func TestNeededCoordinates(t *testing.T) {
	for _, gap := range []float64{.5, .1, .01} {
		s := neededCoordinates(1, .001, gap, 100)
		if radii := 4 * math.Sqrt(2*math.Log(400*s*s/.001)/s); math.Abs(radii-gap) > 1e-6*gap {
			t.Errorf("gap %v: four radii of %v coordinates are %v", gap, s, radii)
		}
	}
}

func TestOverDraws(t *testing.T) {
	rows := []Row{
		{Algorithm: "a", Setting: "1", Draw: 0, Draws: 1, N: 10, D: 10, Multiplications: 10, Precision: 1, Answers: 3, Wall: 10},
		{Algorithm: "a", Setting: "2", Draw: 0, Draws: 1, N: 10, D: 10, Multiplications: 50, Precision: .5, Answers: 3, Wrong: 2},
		{Algorithm: "a", Setting: "1", Draw: 1, Draws: 1, N: 10, D: 10, Multiplications: 30, Precision: .4, Answers: 3, Wrong: 1, Wall: 20},
	}
	mean := overDraws(rows)
	if len(mean) != 2 || mean[0].X != 5 || math.Abs(mean[0].Y-.7) > 1e-12 || mean[0].Answers != 6 || mean[0].Wrong != 1 || mean[0].Wall != 15 || mean[1].X != 2 {
		t.Errorf("%+v", mean)
	}
}

// Draws are shaded by the rank of their gap, and every one is drawn.
func TestDrawLines(t *testing.T) {
	var rows []Row
	for draw, gap := range []float64{.3, .1, .2} {
		for _, x := range []float64{1, 2} {
			rows = append(rows, Row{Draw: draw, X: x, Multiplications: x, Gap: gap})
		}
	}
	lines := drawLines(rows)
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for p, want := range []float64{1, 0, .5} {
		if l := lines[p]; *l.Shade != want || len(l.X) != 2 || l.Kind != plot.Line || l.Name != "" {
			t.Errorf("draw %d: %+v, shade %v", p, l, *l.Shade)
		}
	}
}

// The hardest draw is the one whose gap at the greatest d is smallest, whatever gaps others have at smaller d.
func TestHardest(t *testing.T) {
	var rows []Row
	for draw, power := range []float64{.2, .8} {
		for i, d := range []float64{1000, 10000} {
			gap := []float64{.001, .5}[i] // of draw 0
			if draw == 1 {
				gap = .01
			}
			rows = append(rows, Row{Data: setNormal, Draw: draw, X: d, D: int(d), Multiplications: math.Pow(d, power), Gap: gap})
		}
	}
	if got, want := slopes(rows), []float64{.2, .8}; len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
		t.Errorf("slopes %v, want %v", got, want)
	}
	if text := hardest(rows); !strings.Contains(text, "the smallest Delta, 0.01, has exponent 0.80 and "+short(math.Pow(10000, .8))+" at d = 10k") {
		t.Errorf("%q", text)
	}
	if text := hardest(nil); text != "" {
		t.Errorf("of nothing: %q", text)
	}
}

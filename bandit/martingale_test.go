package bandit

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// blockEnds returns the doubling looks 16, 32, 64, ..., d, or looks of a fixed
// width.
func blockEnds(d, width int) []int {
	var ends []int
	for end := 16; ; {
		if width > 0 {
			end = width * (len(ends) + 1)
		}
		ends = append(ends, min(end, d))
		if end >= d {
			return ends
		}
		end *= 2
	}
}

// strictBounds runs one arm whose products are x, in this order, against a
// query of ones, and returns the smallest bound met at any look.
func strictBounds(t *testing.T, x []float64, ends []int, alpha float64) float64 {
	t.Helper()
	caps := make([]float64, len(x))
	largest := 0.0
	for j := len(x) - 1; j >= 0; j-- {
		largest = math.Max(largest, math.Abs(x[j]))
		caps[j] = largest
	}
	arm, seen := NewMartingaleState(), 0
	for _, end := range ends {
		step, err := NewMartingaleStep(alpha, len(x), seen, end-seen, 1)
		if err != nil {
			t.Fatal(err)
		}
		bet := step.Bet(arm, caps[seen])
		sum, squares := 0.0, 0.0
		for _, v := range x[seen:end] {
			sum += v
			squares += v * v
		}
		arm = step.Update(arm, bet, sum, Centred(sum, squares, end-seen, bet.Centre))
		seen = end
	}
	return arm.UCB()
}

func strictPopulations(d int) map[string][]float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	fill := func(f func(j int) float64) []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = f(j)
		}
		return x
	}
	return map[string][]float64{
		"normal":        fill(func(int) float64 { return rng.NormFloat64() + 0.3 }),
		"heavy":         fill(func(int) float64 { return rng.NormFloat64() / rng.NormFloat64() }),
		"heavy-up":      fill(func(int) float64 { return math.Exp(2.5 * rng.NormFloat64()) }),
		"heavy-down":    fill(func(int) float64 { return -math.Exp(2.5 * rng.NormFloat64()) }),
		"dominant-up":   fill(func(j int) float64 { return 0.01*rng.NormFloat64() + 100*indicator(j == 0) }),
		"dominant-down": fill(func(j int) float64 { return 0.01*rng.NormFloat64() - 100*indicator(j == 0) }),
		"constant":      fill(func(int) float64 { return -2 }),
		"zero":          fill(func(int) float64 { return 0 }),
		"sparse":        fill(func(j int) float64 { return indicator(j < d/50) }),
		"few-hot":       fill(func(j int) float64 { return indicator(j < 3) - 0.02 }),
		"signs":         fill(func(j int) float64 { return 1 - 2*indicator(j%2 == 0) }),
		"two-sided":     fill(func(j int) float64 { return 3*indicator(j%10 == 0) - 0.4 }),
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// One-sided binomial at 1e-6 a cell, 12 populations x 2 block plans x 2 levels:
// false alarms below 5e-5 in all, and the seed is fixed.
func TestStrictHoldsAtAllLooksTogether(t *testing.T) {
	const d = 400
	trials := 3000
	if testing.Short() {
		trials = 600
	}
	for name, population := range strictPopulations(d) {
		total := 0.0
		for _, v := range population {
			total += v
		}
		for _, width := range []int{0, 7} {
			ends := blockEnds(d, width)
			for _, alpha := range []float64{0.1, 0.01} {
				rng := rand.New(rand.NewPCG(9, uint64(1000*alpha)))
				x := append([]float64(nil), population...)
				failures := 0
				for range trials {
					rng.Shuffle(d, func(i, j int) { x[i], x[j] = x[j], x[i] })
					if strictBounds(t, x, ends, alpha) < total-1e-9*(1+math.Abs(total)) {
						failures++
					}
				}
				if exceeds(trials, failures, alpha) {
					t.Errorf("%s, blocks %d, alpha %g: %d failures of %d", name, width, alpha, failures, trials)
				}
				t.Logf("%s, blocks %d: failures/alpha %.3f", name, width, float64(failures)/float64(trials)/alpha)
			}
		}
	}
}

// The inequality the proof rests on, over a grid that includes its tangent
// point and the largest lambda in use.
func TestStrictInequality(t *testing.T) {
	for lambda := 0.0; lambda <= maxLambda; lambda += 0.01 {
		psi := -math.Log1p(-lambda) - lambda
		for y := -1.0; y < 40; y += 0.013 {
			if left, right := math.Exp(lambda*y-psi*y*y), 1+lambda*y; left > right*(1+1e-12) {
				t.Fatalf("lambda %g, y %g: %g > %g", lambda, y, left, right)
			}
		}
	}
}

// pullsByStrict eliminates arms below the k-th best score of normalCustom rows
// and returns pulls/(n d).
func pullsByStrict(t *testing.T, atoms [][]float64, query []float64, k int, delta float64) float64 {
	t.Helper()
	n, d := len(atoms), len(query)
	scores := make([]float64, n)
	for i, v := range atoms {
		scores[i] = dot64(v, query)
	}
	tau := KthLargest(append([]float64(nil), scores...), k)
	alive, arms := make([]int, n), make([]MartingaleState, n)
	for i := range arms {
		alive[i], arms[i] = i, NewMartingaleState()
	}
	pulls, seen := 0, 0
	for _, end := range blockEnds(d, 0) {
		queryMax := 0.0
		for _, q := range query[seen:] {
			queryMax = math.Max(queryMax, math.Abs(q))
		}
		step, err := NewMartingaleStep(delta/float64(k), d, seen, end-seen, queryMax)
		if err != nil {
			t.Fatal(err)
		}
		var kept []int
		for _, i := range alive {
			atomMax := 0.0
			for _, v := range atoms[i][seen:] {
				atomMax = math.Max(atomMax, math.Abs(v))
			}
			bet := step.Bet(arms[i], atomMax)
			sum, centred := 0.0, 0.0
			for j := seen; j < end; j++ {
				x := atoms[i][j] * query[j]
				sum += x
				centred += (x - bet.Centre) * (x - bet.Centre)
			}
			arms[i] = step.Update(arms[i], bet, sum, centred)
			if arms[i].UCB() >= tau*(1-1e-12) {
				kept = append(kept, i)
			}
		}
		pulls += len(alive) * (end - seen)
		alive, seen = kept, end
		if len(alive) <= k {
			break
		}
	}
	for i, s := range scores {
		if s < tau {
			continue
		}
		found := false
		for _, a := range alive {
			found = found || a == i
		}
		if !found {
			t.Errorf("true arm %d was dropped", i)
		}
	}
	return float64(pulls) / float64(n*d)
}

// Not vacuous: on NORMAL_CUSTOM rows (arXiv 2212.07551, section 9.1) most
// coordinates are never read.
func TestStrictPrunes(t *testing.T) {
	const n, d = 200, 4096
	rng := rand.New(rand.NewPCG(21, 22))
	atoms := make([][]float64, n)
	for i := range atoms {
		mean := rng.NormFloat64()
		atoms[i] = make([]float64, d)
		for j := range atoms[i] {
			atoms[i][j] = rng.NormFloat64() + mean
		}
	}
	query := make([]float64, d)
	for j := range query {
		query[j] = rng.NormFloat64() + 1.5
	}
	for _, c := range []struct {
		k    int
		most float64
	}{{1, 0.12}, {10, 0.3}} {
		got := pullsByStrict(t, atoms, query, c.k, 0.01)
		t.Logf("k %d: %.1f%% of the coordinates", c.k, 100*got)
		if got > c.most {
			t.Errorf("k %d: pulled %.1f%% of the coordinates, want at most %.0f%%", c.k, 100*got, 100*c.most)
		}
	}
}

func TestStrictEnds(t *testing.T) {
	for name, x := range strictPopulations(64) {
		total := 0.0
		for _, v := range x {
			total += v
		}
		// Everything seen: the bound is at most the sum itself.
		if got := strictBounds(t, x, blockEnds(64, 0), 0.01); got > total+1e-12*(1+math.Abs(total)) {
			t.Errorf("%s: bound %g after all coordinates, sum %g", name, got, total)
		}
	}
	// Zeros from here on: the bound is the sum, with no failure probability.
	arm := MartingaleState{Sum: 5, Squares: 25, Upper: math.Inf(1)}
	step, err := NewMartingaleStep(0.01, 100, 10, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	if arm = step.Update(arm, step.Bet(arm, 7), 0, 0); arm.UCB() != 5 {
		t.Errorf("bound %g once all that is unseen is zero, want the sum 5", arm.UCB())
	}
	if got := NewMartingaleState().UCB(); !math.IsInf(got, 1) {
		t.Errorf("bound %g before any look, want +Inf", got)
	}
}

// The bound is the formula of docs/guarantee.md, term by term.
func TestStrictFormula(t *testing.T) {
	x := []float64{1, -2, 0.5, 3, -1, 0, 2, 1}
	arm := NewMartingaleState()
	numerator, denominator, prev, best := math.Log(1/0.05), 0.0, 0.0, math.Inf(1)
	for seen := 0; seen < 6; seen += 2 {
		step, err := NewMartingaleStep(0.05, len(x), seen, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		bet := step.Bet(arm, 1.5)
		if bet.Cap < 3 || bet.Spread < bet.Cap/2 || bet.Lambda <= 0 || bet.Lambda > maxLambda {
			t.Fatalf("bet %+v", bet)
		}
		sum := x[seen] + x[seen+1]
		centred := math.Pow(x[seen]-bet.Centre, 2) + math.Pow(x[seen+1]-bet.Centre, 2)
		l, left := bet.Lambda/bet.Spread, float64(len(x)-seen)
		numerator += l*sum + (-math.Log(1-bet.Lambda)-bet.Lambda)/bet.Spread/bet.Spread*centred + l*2*prev/left
		denominator += l * 2 / left
		best = math.Min(best, math.Min(numerator/denominator, prev+left*bet.Cap))
		arm = step.Update(arm, bet, sum, centred)
		if math.Abs(arm.UCB()-best) > 1e-12*math.Abs(best) {
			t.Errorf("after %d coordinates: bound %.15g, formula %.15g", seen+2, arm.UCB(), best)
		}
		prev += sum
		if math.Abs(arm.Sum-prev) > 1e-15 {
			t.Errorf("sum %g, want %g", arm.Sum, prev)
		}
	}
	if want := 1 + 4 + 0.25 + 9 + 1.0; math.Abs(arm.Squares-want) > 1e-12 {
		t.Errorf("sum of squares %g, want %g", arm.Squares, want)
	}
}

func TestMartingaleStepRefuses(t *testing.T) {
	for _, c := range []struct {
		name            string
		alpha           float64
		dim, seen, size int
		queryMax        float64
	}{
		{"alpha 0", 0, 10, 0, 1, 1},
		{"alpha 1", 1, 10, 0, 1, 1},
		{"alpha NaN", math.NaN(), 10, 0, 1, 1},
		{"empty block", 0.1, 10, 0, 0, 1},
		{"beyond the row", 0.1, 10, 8, 3, 1},
		{"negative start", 0.1, 10, -1, 3, 1},
		{"negative maximum", 0.1, 10, 0, 3, -1},
		{"infinite maximum", 0.1, 10, 0, 3, math.Inf(1)},
		{"NaN maximum", 0.1, 10, 0, 3, math.NaN()},
	} {
		if _, err := NewMartingaleStep(c.alpha, c.dim, c.seen, c.size, c.queryMax); !errors.Is(err, ErrMartingale) {
			t.Errorf("%s: error %v, want ErrMartingale", c.name, err)
		}
	}
}

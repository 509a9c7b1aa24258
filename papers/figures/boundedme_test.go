package figures

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
	"thresher/internal/race"
	"thresher/papers"
)

func TestPercentile(t *testing.T) {
	values := make([]float64, 20)
	for i := range values {
		values[19-i] = float64(i + 1)
	}
	for p, want := range map[float64]float64{.99: 20, .95: 19, .9: 18, .8: 16, .7: 14, 1: 20, .01: 1} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
}

// The lists of figure 1 have U[0, 1] as means, and a gap is of the k-th most ones.
func TestOnesFirst(t *testing.T) {
	const n, d = 20000, 1000
	l := drawOnesFirst(n, d, 1)
	mean := 0.0
	for _, ones := range l {
		mean += float64(ones) / d / n
	}
	if math.Abs(mean-.5) > 5/math.Sqrt(12*n) { // five standard deviations: false in 6e-7 of seeds
		t.Errorf("mean %v", mean)
	}
	few := onesFirst{3, 9, 7, 1}
	sums := make([]float64, 2)
	if err := few.Add(context.Background(), 2, 5, []int{0, 1}, sums); err != nil || !slices.Equal(sums, []float64{3, 5}) {
		t.Errorf("sums %v, %v", sums, err)
	}
	for k, want := range map[int]float64{1: 2, 2: 4} { // 9 and 7 against 7 and 3
		if got := few.gap([]int{0, 2}, k); got != want {
			t.Errorf("gap of the %d-th is %v, want %v", k, got, want)
		}
	}
}

// Pulls for an epsilon of 8, beyond the range of all means, would not do for one of .05: what figure 1 states can fail.
func TestAdversarialListsCanFail(t *testing.T) {
	const n, d = 3000, 30000
	l := drawOnesFirst(n, d, 3)
	out, err := papers.BoundedMEOfLists(context.Background(), l, n, d, papers.BoundedMEOptions{K: 1, Delta: .1, Epsilon: 8 * d, Lo: 0, Hi: 1})
	if err != nil {
		t.Fatal(err)
	}
	if gap := l.gap(out.IDs, 1) / d; gap < .05 {
		t.Errorf("an epsilon of 8 is only %v suboptimal", gap)
	}
}

func TestSlope(t *testing.T) {
	var rows []Row
	for _, x := range []float64{1, 2, 5, 10} {
		rows = append(rows, Row{Panel: "v", N: 1, D: 1000, X: x, Multiplications: 3 * math.Pow(x, .7)})
	}
	if got := slope(rows, xOf, multiplicationsOf); math.Abs(got-.7) > 1e-12 {
		t.Errorf("slope %v", got)
	}
	if got := slope(rows[:1], xOf, multiplicationsOf); !math.IsNaN(got) {
		t.Errorf("slope of one row %v", got)
	}
	if got, want := slopesByShare(rows, "v"), "0.70 (below 10%)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The exponents of table 1 where half of all rewards is read, and at the ends: 1/2, 0 and 1 in N.
func TestComplexity(t *testing.T) {
	s, err := ReadSettings("boundedme-table1", Quick)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := complexityRows(context.Background(), s, "N")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if r.Multiplications > float64(r.N)*float64(r.D) || i > 0 && r.Multiplications < rows[i-1].Multiplications {
			t.Errorf("%d pulls of %d x %d", int(r.Multiplications), r.N, r.D)
		}
	}
	few, many := slope(rows[:2], xOf, multiplicationsOf), slope(rows[len(rows)-2:], xOf, multiplicationsOf)
	if few < .95 || many > .05 {
		t.Errorf("exponent in N is %v where all is read, %v where next to nothing is", few, many)
	}
}

// On iid coordinates the precision at a share read does not depend on N, and the claim of 5 to 10 times at a high precision
// does not come out. Over 8 queries, five standard deviations of a share of 40 answers are about .4.
func TestShareNotWidth(t *testing.T) {
	var found []Row
	for _, d := range []int{300, 1200} {
		c := check{n: 200, d: d, k: 5, queries: 8, epsilon: .5 * math.Sqrt(300/float64(d)), delta: .5}
		rows, err := c.rows(context.Background(), quiet(1, 2), "N(0,1)")
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, rows...)
	}
	a, b := found[0], found[1]
	if math.Abs(a.X/b.X-1) > .3 || math.Abs(a.Precision-b.Precision) > .4 || a.X < 1.2 || a.Precision == 1 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// The scores of independent coordinates are Gaussian walks, so that BoundedME's precision on them is that of walks from which its
// rounds drop the lower ones, whatever the range and the pair of epsilon and delta. It needs no vectors, and shares no code.
func TestBoundedMEOnWalks(t *testing.T) {
	race.Skip(t, "no goroutines meet but those of eachOf, which TestTradeoffThreads has")
	const n, d, m, k = 400, 1000, 60, 5
	ctx, e := context.Background(), quiet(1, 2)
	set, err := iidTradeoff(ctx, e, "N(0,1)", n, d, m, k)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ epsilon, delta float64 }{{.3, .01}, {.6, .2}, {1, .5}} {
		rows, err := set.boundedME(ctx, e, []int{k}, []float64{c.epsilon}, []float64{c.delta}, papers.Published, 7)
		if err != nil {
			t.Fatal(err)
		}
		out, err := papers.BoundedME(ctx, set.columnMajor(), papers.BoundedMEOptions{K: k, Delta: c.delta, Epsilon: c.epsilon * d * 20, Lo: -10, Hi: 10})
		if err != nil {
			t.Fatal(err)
		}
		r := rows[0]
		if math.Abs(float64(out.Pulls)-r.Multiplications) > 1e-6 { // a mean over the queries
			t.Errorf("%+v: rounds of %d pulls, of %g for another range", c, out.Pulls, r.Multiplications)
		}
		// The precision of a query's k answers has a standard deviation of .23 at most, their mean one of .03, and false alarms
		// are fewer than 1 in 10,000 seeds. A share of the rewards that is a third less would lower it by .12 or more.
		if want := walkPrecision(n, d, k, out.Rounds, 300); math.Abs(r.Precision-want) > .12 {
			t.Errorf("%+v: precision %.3f, of walks %.3f", c, r.Precision, want)
		}
	}
}

// walkPrecision is the mean share of the k highest of n Gaussian walks of d steps that rounds leave.
func walkPrecision(n, d, k int, rounds []papers.RoundTally, repeats int) float64 {
	r := rand.New(philox.New(5, 5))
	walks, ids := make([]float64, n), make([]int, n)
	highest := func(ids []int) { slices.SortFunc(ids, func(a, b int) int { return cmp.Compare(walks[b], walks[a]) }) }
	walk := func(steps int) {
		for i := range walks {
			walks[i] += math.Sqrt(float64(steps)) * r.NormFloat64()
		}
	}
	right := 0
	for range repeats {
		clear(walks)
		for i := range ids {
			ids[i] = i
		}
		left, seen := slices.Clone(ids), 0
		for _, round := range rounds {
			walk(round.Coordinates - seen)
			highest(left)
			left, seen = left[:round.Survivors], round.Coordinates
		}
		walk(d - seen)
		highest(ids)
		for _, id := range left {
			if slices.Contains(ids[:k], id) {
				right++
			}
		}
	}
	return float64(right) / float64(k*repeats)
}

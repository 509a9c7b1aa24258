package figures

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"thresher/papers"
)

func quiet(seed uint64, threads int) *Env {
	return &Env{Seed: seed, Threads: threads, Progress: func(int, int) {}}
}

// Every method of a trade-off finds all at its exhaustive setting, at the work that it then takes, and the row says so.
func TestTradeoffExhaustive(t *testing.T) {
	const n, d, m = 60, 40, 4
	ctx, e := context.Background(), quiet(1, 2)
	set, err := iidTradeoff(ctx, e, "N(0,1)", n, d, m, 5)
	if err != nil {
		t.Fatal(err)
	}
	ks := []int{1, 5}
	for name, c := range map[string]struct {
		rows  func() ([]Row, error)
		count float64 // NaN: not known
	}{
		nameNaive:  {func() ([]Row, error) { return set.naive(ctx, e, ks) }, n * d},
		nameLSH:    {func() ([]Row, error) { return set.lsh(ctx, e, ks, []int{0}, []int{1}, 1) }, n * d},
		nameGreedy: {func() ([]Row, error) { return set.greedy(ctx, e, ks, []int{n}) }, math.NaN()},
		namePCA:    {func() ([]Row, error) { return set.pca(ctx, e, ks, []int{0}, 1) }, n * d},
		nameBoundedME: {func() ([]Row, error) {
			return set.boundedME(ctx, e, ks, []float64{0}, []float64{.1}, papers.Corrected, 1)
		}, n * d},
	} {
		rows, err := c.rows()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(ks) {
			t.Errorf("%s: %d rows", name, len(rows))
		}
		for i, r := range rows {
			if r.Algorithm != name || r.Precision != 1 || r.Wrong != 0 || r.Answers != m || r.K != ks[i] || r.Y != 1 || r.Wall <= 0 {
				t.Errorf("%s: %+v", name, r)
			}
			if !math.IsNaN(c.count) && (r.Multiplications != c.count || r.X != n*d/c.count) {
				t.Errorf("%s: %v multiplications, want %v", name, r.Multiplications, c.count)
			}
		}
	}
}

// Rows but for their times do not depend on the number of threads.
func TestTradeoffThreads(t *testing.T) {
	rows := func(threads int) []Row {
		ctx, e := context.Background(), quiet(2, threads)
		set, err := iidTradeoff(ctx, e, "U[0,1]", 80, 60, 6, 3)
		if err != nil {
			t.Fatal(err)
		}
		a, err := set.boundedME(ctx, e, []int{1, 3}, []float64{.4}, []float64{.1}, papers.Published, 7)
		if err != nil {
			t.Fatal(err)
		}
		b, err := set.pca(ctx, e, []int{1, 3}, []int{1, 2}, 7)
		if err != nil {
			t.Fatal(err)
		}
		all := append(a, b...)
		for i := range all {
			all[i].Wall, all[i].BuildWall = 0, 0
		}
		return all
	}
	if one, three := rows(1), rows(3); !slices.Equal(one, three) {
		t.Errorf("one thread %+v\nthree %+v", one, three)
	}
}

func TestFront(t *testing.T) {
	rows := []Row{{X: 1, Precision: 1}, {X: 2, Precision: .7}, {X: 3, Precision: .8}, {X: 3, Precision: .6}, {X: 2.5, Precision: .8}, {X: 9, Precision: 0}, {X: 8, Precision: .1}}
	var xs []float64
	for _, r := range front(rows, byMultiplications) {
		xs = append(xs, r.X)
	}
	if want := []float64{1, 3, 8, 9}; !slices.Equal(xs, want) {
		t.Errorf("front at %v, want %v", xs, want)
	}
	if at := savingAt([]Row{{Algorithm: "a", X: 2, Precision: .9}, {Algorithm: "a", X: 5, Precision: .8}, {Algorithm: "b", X: 7, Precision: 1}}, "a", .9, byMultiplications); at != 2 {
		t.Errorf("saving %v", at)
	}
	falling := []Row{{Algorithm: "a", X: 1, Precision: 1}, {Algorithm: "a", X: 2, Precision: .6}, {Algorithm: "a", X: 8, Precision: .4}, {Algorithm: "a", X: 1.5, Precision: .5}, {Algorithm: "b", X: 99, Precision: 1}}
	for bar, want := range map[float64]float64{1: 1, .6: 2, .5: 4, .4: 8, .1: 8} { // half of the way from 2 to 8
		if at := savingAround(falling, "a", bar, byMultiplications); math.Abs(at-want) > 1e-12 {
			t.Errorf("precision %g at a saving of %g, want %g", bar, at, want)
		}
	}
	if at := savingAround(falling[1:], "a", .7, byMultiplications); at != 0 {
		t.Errorf("never precise, at a saving of %g", at)
	}
}

// A time is compared with the naive scan of its own point, or of another if its point has none.
func TestByWall(t *testing.T) {
	rows := []Row{
		{Point: "a", Algorithm: nameNaive, K: 1, Wall: 10 * time.Millisecond}, {Point: "a", Algorithm: "x", K: 1, Wall: time.Millisecond},
		{Point: "b", Algorithm: nameNaive, K: 1, Wall: 30 * time.Millisecond}, {Point: "b", Algorithm: "x", K: 1, Wall: time.Millisecond},
		{Point: "c", Algorithm: "x", K: 1, Wall: time.Millisecond}, {Point: "c", Algorithm: "y", K: 1},
	}
	x, err := byWall(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]float64{1: 10, 3: 30, 4: 10, 5: 0} {
		if got := x(&rows[i]); got != want {
			t.Errorf("row %d saves %v, want %v", i, got, want)
		}
	}
	if _, err := byWall(append(rows, Row{Algorithm: "x", K: 2, Wall: 1})); err == nil {
		t.Error("a row without a scan to compare with passes")
	}
}

// The range that BoundedME is told holds every product.
func TestProductRange(t *testing.T) {
	set, err := iidTradeoff(context.Background(), quiet(3, 1), "N(0,1)", 30, 100, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := set.columnMajor()
	for _, q := range set.queries {
		lo, hi := c.products(q)
		least, greatest := math.Inf(1), math.Inf(-1)
		for p, v := range set.vectors {
			x := float64(v) * float64(q[p%set.d])
			least, greatest = min(least, x), max(greatest, x)
		}
		if lo != least || hi != greatest {
			t.Errorf("range [%v, %v], products in [%v, %v]", lo, hi, least, greatest)
		}
	}
}

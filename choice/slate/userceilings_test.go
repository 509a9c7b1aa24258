package slate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/internal/draws"
)

// The bounds of a user hold for the scores as computed, of items and of cells, after every
// list. For a cold user they equal the scores up to rounding, so that case fails as soon
// as rounding is not accounted for.
func TestCeilingHolds(t *testing.T) {
	tight := 0
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(1, 20).Draw(t, "d")
		items, c := drawItems(t, must(NewCoverage(n, d, drawVectors(t, n, d))))
		p := NewPlanner(c)
		for _, u := range drawUsers(t, items, 6) {
			p.user, p.beta = u, rapid.SampledFrom([]float64{0, 0.3, 5}).Draw(t, "beta")
			tight += underCeiling(t, p, func() int { return rapid.IntRange(0, n-1).Draw(t, "next") })
		}
	})
	if draws.Usual() && tight < 1000 {
		t.Errorf("%d bounds are close to their scores: these cases say little", tight)
	}
}

// Bounds hold where squares of features, of widths or of both underflow.
func TestCeilingHoldsBelowSquares(t *testing.T) {
	r := newRand(17, 0)
	for range 1000 {
		n, d := 1+r.IntN(20), 1+r.IntN(4)
		vectors := make([]float64, n*d)
		for i := range vectors {
			vectors[i] = math.Pow(10, -150-20*r.Float64())
		}
		items := must(NewItems(must(NewCoverage(n, d, vectors)), Attributes{}))
		p := NewPlanner(must(items.Constrain(Limits{})))
		p.user, p.beta = must(NewEstimator(d, []float64{1e-9, 1, 1e9}[r.IntN(3)])), math.Pow(10, 6*r.Float64()-2)
		underCeiling(t, p, func() int { return r.IntN(n) })
	}
}

// underCeiling checks the bounds of a planner's user after lists drawn by next, and counts
// those that are tight.
func underCeiling(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *Planner, next func() int) (tight int) {
	t.Helper()
	objective := p.c.items.objective.(Separable)
	n, d := objective.Size(), objective.Features()
	ceiling := newCeilings(1, d)[0]
	if !ceiling.set(p.user, p.beta, make([]float64, d*d)) {
		return 0
	}
	cells := newCells(n, d, objective.Vectors())
	scorer := NewScorer(d, cells.envelopes)
	queries, linear, square := newQueries(1, d)
	figures := make([]float32, cells.size())
	q := &queries[0]
	p.list.Reset()
	residual := slices.Repeat([]float64{1}, d)
	for range 3 {
		q.set(&ceiling, residual, cells.scale)
		must(0, scorer.Score(context.Background(), figures, linear, square))
		scale, shift := q.slackness()
		for r, x := range figures {
			over := float64(x)*scale + shift
			for slot := cells.start[r]; slot < cells.start[r+1]; slot++ {
				e := int(cells.items[slot])
				mean, width := p.estimate(e)
				bound := q.bound(cells.rows[int(slot)*d : (int(slot)+1)*d])
				if ucb := mean + width; ucb > over || ucb > bound {
					t.Fatalf("item %d: score %v, bound %v, of its cell %v", e, ucb, bound, over)
				} else if ucb > 0.99*bound {
					tight++
				}
			}
		}
		e := next()
		p.list.Append(e)
		objective.Shrink(residual, e)
	}
	return tight
}

// For a cold user M is lambda I, whose widths are exact: the bound is the score up to
// rounding. So it is with weights without a negative entry after much data.
func TestCeilingIsClose(t *testing.T) {
	items, c := market(t, "films", 2000)
	vectors := items.objective.(Separable).Vectors()
	residual := slices.Repeat([]float64{1}, 18)
	p := NewPlanner(c)
	for _, x := range []struct {
		lists int
		most  float64 // mean over items of bound/score - 1
	}{{0, 1e-9}, {20, 0.2}, {200, 0.2}} {
		u := readers(t, items, 1, x.lists)[0]
		p.user, p.beta = u, must(u.Beta(Confidence{Rule: Determinant}))
		ceiling := newCeilings(1, 18)[0]
		if !ceiling.set(u, p.beta, make([]float64, 18*18)) {
			t.Fatal("no bounds")
		}
		queries, _, _ := newQueries(1, 18)
		queries[0].set(&ceiling, residual, 1)
		var excess float64
		for e := range items.Size() {
			mean, width := p.estimate(e)
			excess += queries[0].bound(vectors[e*18:(e+1)*18])/(mean+width) - 1
		}
		if excess /= float64(items.Size()); excess > x.most {
			t.Errorf("after %d lists: bounds exceed scores by %.3g, more than %v", x.lists, excess, x.most)
		}
	}
}

// A nearly singular matrix, or weights of very different magnitude, have no bounds.
func TestCeilingRefuses(t *testing.T) {
	columns := make([]float64, 4)
	u := must(NewEstimator(2, 1e-9))
	must(0, u.Update([]float64{1e12, 1e12}, []float64{1}))
	if c := newCeilings(1, 2)[0]; c.set(u, 1, columns) {
		t.Errorf("singular: %+v", c)
	}
	u = must(NewEstimator(2, 1))
	must(0, u.Update([]float64{1e-50, 0}, []float64{1e50}))
	if c := newCeilings(1, 2)[0]; !c.set(u, 1, columns) {
		t.Error("a weight of 1 is refused")
	}
	if c := newCeilings(1, 2)[0]; c.set(u, 1e101, columns) {
		t.Errorf("beta of 1e101: %+v", c)
	}
}

// The CPU's Scorer keeps its contract, also beyond the size of a tile.
func TestScorer(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	for _, x := range []struct{ rows, queries, d int }{{1, 1, 1}, {5, 3, 2}, {tileRows, tileQueries, 18}, {2*tileRows + 7, 2*tileQueries + 9, 18}} {
		draw := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(r.Float64() * math.Pow(10, -float64(r.IntN(8))))
			}
			return v
		}
		matrix, linear, square := draw(x.rows*x.d), draw(x.queries*x.d), draw(x.queries*x.d)
		dst := make([]float32, x.queries*x.rows+1)
		dst[len(dst)-1] = -7
		s := NewScorer(x.d, matrix)
		if err := s.Score(context.Background(), dst[:len(dst)-1], linear, square); err != nil {
			t.Fatal(err)
		}
		for q := range x.queries {
			for k := range x.rows {
				var sum, squares float64
				for g := range x.d {
					v := float64(matrix[k*x.d+g])
					sum += v * float64(linear[q*x.d+g])
					squares += v * v * float64(square[q*x.d+g])
				}
				want, got := sum+math.Sqrt(squares), float64(dst[q*x.rows+k])
				if math.Abs(got-want) > want*float64(x.d+8)*0x1p-23+0x1p-55 {
					t.Fatalf("%+v: query %d, row %d: %v, want %v", x, q, k, got, want)
				}
			}
		}
		if dst[len(dst)-1] != -7 {
			t.Fatal("wrote beyond its figures")
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if s.Score(ctx, dst[:len(dst)-1], linear, square) == nil {
			t.Error("does not stop")
		}
	}
}

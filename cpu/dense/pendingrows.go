package dense

import (
	"math"

	"thresher/bandit"
	"thresher/cpu/topk"
)

// tighten raises the threshold of query e of the pass to a lower bound that k of its pending rows
// have, and drops those below it. If last is set, the rows that are left are scored next, and some
// more than k may be left; otherwise about a quarter more.
func (w *scratch) tighten(q *Query, t *terms, e int, last bool) {
	s := &w.tests
	x, k := &s.pending[e], q.Goal.K
	if k == 0 || k > len(x.IDs) {
		return
	}
	if !q.Bounded() {
		spare := k/4 + 1
		if last {
			spare = k/16 + 1
			if len(x.IDs) <= k+spare {
				return
			}
		}
		s.raiseTo(q, e, s.lowerBoundFrom(q, t, e, topk.RankedFrom(q.Kern, x.Bounds, k, spare)))
		if most := k + k/2 + 1; len(x.IDs) <= most && !last || len(x.IDs) <= k+spare {
			return
		}
	}
	s.lowerBounds = topk.Grow(s.lowerBounds, len(x.IDs))
	n := 0
	for i, row := range x.IDs {
		if q.Bounded() && !q.CertainlyBelow(s.upperBound(q, e, x.Bounds[i])) {
			continue
		}
		s.lowerBounds[n] = s.lowerBound(q, t, e, row, x.Bounds[i])
		n++
	}
	if n < k {
		return
	}
	s.raiseTo(q, e, bandit.KthLargest(s.lowerBounds[:n], k))
}

// lowerBoundFrom returns a lower bound of the rows of query e whose upper bound in the float32 test is at
// least least, in the product form: by the greatest gap of any row.
func (s *tests) lowerBoundFrom(q *Query, t *terms, e int, least float32) float64 {
	if q.dots != byNorms {
		return s.lowerOf(q, e, least)
	}
	return float64(least) - 2*float64(s.margin[e])*t.greatest - t.maxGap*float64(s.factor[e]) - s.shift[e] - q.tiny()
}

// RaiseTo raises the threshold of query e to a bound in the product form that k rows reach, and
// drops the pending rows below it.
func (s *tests) raiseTo(q *Query, e int, lower float64) {
	s.raiseTau(q, e, s.testTau(q, e, q.conversion().LowerThreshold(lower)))
	x := &s.pending[e]
	x.DropBelow(q.Kern, s.reach[e])
	if s.sharpAt(q, e) && s.tau[e] > s.reach[e] {
		x.DropTies(q.Kern, s.reach[e], q.Goal.K)
	}
}

// floorTau returns the floor of query q, e of the pass, as a threshold of the test.
func (s *tests) floorTau(q *Query, e int) float32 {
	return s.testTau(q, e, q.conversion().Threshold(q.Floor))
}

// raiseTau raises the thresholds of query e of the pass to reach, which the products of k of the rows that are read
// so far reach.
func (s *tests) raiseTau(q *Query, e int, reach float32) {
	if reach < s.reach[e] {
		return
	}
	s.reach[e] = reach
	s.tau[e] = max(s.tau[e], reach)
	if s.sharpAt(q, e) {
		s.tau[e] = above(reach)
	}
}

// sharpAt reports whether rows that only reach the threshold score no more than k that were read before, and so are in no
// answer with them: neither has an error.
func (s *tests) sharpAt(q *Query, e int) bool {
	return s.sharp[e] && (s.share[e] == 0 || s.reach[e] == 0)
}

// testTau returns a threshold in the product form as one of the test.
func (s *tests) testTau(q *Query, e int, tau float64) float32 {
	if q.dots == byNorms {
		return q.testOf(tau, s.shift[e])
	}
	if s.share[e] > 0 && !math.IsInf(tau, 0) {
		tau *= q.factor()
		tau -= s.share[e] * math.Abs(tau)
	}
	return float32(tau)
}

// above returns the next greater number, for 0 one that is not subnormal.
func above(x float32) float32 {
	if x == 0 {
		return minNormal
	}
	return math.Nextafter32(x, float32(math.Inf(1)))
}

// minNormal is the least positive number that is not subnormal. Products with dotError byProduct or noError are
// greater or 0.
const minNormal = 0x1p-126

// lowerBound returns the lower bound of a row for query e of the pass, in the product form, from its
// upper bound in the float32 test, whose error bound holds in both directions.
func (s *tests) lowerBound(q *Query, t *terms, e int, row uint32, bound float32) float64 {
	if q.dots != byNorms {
		return s.lowerOf(q, e, bound)
	}
	gap := 2 * float64(s.margin[e]) * float64(t.size[row])
	if q.C.Offset != nil { // the stored offset may exceed the true one
		gap += t.offsetGap(q.C, int(t.inverse[row]), row) * float64(s.factor[e])
	}
	return float64(bound) - gap - s.shift[e] - q.tiny()
}

// lowerOf is lowerBound if margins are 0. Whoever compares with the threshold takes account of the error again.
func (s *tests) lowerOf(q *Query, e int, product float32) float64 {
	p := float64(product)
	return (p - s.share[e]*math.Abs(p)) / q.factor()
}

// upperBound returns a row's bound in the float32 test as one in the product form.
func (s *tests) upperBound(q *Query, e int, bound float32) float64 {
	return float64(bound) - s.shift[e] + q.tiny()
}

// tiny bounds the error of subnormal products, up to half a step of the least number each.
func (s *Query) tiny() float64 { return float64(s.C.Dim) * math.SmallestNonzeroFloat32 }

// keepBest drops the rows of x but the n of greatest bound, and ties.
func (s *tests) keepBest(q *Query, x *topk.Entries, n int) {
	if len(x.IDs) <= n {
		return
	}
	s.lowerBounds = topk.Grow(s.lowerBounds, len(x.IDs))
	for i, b := range x.Bounds {
		s.lowerBounds[i] = float64(b)
	}
	x.DropBelow(q.Kern, float32(bandit.KthLargest(s.lowerBounds, n)))
}

// testOf returns tau as a threshold of the float32 test, whose products are greater by
// shift. It is lowered by the error of subnormal products, up to half a step of the least
// number each, which a usual threshold absorbs: arithmetic on subnormal numbers takes some processors more
// than a hundred cycles.
func (s *Query) testOf(tau, shift float64) float32 {
	t := float32(tau + shift)
	if t >= absorbsTiny || t <= -absorbsTiny {
		return t
	}
	return t - float32(s.C.Dim)*math.SmallestNonzeroFloat32
}

// absorbsTiny is a number of which tiny is less than half a step for up to collection.MaxDim coordinates.
const absorbsTiny = 0x1p-100

package cpu

import (
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

const (
	// ownEntering and ownSpare are shares of k: how many lower bounds enter before they raise the
	// threshold again, and how many more than k are left then.
	ownEntering, ownSpare = 8, 16
	// ownGrowth is how many times as long a list has become as it was when arms below the threshold were
	// last dropped, before they are dropped again.
	ownGrowth = 2
)

// ownBounds are lower bounds by a first look at whole rows that raise the threshold of this look: the k
// greatest, and some more.
type ownBounds struct {
	survivors      // with lower bounds
	begun     bool // given candidates are among them
	raised    bool // they have raised the threshold
	listed    int  // arms that were listed when some were last dropped
}

func (o *ownBounds) reset() {
	o.truncate(0)
	o.begun, o.raised, o.listed = false, false, 0
}

// raisedByOwn reports whether the lower bounds of a first look have raised the threshold.
func (s *state) raisedByOwn() bool { return s.own.raised }

// raisesByOwn reports whether the look's own bounds raise the threshold: bounds of whole rows hold in both
// directions with certainty, so that k lower bounds make a threshold and nothing is read between
// chunks. With a ceiling arms are taken as those of other looks are.
func (q *scanState) raisesByOwn() bool {
	return q.bound.Kind == looks.Whole && q.bound.Look.Source == backend.LowerBound && q.goal.K > 0 && !q.bounded()
}

// takeOwn lists the arms of a chunk that passed the look, and raises the threshold by their lower bounds.
// last says that no chunk follows.
func (q *scanState) takeOwn(passed survivors, last bool) {
	if !q.own.begun {
		q.own.begun = true
		for _, a := range q.bestGiven { // the look does not see them
			q.own.ids, q.own.bounds = append(q.own.ids, a.row), append(q.own.bounds, lower32(q.conversion.Threshold(a.score)))
		}
	}
	before := q.tau
	for left := passed; len(left.ids) > 0; {
		// Atoms of one strip share the greatest distance from upper to lower bound.
		number, n := int(left.ids[0])/looks.StripAtoms, len(left.ids)
		if end := (number + 1) * looks.StripAtoms; int(left.ids[n-1]) >= end {
			n, _ = slices.BinarySearch(left.ids, uint32(end))
		}
		q.addLowers(survivors{left.ids[:n], left.bounds[:n]}, &q.bound.Strips[number])
		left = survivors{left.ids[n:], left.bounds[n:]}
		if len(q.own.ids) > 2*q.goal.K+looks.StripAtoms {
			q.raiseByOwn(true)
		}
	}
	q.raiseByOwn(last)
	q.begun, q.weak = true, 0
	if q.tau > before || last {
		q.list.appendSelected(q.kern, passed, q.least32(), float32(math.Inf(1)))
	} else {
		q.list.reserve(len(passed.ids))
		q.list.ids, q.list.bounds = append(q.list.ids, passed.ids...), append(q.list.bounds, passed.bounds...)
	}
	if len(q.list.ids) > ownGrowth*q.own.listed+q.goal.K {
		q.list.dropBelow(q.kern, q.least32())
		q.own.listed = len(q.list.ids)
	}
}

// addLowers adds those lower bounds of arms of one strip that exceed the threshold.
func (q *scanState) addLowers(arms survivors, strip *looks.Strip) {
	gap := 2*(strip.Radius*q.bound.RadiusFactor*collection.Up+float64(collection.Upward(q.bound.StripRounding(strip)))) + strip.OffsetWidth*q.perUnit
	from := len(q.own.ids)
	q.own.appendSelected(q.kern, arms, float32(q.tau+gap), float32(math.Inf(1)))
	bounds := q.own.bounds[from:]
	for k, b := range bounds {
		bounds[k] = lower32(float64(b) - gap)
	}
}

// lower32 rounds a lower bound downward. One that is not finite becomes -Inf.
func lower32(x float64) float32 {
	if x-x != 0 {
		return float32(math.Inf(-1))
	}
	return float32(x - 0x1p-23*math.Abs(x) - math.SmallestNonzeroFloat32)
}

// raiseByOwn raises the threshold to a lower bound that k arms have, if enough have entered, or in any case if
// now is set.
func (q *scanState) raiseByOwn(now bool) {
	o, k := &q.own, q.goal.K
	if n := len(o.ids); n < k || o.raised && n == k || o.raised && !now && n < k+k/ownSpare+k/ownEntering+1 {
		return
	}
	least := rankedFrom(q.kern, o.bounds, k, k/ownSpare)
	o.dropBelow(q.kern, least)
	o.raised = true
	q.tau = max(q.tau, q.conversion.LowerThreshold(float64(least)))
}

package scan

import (
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/topk"
)

const (
	// lowersEntering and lowersSpare are shares of k: how many lower bounds enter before they raise the
	// threshold again, and how many more than k are left then.
	lowersEntering, lowersSpare = 8, 16
	// listGrowth is how many times as long a list has become as it was when arms below the threshold were
	// last dropped, before they are dropped again.
	listGrowth = 2
)

// lowers are lower bounds by a first look at whole rows that raise the threshold of this look: the k
// greatest, and some more.
type lowers struct {
	topk.Entries      // with lower bounds
	begun        bool // given candidates are among them
	raised       bool // they have raised the threshold
	listed       int  // arms that were listed when some were last dropped
}

func (o *lowers) reset() {
	o.Truncate(0)
	o.begun, o.raised, o.listed = false, false, 0
}

// RaisedByLowers reports whether the lower bounds of a first look have raised the threshold.
func (s *Query) RaisedByLowers() bool { return s.lowers.raised }

// raisesByLowers reports whether the look's own bounds raise the threshold: bounds of whole rows hold in both
// directions with certainty, so that k lower bounds make a threshold and nothing is read between
// chunks. With a ceiling arms are taken as those of other looks are.
func (q *scanning) raisesByLowers() bool {
	return q.bound.Kind == looks.Whole && q.bound.Look.Source == backend.LowerBound && q.Goal.K > 0 && !q.Bounded()
}

// takeLowers lists the arms of a chunk that passed the look, and raises the threshold by their lower bounds.
// last says that no chunk follows.
func (q *scanning) takeLowers(passed topk.Entries, last bool) {
	if !q.lowers.begun {
		q.lowers.begun = true
		for _, a := range q.BestGiven { // the look does not see them
			q.lowers.IDs, q.lowers.Bounds = append(q.lowers.IDs, a.Row), append(q.lowers.Bounds, lower32(q.Conversion.Threshold(a.Score)))
		}
	}
	before := q.Tau
	for left := passed; len(left.IDs) > 0; {
		// Atoms of one strip share the greatest distance from upper to lower bound.
		n := len(left.IDs)
		strip, end := q.stripOf(left.IDs[0])
		if left.IDs[n-1] >= end {
			n, _ = slices.BinarySearch(left.IDs, end)
		}
		q.addLowers(topk.Entries{IDs: left.IDs[:n], Bounds: left.Bounds[:n]}, strip)
		left = topk.Entries{IDs: left.IDs[n:], Bounds: left.Bounds[n:]}
		if len(q.lowers.IDs) > 2*q.Goal.K+looks.StripAtoms {
			q.raiseByLowers(true)
		}
	}
	q.raiseByLowers(last)
	q.begun, q.weak = true, 0
	if q.Tau > before || last {
		q.List.AppendSelected(q.Kern, passed, q.Tau32(), float32(math.Inf(1)))
	} else {
		q.List.Reserve(len(passed.IDs))
		q.List.IDs, q.List.Bounds = append(q.List.IDs, passed.IDs...), append(q.List.Bounds, passed.Bounds...)
	}
	if len(q.List.IDs) > listGrowth*q.lowers.listed+q.Goal.K {
		q.List.DropBelow(q.Kern, q.Tau32())
		q.lowers.listed = len(q.List.IDs)
	}
}

// addLowers adds those lower bounds of arms of one strip that exceed the threshold.
func (q *scanning) addLowers(arms topk.Entries, strip *looks.Strip) {
	gap := 2*(strip.Radius*q.bound.RadiusFactor*collection.Up+float64(collection.Upward(q.bound.StripRounding(strip)))) + strip.OffsetWidth*q.PerUnit
	from := len(q.lowers.IDs)
	q.lowers.AppendSelected(q.Kern, arms, float32(q.Tau+gap), float32(math.Inf(1)))
	bounds := q.lowers.Bounds[from:]
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

// raiseByLowers raises the threshold to a lower bound that k arms have, if enough have entered, or in any case if
// now is set.
func (q *scanning) raiseByLowers(now bool) {
	o, k := &q.lowers, q.Goal.K
	if n := len(o.IDs); n < k || o.raised && n == k || o.raised && !now && n < k+k/lowersSpare+k/lowersEntering+1 {
		return
	}
	least := topk.RankedFrom(q.Kern, o.Bounds, k, k/lowersSpare)
	o.DropBelow(q.Kern, least)
	o.raised = true
	q.Tau = max(q.Tau, q.Conversion.LowerThreshold(float64(least)))
}

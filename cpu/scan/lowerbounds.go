package scan

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// The own bounds of a first look at whole rows hold in both directions with certainty, so that the k-th greatest of its
// lower bounds is a threshold, for which no row is read. Raising it chunk by chunk takes longer than the codes' products
// where many atoms are wanted. So a query's threshold is selected once, at the end, from the lower bounds of the arms that are
// listed, and about where it will be is known before the first chunk, from a sample of the atoms: arms that do not reach
// this expected threshold are not listed. If the threshold is below, which is rare, the query's scan is taken once more,
// from the threshold that it found.

// lowersSpare is the share of k by which more lower bounds may reach the threshold.
const lowersSpare = 16

// raisesByLowers reports whether the look's own lower bounds raise the threshold. With a ceiling arms are taken as
// those of other looks are.
func (q *scanning) raisesByLowers() bool {
	return q.bound.Kind == looks.Whole && q.bound.Look.Source == backend.LowerBound && q.Goal.K > 0 && !q.Bounded()
}

// RaisedByLowers reports whether the lower bounds of a first look have raised the threshold.
func (s *Query) RaisedByLowers() bool { return s.raised }

// scanTau is the threshold that the next panels are scanned with.
func (q *scanning) scanTau() float64 { return max(q.Tau, q.Expected) }

// expectThresholds sets the expected thresholds of scans that have not begun, and whose own lower bounds raise the
// threshold.
func (x *Run) expectThresholds(ctx context.Context, w *scratch, t *looks.Compiled, all []*scanning) error {
	qs := make([]*scanning, 0, len(all))
	for _, q := range all {
		if q.raisesByLowers() && !q.begun && !q.repeats {
			qs = append(qs, q)
		}
	}
	for len(qs) > 0 { // a sample depends on the query and its filter alone
		filter := qs[0].Goal.Filter
		n := 0
		for k, q := range qs {
			if q.Goal.Filter == filter {
				qs[n], qs[k] = q, qs[n]
				n++
			}
		}
		if err := x.expectTogether(ctx, w, t, qs[:n]); err != nil {
			return err
		}
		qs = qs[n:]
	}
	return nil
}

// expectTogether is expectThresholds for scans of one filter.
func (x *Run) expectTogether(ctx context.Context, w *scratch, t *looks.Compiled, qs []*scanning) error {
	panels := x.panelsToScan(qs)
	sampled := backend.SampledPanels(len(panels))
	if sampled == 0 {
		return nil
	}
	atoms := sampled * arms.PanelAtoms
	w.sample = topk.Grow(w.sample, len(qs)*atoms)
	codes := w.beginPanels(qs, t.AtomBytes)
	for at := range sampled {
		if err := x.r.Spend(ctx, w.Scratch.Scratch, arms.PanelAtoms*len(qs), len(qs)); err != nil {
			return err
		}
		p := panels[(2*at+1)*len(panels)/(2*sampled)]
		if x.byRows(t, qs) {
			x.sumPanelRows(w, codes, t.Look.To, []uint32{p})
			x.r.Kernels.Test(w.sums8, x.panelTerms(w, t, int(p)), &w.tests[0], w.values)
		} else {
			x.scanPanel(w, t, codes, t.AtomBytes, int(p))
		}
		for k, q := range qs {
			q.sampleLowers((*[arms.PanelAtoms]float32)(w.sample[k*atoms+at*arms.PanelAtoms:]),
				(*[arms.PanelAtoms]float32)(w.values[k*arms.PanelAtoms:]), int(p), &t.Strips[p/looks.StripPanels])
		}
	}
	for k, q := range qs {
		q.expect(w.sample[k*atoms : (k+1)*atoms])
	}
	return nil
}

// sampleLowers sets lowers to the lower bounds of the atoms of panel p, of a strip, for which the test has these
// values; to -Inf for those that the query may not have.
func (q *scanning) sampleLowers(lowers, values *[arms.PanelAtoms]float32, p int, strip *looks.Strip) {
	gap := float32(q.lowerGap(strip) - float64(collection.Upward(q.bound.StripRounding(strip))))
	for i, v := range values {
		lowers[i] = v - gap
	}
	allowed := q.allowedMask(q.allowedBits, p)
	q.sampled += bits.OnesCount64(allowed)
	for other := ^allowed; other != 0; other &= other - 1 {
		lowers[bits.TrailingZeros64(other)] = float32(math.Inf(-1))
	}
}

// expect sets the expected threshold from the lower bounds of a sample.
func (q *scanning) expect(lowers []float32) {
	wanted := float64(q.Goal.K+len(q.Hidden)) * float64(q.sampled) / float64(max(q.Goal.Allowed, 1))
	rank := int(backend.SampledRank(wanted))
	if rank < q.sampled/2 {
		q.Expect(float64(topk.RankedFrom(q.Kern, lowers, rank, rank/8)))
	}
}

// lowerGap is at least how far the lower bound of an atom of a strip is below its bound in a list.
func (q *scanning) lowerGap(strip *looks.Strip) float64 {
	return 2*(strip.Radius*q.bound.RadiusFactor*collection.Up+float64(collection.Upward(q.bound.StripRounding(strip)))) + strip.OffsetWidth*q.PerUnit
}

// raiseByListed raises the threshold to a lower bound that k of the arms have that the look has listed or that were scored as given candidates. It
// reports whether all arms that reach the threshold are listed.
func (q *scanning) raiseByListed() bool {
	lowers, unbounded := topk.Grow(q.lowers, len(q.List.IDs)+len(q.BestGiven))[:0], float32(0)
	for at := q.listedBefore; at < len(q.List.IDs); { // those before have bounds of another look
		// Atoms of one strip share the greatest distance from upper to lower bound.
		number := q.List.IDs[at] / looks.StripAtoms
		gap := collection.Upward(q.lowerGap(&q.bound.Strips[number]))
		end := (number + 1) * looks.StripAtoms
		for ; at < len(q.List.IDs) && q.List.IDs[at] < end; at++ {
			lower := q.List.Bounds[at] - gap
			unbounded += lower - lower // NaN once one is not finite
			lowers = append(lowers, lower)
		}
	}
	for _, a := range q.BestGiven { // the look does not see them
		lowers = append(lowers, float32(q.Conversion.Threshold(a.Score)))
	}
	q.lowers = lowers
	if unbounded != 0 {
		for k, b := range lowers {
			if b-b != 0 {
				lowers[k] = float32(math.Inf(-1))
			}
		}
	}
	if k := q.Goal.K; len(lowers) >= k {
		q.raised = true
		q.Tau = max(q.Tau, q.Conversion.LowerThreshold(lower32(topk.RankedFrom(q.Kern, lowers, k, k/lowersSpare))))
	}
	return q.Tau >= q.Expected
}

// lower32 is below a lower bound that was computed in float32 by at least the rounding of a gap and of its subtraction.
func lower32(x float32) float64 {
	return float64(x) - 0x1p-22*math.Abs(float64(x)) - math.SmallestNonzeroFloat32
}

// repeat makes the scan, whose threshold ended below the expected one, begin again without such.
func (q *scanning) repeat() {
	q.Unsee()
	q.repeats = true
	q.hiddenBefore, _ = slices.BinarySearch(q.Hidden, uint32(q.NextPanel*arms.PanelAtoms))
	q.again += q.codesRead
	q.seen, q.codesRead, q.hiddenPassed = 0, 0, 0
}

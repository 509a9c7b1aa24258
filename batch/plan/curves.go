package plan

import (
	"math"

	"thresher/collection"
)

// curves interpolate a pilot's forecasts: the share of arms that a look at each stage keeps,
// as a function of the rank of the final threshold among all atoms. Both are natural
// logarithms, and the curve is linear between the pilot's ks.
type curves struct {
	alpha      float64   // log of the pilot's alpha
	ks         []float64 // logs of the pilot's ks, ascending; empty without a pilot
	shares     points    // kept by Student bounds
	certain    points    // kept by deterministic bounds; nil without a forecast
	candidates points    // whose estimate reaches the threshold; nil without a forecast
	early      *curves   // under the thresholds of collection.EarlyAtoms atoms; nil without a forecast
	reached    points    // seen before norms rule out the others, [len(ks)][1]; nil without a forecast
}

// points are logs of shares, [len(ks)][stages].
type points [][]float64

// minShare replaces a forecast share of 0, which has no logarithm.
const minShare = 1e-9

func newCurves(p *collection.Pilot) *curves {
	c := &curves{alpha: math.Log(p.Alpha)}
	for _, k := range p.Ks {
		c.ks = append(c.ks, math.Log(float64(k)))
	}
	c.shares, c.certain, c.candidates = logs(p.Shares), logs(p.Certain), logs(p.Candidates)
	if p.Early != nil {
		c.early = newCurves(p.Early)
	}
	for _, r := range p.Reached {
		c.reached = append(c.reached, logs([][]float64{{r}})...)
	}
	return c
}

// logs returns the logarithms of shares.
func logs(shares [][]float64) points {
	var all points
	for _, byStage := range shares {
		row := make([]float64, len(byStage))
		for j, s := range byStage {
			row[j] = math.Log(max(s, minShare))
		}
		all = append(all, row)
	}
	return all
}

// known reports whether there was a pilot.
func (c *curves) known() bool { return len(c.ks) > 0 }

// logShare is the log of a stage's share at a rank, given by its log; at most 0. It is
// constant below the least k and extrapolated beyond the greatest.
func (c *curves) logShare(p points, stage int, rank float64) float64 {
	switch {
	case len(p) == 0:
		return 0
	case len(c.ks) == 1 || rank <= c.ks[0]:
		return p[0][stage]
	}
	j := 1
	for j+1 < len(c.ks) && rank > c.ks[j] {
		j++
	}
	a, b := p[j-1][stage], p[j][stage]
	return min(0, a+(b-a)*(rank-c.ks[j-1])/(c.ks[j]-c.ks[j-1]))
}

// perDecade is the factor by which the survivors of a look grow for each factor of ten by
// which alpha falls. Measured 1.1 to 1.25, for power laws and iid rests.
const perDecade = 1.2

// widening is the log of the factor by which a look with this alpha keeps more arms than
// one with the pilot's alpha.
func (c *curves) widening(alpha float64) float64 {
	return math.Log(perDecade) / math.Ln10 * (c.alpha - math.Log(alpha))
}

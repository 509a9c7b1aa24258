package plan

import (
	"math"

	"thresher/collection"
)

// curves are a pilot's forecasts between its ks and beyond: the share of the arms
// that a look of each stage keeps, against the rank at which the threshold ends.
// Both are logarithms here, and the share is linear between the pilot's points.
type curves struct {
	alpha           float64 // log of the pilot's
	ks              []float64
	shares, certain points // certain is nil when there is no forecast of such looks
	candidates      points
}

// points are logs of shares, [len(ks)][stages].
type points [][]float64

// leastShare stands for a forecast of nothing.
const leastShare = 1e-9

func newCurves(p *collection.Pilot) *curves {
	c := &curves{alpha: math.Log(p.Alpha)}
	for _, k := range p.Ks {
		c.ks = append(c.ks, math.Log(float64(k)))
	}
	c.shares, c.certain, c.candidates = logs(p.Shares), logs(p.Certain), logs(p.Candidates)
	return c
}

func logs(shares [][]float64) points {
	var all points
	for _, of := range shares {
		row := make([]float64, len(of))
		for j, s := range of {
			row[j] = math.Log(max(s, leastShare))
		}
		all = append(all, row)
	}
	return all
}

// known reports whether there was a pilot.
func (c *curves) known() bool { return len(c.ks) > 0 }

// at is the log of the share that a stage keeps, at most 0. Below the least k it
// stays, beyond the greatest it goes on as before.
func (c *curves) at(p points, stage int, rank float64) float64 {
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

// perDecade is by how much the survivors of a prefix grow for each factor of ten
// by which alpha falls: from 1.1 to 1.25 for power laws and iid rests alike.
const perDecade = 1.2

// widening is the log of the factor by which a look with this alpha keeps more than
// the pilot's did.
func (c *curves) wider(alpha float64) float64 {
	return math.Log(perDecade) / math.Ln10 * (c.alpha - math.Log(alpha))
}

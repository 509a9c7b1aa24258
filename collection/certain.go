package collection

import (
	"math"

	"thresher/simd"
)

// certainFits reports whether p has a deterministic share for every k and stage, or none at
// all, as in older files.
func (p *Pilot) certainFits(stages int) bool {
	for _, s := range p.Certain {
		if len(s) != stages {
			return false
		}
	}
	return p.Certain == nil || len(p.Certain) == len(p.Ks)
}

// forecastCertainShares forecasts how many arms deterministic looks would keep, from the pilot's
// queries, their scores of its arms and their thresholds. Of the product t of the rests o
// and w, a prefix of share s of the coordinates has about s t; the rest is bounded by its
// norms, (1-s)|o||w|. Whole rows are as in the pilot.
func (c *Collection) forecastCertainShares(f *forecast, arms []uint32, queries []Query, scores, thetas [][]float64) {
	p := &c.Pilot
	last := len(c.Stages) - 1
	for i := range p.Certain {
		p.Certain[i][last] = p.Shares[i][last]
	}
	pairs := float64(max(len(queries), 1) * len(arms))
	for n := range queries {
		q := &queries[n]
		heads := c.headProducts(arms, q)
		for j := range c.Stages[:last] {
			share := float64(c.Stages[j].Width) / float64(c.D)
			beyond, rounding := 1-share, math.Sqrt(share)*(queryStep+f.stages[last].beyond)
			if k := c.Stages[j].Coding; k != Int8 {
				xo, xx := codings[k].expected(float64(c.D))
				share = xo * xo / xx
				beyond, rounding = math.Sqrt(1-share), math.Sqrt(share)*queryStep+f.stages[last].beyond
			}
			for s, score := range scores[n] {
				size, t := f.rest[s]*q.RestNorm, score-heads[s]
				bound := score + beyond*size - (1-share)*t + size*rounding + q.HeadNorm*f.headErr[s]
				for i, theta := range thetas[n] {
					if bound >= theta {
						p.Certain[i][j] += 1 / pairs
					}
				}
			}
		}
	}
}

// headProducts returns the part of the arms' scores that is the same at every stage: the
// product of their coded head with q's, and their offset.
func (c *Collection) headProducts(arms []uint32, q *Query) []float64 {
	out := make([]float64, len(arms))
	for k, i := range arms {
		if c.R > 0 {
			var sum float64
			for j, code := range c.Code(int(i))[:c.R] {
				sum += float64(int(code)-simd.Bias) * float64(q.Head[j])
			}
			out[k] = sum * float64(c.HeadScale[i])
		}
		if c.Offset != nil {
			out[k] += math.Ldexp(float64(c.Offset[i]), -q.Exp)
		}
	}
	return out
}

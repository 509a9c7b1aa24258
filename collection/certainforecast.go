package collection

import "math"

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

// addCertain adds to Certain the number of arms that deterministic looks at prefixes would keep for query q, given the
// arms' scores, the heads' parts of these, and the thresholds. Of the product t of the rests o
// and w, a prefix of share s of the coordinates has about s t; the rest is bounded by its
// norms, (1-s)|o||w|.
func (c *Collection) addCertain(p *Pilot, f *forecast, q *Query, scores, heads, thetas []float64) {
	last := len(c.Stages) - 1
	kept := make([]float64, len(thetas))
	for j := range c.Stages[:last] {
		share := float64(c.Stages[j].Width) / float64(c.D)
		beyond, rounding := 1-share, math.Sqrt(share)*(queryStep+f.stages[last].beyond)
		if k := c.Stages[j].Coding; k != Int8 {
			xo, xx := codings[k].expected(float64(c.D))
			share = xo * xo / xx
			beyond, rounding = math.Sqrt(1-share), math.Sqrt(share)*queryStep+f.stages[last].beyond
		}
		clear(kept)
		for s, score := range scores {
			size, t := f.rest[s]*q.RestNorm, score-heads[s]
			bound := score + beyond*size - (1-share)*t + size*rounding + q.HeadNorm*f.headErr[s]
			countReached(kept, thetas, bound)
		}
		for i, n := range kept {
			p.Certain[i][j] += n
		}
	}
}

// headProducts returns the part of the arms' scores that is the same at every stage: the
// product of their coded head with q's, and their offset.
func (c *Collection) headProducts(arms []uint32, q *Query) []float64 {
	out := make([]float64, len(arms))
	for k, i := range arms {
		if c.R > 0 {
			sum, _ := kernels.CodeMoments(c.Code(int(i))[:c.R], q.Head)
			out[k] = sum * float64(c.HeadScale[i])
		}
		if c.Offset != nil {
			out[k] += math.Ldexp(float64(c.Offset[i]), -q.Exp)
		}
	}
	return out
}

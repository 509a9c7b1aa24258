package collection

import (
	"math"
	"slices"

	"thresher/bandit"
)

const (
	pilotQueries = 12
	pilotAtoms   = 2048
	pilotAlpha   = .001 // nominal; the share depends on it weakly
	queryStep    = .005 // relative rounding of an 8-bit query
)

// pilotKs are the k for which the pilot forecasts; the planner interpolates.
var pilotKs = []int{1, 10, 100}

// fits reports whether p has a share for every k and level.
func (p *Pilot) fits(levels int) bool {
	for _, s := range p.Shares {
		if len(s) != levels {
			return false
		}
	}
	return len(p.Shares) == len(p.Ks)
}

// pilot forecasts how many arms each look would keep. Sampled atoms serve as
// queries. It needs no second rotation: by the law of docs/guarantee.md, given
// the exact score and the norms, an estimate is the score plus a Student
// error, so the share kept is an integral over that law, with the terms a
// rotation has on average. Nothing of this rotation's codes is read, so choosing
// by it costs no alpha.
func (b *builder) pilot() {
	c := b.c
	r := generator(c.Seed, streamPilot)
	n := min(c.N, pilotAtoms)
	sample := r.Perm(c.N)[:n]
	m := min(pilotQueries, n)
	c.Pilot = Pilot{Ks: slices.Clone(pilotKs), Alpha: pilotAlpha, Shares: make([][]float64, len(pilotKs))}
	for i := range c.Pilot.Shares {
		c.Pilot.Shares[i] = make([]float64, len(c.Levels))
	}
	levels := make([]typical, len(c.Levels))
	for j := range levels {
		levels[j] = c.typical(c.Levels[j].Width)
	}
	reach := bandit.Reach(pilotAlpha, c.Kappa, c.D)
	inverse := make([]int, c.N)
	for i, row := range c.Order {
		inverse[row] = i
	}
	q64 := make([]float64, c.Dim)
	var q Query
	score := make([]float64, n)
	sorted := make([]float64, n)
	used := 0
	for _, row := range sample[:m] {
		norm := b.exact[row]
		if norm == 0 || b.ctx.Err() != nil {
			continue
		}
		scale := b.working(uint32(row))
		c.Prepare(&q, c.Row(row), scale, nil)
		f := math.Ldexp(scale, -q.Exp)
		for j, v := range c.Row(row) {
			q64[j] = float64(v) * f
		}
		for k, other := range sample {
			score[k] = kernels.Dot(c.Row(other), q64) * b.working(uint32(other))
			if c.Offset != nil {
				score[k] += float64(c.Offset[inverse[other]]) * math.Ldexp(1, -q.Exp)
			}
		}
		copy(sorted, score)
		slices.Sort(sorted)
		slices.Reverse(sorted)
		used++
		for i, k := range pilotKs {
			theta := tail(sorted, float64(k)/float64(c.N)*float64(n))
			for j := range c.Levels {
				var sum float64
				for s, other := range sample {
					sum += c.keeps(inverse[other], levels[j], score[s], theta, reach, &q)
				}
				c.Pilot.Shares[i][j] += sum / float64(n)
			}
		}
	}
	for i := range c.Pilot.Shares {
		for j := range c.Pilot.Shares[i] {
			c.Pilot.Shares[i][j] /= float64(max(used, 1))
		}
	}
}

// tail is the score at rank (1 = greatest, the query itself excluded) of a
// sample sorted in descending order; ranks below 2 are extrapolated by an
// exponential tail through ranks 2 and 8.
func tail(sorted []float64, rank float64) float64 {
	n := len(sorted)
	if rank >= 2 || n < 10 {
		return sorted[min(int(math.Round(max(rank, 1))), n-1)]
	}
	a, b := sorted[2], sorted[8]
	return a + (a-b)/math.Log(4)*math.Log(2/max(rank, 1e-9))
}

// typical are the terms of a level for a rest of norm 1, as a Haar rotation makes
// them on average: nothing of this rotation's codes.
type typical struct {
	width                        int
	scale, radius, xnorm, beyond float64
}

func (c *Collection) typical(width int) typical {
	d := float64(c.D)
	// int8 steps of the greatest of D coordinates, rounded evenly
	err2 := 2 * math.Log(d) / (127 * 127) / 12
	if width == c.D {
		return typical{width: width, scale: 1, xnorm: 1, beyond: math.Sqrt(err2)}
	}
	share := float64(width) / d
	t := bandit.Linear(bandit.Moments{A: share, X2: share * (1 + err2), O2: 1}, c.Kappa)
	return typical{width: width, scale: t.Scale, radius: t.Radius, xnorm: math.Sqrt(share) * t.Scale}
}

// rest is the norm of atom i's rest, from its norm and its head.
func (c *Collection) rest(i int) float64 {
	n, h := float64(c.Norm[i]), float64(c.HeadNorm[i])
	return math.Sqrt(max(0, n*n-h*h))
}

// keeps is the probability that the atom's upper bound reaches theta at a level
// of terms t, given its score: bound = score + error + radius, with the error of
// scale |q||o| sqrt(1-c^2) H/(a|o|) / sqrt(D-2) of the law. c is taken as 0.
func (c *Collection) keeps(i int, t typical, score, theta, reach float64, q *Query) float64 {
	rest := c.rest(i) * q.RestNorm
	x := theta - score - rest*t.xnorm*queryStep - q.HeadNorm*float64(c.HeadErr[i])
	if t.width == c.D {
		if x <= t.beyond*rest {
			return 1
		}
		return 0
	}
	radius := t.radius * rest
	x -= reach * radius
	sigma := radius / math.Sqrt(float64(c.D-2))
	if sigma == 0 {
		if x <= 0 {
			return 1
		}
		return 0
	}
	return .5 * math.Erfc(x/sigma/math.Sqrt2)
}

package collection

import (
	"math"

	"thresher/bandit"
)

const (
	pilotQueries = 32      // queries differ: with 12 the mean share was sometimes off by a factor of 5
	pilotEntries = 1 << 20 // most entries of the queries, unless there are fewQueries
	fewQueries   = 12
	// pilotTogether is the most entries of the queries, in float64, that are multiplied with rows together.
	pilotTogether = 1 << 18
	pilotAtoms    = 2048
	pilotAlpha    = .001 // nominal; the share depends on it weakly
	queryStep     = .005 // relative rounding error of an 8-bit query
	tailSigmas    = 5    // beyond these the law's tails, 3e-7, are ignored
)

// mostPilotKs are the k of the forecast; the planner interpolates.
var mostPilotKs = [...]int{1, 10, 100, 1000}

// pilotKs are the k of the forecast for n atoms. From 100 to 1,000 the share kept depends on the norms
// of the data too much to extrapolate, but of few atoms the best 1,000 are nearly all.
func pilotKs(n int) []int {
	if ks := mostPilotKs[:]; n >= 2*ks[len(ks)-1] {
		return ks
	}
	return mostPilotKs[:len(mostPilotKs)-1]
}

// fits reports whether p has a share for every k and stage.
func (p *Pilot) fits(stages int) bool {
	if p.Early != nil && (p.Early.Early != nil || len(p.Early.Ks) != len(p.Ks) || !p.Early.fits(stages)) {
		return false
	}
	for _, s := range p.Shares {
		if len(s) != stages {
			return false
		}
	}
	for _, s := range p.Candidates {
		if len(s) != stages {
			return false
		}
	}
	if p.Reached != nil && len(p.Reached) != len(p.Ks) {
		return false
	}
	return len(p.Shares) == len(p.Ks) && (p.Candidates == nil || len(p.Candidates) == len(p.Ks)) && p.certainFits(stages)
}

// computePilot forecasts how many arms each look would keep, with sampled atoms as queries. It
// needs no second rotation: by the law of docs/guarantee.md, given the exact score and the
// norms, an estimate is the score plus a Student error, so the share kept is an integral
// over that law, with the average terms of a rotation. It reads none of this rotation's
// codes, so choosing a plan by it costs no alpha.
func (b *builder) computePilot() error {
	c := b.c
	c.Pilot = newPilot(pilotKs(c.N), 2, len(c.Stages)) // by final thresholds, then by early ones
	n := min(c.N, pilotAtoms)
	arms := make([]uint32, n) // internal indexes
	for k, i := range generator(c.Seed, streamPilot).Perm(c.N)[:n] {
		arms[k] = uint32(i)
	}
	queries, scores, thetas, err := b.pilotScores(arms)
	if err != nil {
		return err
	}
	f := c.newForecast(arms)
	for j := range queries {
		if b.ctx.Err() != nil {
			break
		}
		f.addQuery(&c.Pilot, &queries[j], scores[j], c.headProducts(arms, &queries[j]), thetas[j])
		c.addReached(arms, &queries[j], thetas[j])
	}
	for i := range c.Pilot.Shares {
		c.Pilot.Reached[i] /= float64(max(len(queries), 1) * n)
		for j := range c.Pilot.Shares[i] {
			c.Pilot.Shares[i][j] /= float64(max(len(queries), 1) * n)
			c.Pilot.Candidates[i][j] /= float64(max(len(queries), 1) * n)
		}
	}
	c.forecastCertainShares(f, arms, queries, scores, thetas)
	c.Pilot.splitEarly(c.N > EarlyAtoms)
	return nil
}

// newPilot returns a pilot with room for each of ks, so many times.
func newPilot(ks []int, times, stages int) Pilot {
	p := Pilot{Alpha: pilotAlpha}
	for range times {
		for _, k := range ks {
			p.Ks, p.Reached = append(p.Ks, k), append(p.Reached, 0)
			p.Shares, p.Candidates, p.Certain = append(p.Shares, make([]float64, stages)), append(p.Candidates, make([]float64, stages)), append(p.Certain, make([]float64, stages))
		}
	}
	return p
}

// splitEarly divides a pilot of final and then early thresholds. Early ones may be dropped.
func (p *Pilot) splitEarly(keep bool) {
	n := len(p.Ks) / 2
	if keep {
		p.Early = &Pilot{Ks: p.Ks[n:], Alpha: p.Alpha, Shares: p.Shares[n:], Candidates: p.Candidates[n:], Certain: p.Certain[n:]}
	}
	p.Ks, p.Reached, p.Shares, p.Candidates, p.Certain = p.Ks[:n:n], p.Reached[:n:n], p.Shares[:n:n], p.Candidates[:n:n], p.Certain[:n:n]
}

// addReached adds to Pilot.Reached the number of arms that query q would see, given its
// thresholds for each k of the pilot: those of the steps of norms up to the last that has an atom whose score
// could reach it.
func (c *Collection) addReached(arms []uint32, q *Query, thetas []float64) {
	norms, factor := c.Norm, math.Ldexp(1, -q.Exp)
	for k, theta := range thetas {
		reached := 0
		for _, i := range arms {
			best := q.Norm * float64(norms[i]) * NormStep
			if c.Metric.NearFirst() { // of the norms from this step on, that of greatest score
				x := max(q.Norm/factor, float64(norms[i])/NormStep)
				best = q.Norm*x - factor*x*x/2
			}
			if best >= theta {
				reached++
			}
		}
		c.Pilot.Reached[k] += float64(reached)
	}
}

// pilotScores uses the first nonzero arms as queries. It returns their exact scores of all
// arms and, for each of pilotKs, the k-th best score of all atoms, then that of the first
// EarlyAtoms.
func (b *builder) pilotScores(arms []uint32) (queries []Query, scores, thetas [][]float64, err error) {
	c := b.c
	var rows []float32
	var scales []float64
	most := min(pilotQueries, max(fewQueries, pilotEntries/c.Dim))
	var selves []uint32 // rows
	for _, i := range arms[:min(most, len(arms))] {
		if row := c.Order[i]; b.rowNorms[row] > 0 {
			rows, scales, selves = append(rows, c.Row(int(row))...), append(scales, b.workingFactor(row)), append(selves, row)
		}
	}
	queries = make([]Query, len(scales))
	if len(queries) == 0 {
		return nil, nil, nil, nil
	}
	c.PrepareBatch(queries, rows, scales, nil)
	ids := make([]uint32, len(arms))
	for k, i := range arms {
		ids[k] = c.Order[i]
	}
	scores = make([][]float64, len(queries))
	group := max(1, pilotTogether/c.Dim)
	wide := make([][]float64, min(group, len(queries)))
	for j := range wide {
		wide[j] = make([]float64, c.Dim)
	}
	for from := 0; from < len(queries); from += group {
		some := wide[:min(group, len(queries)-from)]
		for j, q := range some {
			b.widenQuery(q, rows[(from+j)*c.Dim:][:c.Dim], math.Ldexp(scales[from+j], -queries[from+j].Exp))
			scores[from+j] = make([]float64, len(arms))
		}
		b.pilotProducts(scores[from:], some, ids)
	}
	if len(arms) < c.N {
		if thetas, err = b.pilotThresholds(rows, queries, selves); err != nil {
			return nil, nil, nil, err
		}
	}
	for j, score := range scores {
		for k, row := range ids {
			score[k] *= b.workingFactor(row)
			if c.Offset != nil {
				score[k] += math.Ldexp(float64(c.Offset[arms[k]]), -queries[j].Exp)
			}
		}
	}
	if len(arms) == c.N {
		for j, score := range scores {
			all, early := newTopScores(c.N), newTopScores(c.N)
			for k, i := range arms {
				if ids[k] == selves[j] {
					continue
				}
				all.addScore(score[k])
				if i < EarlyAtoms {
					early.addScore(score[k])
				}
			}
			thetas = append(thetas, append(all.thetas(), early.thetas()...))
		}
	}
	return queries, scores, thetas, nil
}

// widenQuery sets wide to row, less the centre if there is one, times f, and row to the same in float32.
func (b *builder) widenQuery(wide []float64, row []float32, f float64) {
	centre := b.c.Centre
	for k, v := range row {
		wide[k] = float64(v) * f
		if centre != nil {
			wide[k] = (float64(v) - centre[k]) * f
		}
		row[k] = float32(wide[k])
	}
}

// pilotProducts sets scores[j] to the products of query j with the rows ids, less the centre if there is one.
func (b *builder) pilotProducts(scores, queries [][]float64, ids []uint32) {
	c := b.c
	const rowsAtOnce = 16 // stay in cache from one query to the next
	for lo := 0; lo < len(ids) && b.ctx.Err() == nil; lo += rowsAtOnce {
		hi := min(lo+rowsAtOnce, len(ids))
		for j, q := range queries {
			kernels.Dots(scores[j][lo:hi], c.Rows, c.Dim, ids[lo:hi], q)
		}
	}
	if c.Centre == nil {
		return
	}
	for j, q := range queries {
		shift := dot64(q, c.Centre)
		for k := range scores[j] {
			scores[j][k] -= shift
		}
	}
}

// typical holds the average terms of a stage under a Haar rotation, for a rest of norm 1.
// They depend on nothing in this rotation's codes.
type typical struct {
	radius, xnorm, beyond float64 // beyond is that of the whole row
	slope                 float64 // increase of an estimate for a unit of the rest's score
}

func (c *Collection) typicalTerms(l *Stage) typical {
	d := float64(c.D)
	// Int8 steps of the greatest of D coordinates, with uniform rounding errors.
	err2 := 2 * math.Log(d) / (127 * 127) / 12
	if l.Coding != Int8 {
		xo, xx := codings[l.Coding].expected(d)
		t := bandit.Linear(bandit.Moments{A: xo, X2: xx, O2: 1}, c.Kappa)
		return typical{radius: t.Radius, xnorm: math.Sqrt(xx) * t.Scale, slope: xo * t.Scale}
	}
	if l.Width == c.D {
		return typical{xnorm: 1, beyond: math.Sqrt(err2), slope: 1}
	}
	share := float64(l.Width) / d
	t := bandit.Linear(bandit.Moments{A: share, X2: share * (1 + err2), O2: 1}, c.Kappa)
	return typical{radius: t.Radius, xnorm: math.Sqrt(share) * t.Scale, slope: share * t.Scale}
}

// forecast holds what the pilot needs of its arms.
type forecast struct {
	rest, headErr []float64 // norm of the arm's rest, error of its head's code
	stages        []typical
	reach         float64
	limit         float64 // tailSigmas standard errors, in radii
	sharp         float64 // 1/sqrt(2) over a standard error, in radii
}

func (c *Collection) newForecast(arms []uint32) *forecast {
	sigma := 1 / math.Sqrt(float64(c.D-2)) // of the error, in radii
	f := &forecast{reach: bandit.Reach(pilotAlpha, c.Kappa, c.D), limit: tailSigmas * sigma, sharp: math.Sqrt(.5) / sigma}
	for _, i := range arms {
		n, h := float64(c.Norm[i]), float64(c.HeadNorm[i])
		f.rest = append(f.rest, math.Sqrt(max(0, n*n-h*h)))
		f.headErr = append(f.headErr, float64(c.HeadErr[i]))
	}
	for _, l := range c.Stages {
		f.stages = append(f.stages, c.typicalTerms(&l))
	}
	return f
}

// addQuery adds to the shares of p the number of arms that query q would keep, and of candidates,
// given the arms' scores, the heads' parts of these, and the thresholds for each k of the pilot.
func (f *forecast) addQuery(p *Pilot, q *Query, scores, heads, thetas []float64) {
	for j := range f.stages {
		t := &f.stages[j]
		for s, score := range scores {
			bound, radius := f.bound(s, t, q)
			for i, theta := range thetas {
				p.Shares[i][j] += f.keepProbability(theta-score-bound, radius)
				p.Candidates[i][j] += f.keepProbability(theta-heads[s]-t.slope*(score-heads[s]), radius)
			}
		}
	}
}

// bound returns how far the upper bound of arm s is above its score at a stage of terms t,
// without the estimate's error, and the radius, to which that error is proportional; 0 where
// there is none.
func (f *forecast) bound(s int, t *typical, q *Query) (bound, radius float64) {
	rest := f.rest[s] * q.RestNorm
	radius = t.radius * rest
	return rest*(t.xnorm*queryStep+t.beyond) + q.HeadNorm*f.headErr[s] + f.reach*radius, radius
}

// keepProbability returns the probability that the error raises a bound by at least gap. The law has
// the error scale |q||o| sqrt(1-c^2) H/(a|o|) / sqrt(D-2); c is taken as 0.
func (f *forecast) keepProbability(gap, radius float64) float64 {
	switch limit := f.limit * radius; {
	case gap <= -limit:
		return 1
	case gap >= limit:
		return 0
	}
	return .5 * math.Erfc(gap/radius*f.sharp)
}

func dot64(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}

package collection

import (
	"context"
	"math"
	"slices"
	"sync"

	"thresher/bandit"
)

const (
	pilotQueries = 32      // queries differ: with 12 the mean share was sometimes off by a factor of 5
	pilotEntries = 1 << 20 // most entries of the queries, unless there are fewQueries
	fewQueries   = 12
	pilotAtoms   = 2048
	pilotAlpha   = .001 // nominal; the share depends on it weakly
	queryStep    = .005 // relative rounding error of an 8-bit query
	// equalScores is the distance of two scores, as a share of the norms' product, within which they count as equal.
	// Of the arms whose score equals a threshold a backend scores up to about 3 k and equalScored early.
	equalScores, equalScored = 0x1p-20, 16
	// Of fewer atoms with no more entries in all, the forecast is made when it is needed.
	laterAtoms, laterEntries = 5000, 5000 << 10
)

// maxPilotKs are the k of the forecast; the planner interpolates.
var maxPilotKs = [...]int{1, 10, 100, 1000}

// pilotKs are the k of the forecast for n atoms. From 100 to 1,000 the share kept depends on the norms
// of the data too much to extrapolate, but of few atoms the best 1,000 are nearly all.
func pilotKs(n int) []int {
	if ks := maxPilotKs[:]; n >= 2*ks[len(ks)-1] {
		return ks
	}
	return maxPilotKs[:len(maxPilotKs)-1]
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

// computePilot makes the forecast, or leaves it to the first call of Forecast.
func (b *builder) computePilot() error {
	if b.forecastsLater() {
		later := &builder{c: b.c, ctx: context.Background(), threads: b.threads, rowNorms: b.rowNorms}
		b.c.forecast = sync.OnceValue(func() *Pilot {
			p, _ := later.makePilot() // fails only if its context ends
			return p
		})
		return nil
	}
	p, err := b.makePilot()
	b.c.setForecast(p)
	return err
}

// forecastsLater reports whether the forecast waits until it is needed: of few rows it takes longer than
// the rest of a build, and a request without choice needs none. A file has its forecast.
func (b *builder) forecastsLater() bool {
	return b.inMemory && b.c.N < laterAtoms && b.c.N*b.c.Dim <= laterEntries
}

// setForecast makes p the forecast.
func (c *Collection) setForecast(p *Pilot) { c.forecast = func() *Pilot { return p } }

// Forecast returns the forecast by which plans are chosen. Of fewer than 5,000 rows that Build was given the
// first call makes it, in a few ms, and concurrent calls wait for it. It depends on the rows and the options of the
// build alone. It has no Ks without codes, and of files that have none. Forecast must not be called after Close, and the
// result must not be changed.
func (c *Collection) Forecast() *Pilot {
	if c.forecast == nil {
		return &Pilot{}
	}
	return c.forecast()
}

// makePilot forecasts how many arms each look would keep, with sampled atoms as queries. It
// needs no second rotation: by the law of docs/guarantee.md, given the exact score and the
// norms, an estimate is the score plus a Student error, so the share kept is an integral
// over that law, with the average terms of a rotation. It reads none of this rotation's
// codes of rests, so choosing a plan by it costs no alpha.
func (b *builder) makePilot() (*Pilot, error) {
	c := b.c
	times := 1 // by final thresholds
	if c.N > EarlyAtoms {
		times = 2 // and by early ones
	}
	p := newPilot(pilotKs(c.N), times, len(c.Stages))
	arms := b.pilotArms()
	pass := b.pass // over the rows as they were coded
	if pass == nil {
		pass = b.newPilotPass(arms)
		if err := pass.run(); err != nil {
			return nil, err
		}
	}
	queries, scores, thetas := pass.queries, pass.scores, pass.thetas()
	if b.file != nil {
		b.file.fetchAtoms(arms)
	}
	f := c.newForecast(arms)
	parts := make([]*Pilot, len(queries))
	err := b.each(len(queries), 1, func(_, j, _ int) error {
		heads := c.headProducts(arms, &queries[j])
		parts[j] = newPilot(pilotKs(c.N), times, len(c.Stages))
		f.addQuery(parts[j], &queries[j], scores[j], heads, thetas[j])
		c.addReached(parts[j], arms, &queries[j], thetas[j])
		c.addCertain(parts[j], f, &queries[j], scores[j], heads, thetas[j])
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, part := range parts { // in order, whatever the threads
		p.add(part)
	}
	pairs := float64(max(len(queries), 1) * len(arms))
	for i := range p.Ks {
		p.Reached[i] /= pairs
		for j := range c.Stages {
			p.Shares[i][j] /= pairs
			p.Candidates[i][j] /= pairs
			p.Certain[i][j] /= pairs
		}
		last := len(c.Stages) - 1 // whole rows, whose bound is certain
		p.Certain[i][last] = p.Shares[i][last]
	}
	if times > 1 {
		p.splitEarly()
	}
	return p, nil
}

// newPilot returns a pilot with room for each of ks, so many times.
func newPilot(ks []int, times, stages int) *Pilot {
	p := &Pilot{Alpha: pilotAlpha}
	for range times {
		for _, k := range ks {
			p.Ks, p.Reached = append(p.Ks, k), append(p.Reached, 0)
			p.Shares, p.Candidates, p.Certain = append(p.Shares, make([]float64, stages)), append(p.Candidates, make([]float64, stages)), append(p.Certain, make([]float64, stages))
		}
	}
	return p
}

// add adds the shares of q, which has those of one query, to p.
func (p *Pilot) add(q *Pilot) {
	for i := range p.Ks {
		p.Reached[i] += q.Reached[i]
		for j := range p.Shares[i] {
			p.Shares[i][j] += q.Shares[i][j]
			p.Candidates[i][j] += q.Candidates[i][j]
			p.Certain[i][j] += q.Certain[i][j]
		}
	}
}

// splitEarly divides a pilot of final and then early thresholds.
func (p *Pilot) splitEarly() {
	n := len(p.Ks) / 2
	p.Early = &Pilot{Ks: p.Ks[n:], Alpha: p.Alpha, Shares: p.Shares[n:], Candidates: p.Candidates[n:], Certain: p.Certain[n:]}
	p.Ks, p.Reached, p.Shares, p.Candidates, p.Certain = p.Ks[:n:n], p.Reached[:n:n], p.Shares[:n:n], p.Candidates[:n:n], p.Certain[:n:n]
}

// addReached adds to Reached the number of arms that query q would see, given its
// thresholds for each k of the pilot: those of the steps of norms up to the last that has an atom whose score
// could reach it.
func (c *Collection) addReached(p *Pilot, arms []uint32, q *Query, thetas []float64) {
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
		p.Reached[k] += float64(reached)
	}
}

// pilotArms are the arms of the pilot, internal indexes.
func (b *builder) pilotArms() []uint32 {
	return sampledRows(b.c.Seed, streamPilot, b.c.N, min(b.c.N, pilotAtoms))
}

// chooseQueries makes the first nonzero arms the queries, and returns their rows and the factors to their working units.
func (p *pilotPass) chooseQueries(arms []uint32) (rows []float32, scales []float64) {
	b, c := p.b, p.b.c
	most := min(pilotQueries, max(fewQueries, pilotEntries/c.Dim))
	for _, i := range arms[:min(most, len(arms))] {
		if row := c.Order[i]; b.rowNorms[row] > 0 {
			rows, scales, p.selves = append(rows, c.Row(int(row))...), append(scales, b.workingFactor(row)), append(p.selves, row)
		}
	}
	p.queries = make([]Query, len(scales))
	return rows, scales
}

// toWorking multiplies row, less the centre if there is one, by f.
func (c *Collection) toWorking(row []float32, f float64) {
	for k, v := range row {
		w := float64(v)
		if c.Centre != nil {
			w -= c.Centre[k]
		}
		row[k] = float32(w * f)
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
	part                float64   // arms as a share of the atoms
	norm, rest, headErr []float64 // norms of the arm and of its rest, error of its head's code
	stages              []typical
	reach               float64
	sharp               float64 // 1 over a standard error, in radii
	tail                *normalTail
}

func (c *Collection) newForecast(arms []uint32) *forecast {
	f := &forecast{part: float64(len(arms)) / float64(c.N), reach: bandit.Reach(pilotAlpha, c.Kappa, c.D), sharp: math.Sqrt(float64(c.D - 2)), tail: newNormalTail()}
	for _, i := range arms {
		n, h := float64(c.Norm[i]), float64(c.HeadNorm[i])
		f.norm, f.rest = append(f.norm, n), append(f.rest, math.Sqrt(max(0, n*n-h*h)))
		f.headErr = append(f.headErr, float64(c.HeadErr[i]))
	}
	for _, l := range c.Stages {
		f.stages = append(f.stages, c.typicalTerms(&l))
	}
	return f
}

// addQuery adds to the shares of p the number of arms that query q would keep, and of candidates,
// given the arms' scores, the heads' parts of these, and the thresholds for each k of the pilot. Of arms whose
// scores equal the threshold few are candidates. The
// law has an error of |q||o| sqrt(1-c^2) H/(a|o|) / sqrt(D-2) in a bound; c is taken as 0.
func (f *forecast) addQuery(p *Pilot, q *Query, scores, heads, thetas []float64) {
	least := slices.Min(thetas)
	counts := make([]float64, 3*len(thetas))
	kept, candidates, equal := counts[:len(thetas)], counts[len(thetas):2*len(thetas)], counts[2*len(thetas):]
	for j := range f.stages {
		t := &f.stages[j]
		clear(counts)
		for s, score := range scores {
			bound, radius := f.bound(s, t, q)
			upper, estimate := score+bound, heads[s]+t.slope*(score-heads[s])
			sharp := f.sharp / radius // +Inf without an error
			if (least-max(upper, estimate))*sharp >= tailSigmas {
				continue
			}
			near := equalScores * q.Norm * f.norm[s]
			for i, theta := range thetas {
				kept[i] += f.tail.at((theta - upper) * sharp)
				if candidate := f.tail.at((theta - estimate) * sharp); math.Abs(score-theta) > near {
					candidates[i] += candidate
				} else {
					equal[i] += candidate
				}
			}
		}
		for i := range thetas {
			p.Shares[i][j] += kept[i]
			p.Candidates[i][j] += candidates[i] + min(equal[i], float64(3*p.Ks[i]+equalScored)*f.part)
		}
	}
}

// countReached adds 1 to the counts of the thresholds that score reaches.
func countReached(counts, thetas []float64, score float64) {
	for i, theta := range thetas {
		if score >= theta {
			counts[i]++
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

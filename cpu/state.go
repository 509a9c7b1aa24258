package cpu

import (
	"context"
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// arm is a survivor whose whole row of codes was read: an atom by internal index and an
// upper bound that cannot fail, in the query's scaled units.
type arm struct {
	bound float64
	i     uint32
}

// state is one query under elimination. Scores inside are multiplied by 2^-exp, and
// bounds and thresholds have the product form (score.go). Answers hold search scores
// without that factor.
type state struct {
	run     *run // the run that it belongs to
	c       *collection.Collection
	kern    simd.Kernels
	goal    backend.Goal
	exp     int
	perUnit float64   // 2^-exp
	q       []float64 // the query as given times a power of two (1 for squared differences), which keeps it exact
	unit    float64   // factor from q to the query of the bounds: scaling, and normalisation if the metric asks for it
	toScore float64   // factor from scores of q to scores times 2^-exp
	qq      float64   // |q|^2, a canonical sum
	scale   float64   // 1/|q| for cosine, else 1
	prep    collection.Query

	epsilon        float64
	floor, ceiling float64
	conversion     looks.Conversion // between search scores and bounds
	best           top
	lower          topFloats // the k greatest lower bounds, if they set the threshold
	own            ownBounds
	tau            float64 // the threshold; it never falls
	pruned         bool    // list and finalists hold only arms that reach prunedAt
	prunedAt       float64 // the threshold at which they were pruned

	hidden      []uint32 // atoms that looks and dense scans pass over, ascending: excluded or given as candidates
	merged      []uint32 // memory of hidden
	given       []uint32 // the candidates that the goal names, in the order in which they are scored
	sample      int      // the first of these, by which a look decides about the others; 0: there is no such sample
	givenScored int      // given candidates that are scored
	hiddenRows  []uint32 // the numbers of the rows of hidden, ascending, for dense scans
	bestGiven   []scored // the best of the given candidates, once all are scored

	rows           rowCodes
	fullWidthTerms *looks.Compiled // of the deterministic look at whole rows
	fullWidth      looks.Bound     // of that look, set once rows is ready
	phase          phase
	nextPanel      int          // first panel not scanned
	list           survivors    // arms kept by a look at part of their coordinates
	finalists      []arm        // arms whose whole row was read, to be scored exactly
	pass           *float32Pass // the arms of float32 looks, instead of list and finalists
	partialDense   []scored     // found by dense scans that a context stopped
	scanned        survivors    // memory of the rows that a dense scan scores at its end

	stoppedScan    *scanState    // a first look that a context stopped and that can be resumed
	stoppedRevisit *revisitState // the same of a later look
	lastRevisit    backend.Look  // the last later look that was completed

	random          bool // an arm was dropped by a bound that can fail
	rowsIfAllScored int  // rowsRead at the end if every arm left before the first such bound is scored; 0: no such bound yet
	reports         []backend.LookReport
	pulls, bytes    int64
	rowsRead        int
	dots            dotError // of a dense scan
	grain           float64  // with dots noError: what the query's products with rows are multiples of
	denseScored     int      // rows that dense scans have scored in float64
}

// phase is the progress of a query through a run. It only increases.
type phase uint8

const (
	unscanned phase = iota // no look has seen the atoms from nextPanel on
	listed                 // every atom was seen: list, finalists or pass hold all arms that are left
	crowded                // the first look kept more than MaxSurvivors or met more than MaxBetter, and ended early: the dense path must answer
	answered               // best is the answer of the dense path
	hasLeft                // the answer was taken before the run's end
)

// prepareQueries prepares queries lo to hi-1 of a batch, but for what only looks read.
func (x *run) prepareQueries(q backend.Queries, goals []backend.Goal, lo, hi int) {
	c := x.c
	for j := lo; j < hi; j++ {
		squares := x.r.kernels.SumSquares(q.Row(j))
		norm := math.Sqrt(squares)
		if c.Centre != nil {
			norm = c.WorkingNorm(q.Row(j))
		}
		scale := c.Metric.Factor(norm)
		prep := collection.Query{Exp: c.Metric.Exponent(norm * scale)}
		prep.Norm = math.Ldexp(norm*scale, -prep.Exp) * collection.Up
		x.states[j].prepareQuery(x, q.Row(j), &goals[j], prep, squares, scale, norm, x.scaled[j*c.Dim:(j+1)*c.Dim])
	}
}

// prepareLooks prepares what only looks read of the queries, their heads and rests, unless it is
// prepared. A dense scan needs neither, and they take longer than its scores of few atoms.
func (x *run) prepareLooks(ctx context.Context) error {
	c := x.c
	if x.looksReady || !c.Coded() {
		return nil
	}
	fullWidth, err := x.r.compile(backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy})
	if err != nil {
		return err
	}
	x.heads, x.rests = grow(x.heads, x.queries.M*c.R), grow(x.rests, x.queries.M*c.D)
	err = x.r.eachFewQueries(ctx, x.queries.M, func(w *scratch, lo, hi int) error {
		n := hi - lo
		w.scales, w.queries = grow(w.scales, n), grow(w.queries, n)
		for slot := range w.queries {
			s, j := &x.states[lo+slot], lo+slot
			w.scales[slot], w.queries[slot] = s.scale, collection.Query{
				Head: x.heads[j*c.R : (j+1)*c.R : (j+1)*c.R], Rest: x.rests[j*c.D : (j+1)*c.D : (j+1)*c.D]}
		}
		c.PrepareBatch(w.queries, x.queries.Data[lo*c.Dim:hi*c.Dim], w.scales, &w.prepare)
		for slot := range w.queries {
			s := &x.states[lo+slot]
			s.prep, s.fullWidthTerms = w.queries[slot], fullWidth
		}
		return nil
	})
	x.looksReady = err == nil
	return err
}

// prepareQuery resets s for query q of the given squared and working norms. It writes q in float64,
// times a power of two, to scaled, which s retains. scale is 1/|q| for cosine, else 1.
func (s *state) prepareQuery(x *run, q []float32, g *backend.Goal, prep collection.Query, squares, scale, norm float64, scaled []float64) {
	exp := prep.Exp
	// Slices of an earlier batch are reused.
	best, lower, rows, list, finalists := s.best, s.lower, s.rows, s.list, s.finalists
	scanned, merged, given, hiddenRows, bestGiven := s.scanned, s.merged, s.given, s.hiddenRows, s.bestGiven
	own := s.own
	*s = state{}
	s.run, s.c, s.kern, s.goal, s.exp, s.q, s.scale, s.prep = x, x.c, x.r.kernels, *g, exp, scaled, scale, prep
	s.perUnit = math.Ldexp(1, -exp)
	s.best, s.lower, s.own, s.rows.codes, s.rows.stageBiases = best, lower, own, rows.codes, rows.stageBiases
	s.list, s.finalists = survivors{ids: list.ids[:0], bounds: list.bounds[:0]}, finalists[:0]
	s.scanned, s.merged, s.given, s.hiddenRows, s.bestGiven, s.nextPanel = scanned, merged[:0], given, hiddenRows[:0], bestGiven[:0], g.From/panelAtoms
	s.orderGiven()
	s.hideAtoms()
	s.best.reset(g.K)
	s.lower.reset(g.K)
	s.own.reset()
	s.qq = squares
	power := 0 // squared differences are taken from the query as given
	if !s.c.Metric.Differences() {
		_, power = math.Frexp(math.Sqrt(s.qq))
	}
	s.unit, s.toScore = math.Ldexp(scale, power-exp), math.Ldexp(1, power-exp)
	if s.c.Metric.Normalises() { // such scores do not depend on power
		s.toScore = math.Ldexp(1, -exp)
	}
	f := math.Ldexp(1, -power)
	s.qq *= f * f
	s.kern.Widen(scaled, q, f)
	s.conversion = looks.NewConversion(s.c, norm, s.exp)
	s.epsilon = math.Ldexp(g.Epsilon, -exp)
	s.floor, s.ceiling = math.Ldexp(g.Floor, -exp), math.Ldexp(g.Ceiling, -exp)
	if math.Ldexp(s.ceiling, exp) > g.Ceiling { // a subnormal number was rounded up
		s.ceiling = math.Nextafter(s.ceiling, math.Inf(-1))
	}
	s.tau = s.conversion.Threshold(s.floor)
}

// scoreAtom scores atom i exactly and adds it to the answers.
func (s *state) scoreAtom(i int) {
	row := s.c.Order[i]
	s.countRows(1)
	s.addScored(scored{s.searchScore(row), row})
}

// countRows counts n whole float32 rows as read.
func (s *state) countRows(n int) {
	s.rowsRead += n
	s.pulls += int64(n) * int64(s.c.Dim)
	s.bytes += 4 * int64(n) * int64(s.c.Dim)
}

// offset returns atom i's scaled offset, which is an upper bound of the true one.
func (s *state) offset(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	return float64(s.c.Offset[i]) * s.perUnit
}

// offsetWidth returns an upper bound of how far the true offset of atom i lies below
// offset(i).
func (s *state) offsetWidth(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	return looks.OffsetWidth(s.c.Norm[i], s.c.Offset[i]) * s.perUnit
}

// scoreCapFrom returns an upper bound, by the norms, of the scores of all atoms from
// panel p on that the goal's From allows. The collection must be coded.
func (s *state) scoreCapFrom(p int) float64 {
	return looks.CapFrom(s.c, s.prep.Norm, s.perUnit, max(p, s.goal.From/panelAtoms))
}

// least32 returns the threshold in float32: bounds in lists that are below it are dropped.
// looks.Slop includes the rounding of threshold and bounds.
func (s *state) least32() float32 { return float32(s.tau) }

// addReport adds a look to the certificate: how many atoms it has seen, how many more
// it read that the filter does not allow, and how many it kept.
func (s *state) addReport(l backend.Look, seen, disallowed, kept int) {
	s.reports = append(s.reports, backend.LookReport{Look: l, Seen: seen, Disallowed: disallowed, Survivors: kept})
}

// countCodes counts width codes of each of n atoms as read, and three float32 terms.
func (s *state) countCodes(width, n int) {
	s.pulls += int64(width) * int64(n)
	s.bytes += int64(width+12) * int64(n)
}

// noteRandomBound records that arms were given bounds that can fail while left of them
// were not scored. A later threshold may drop one by such a bound, unless all are scored.
func (s *state) noteRandomBound(left int) {
	if s.rowsIfAllScored == 0 {
		s.rowsIfAllScored = s.rowsRead + left
	}
}

// noteUnlisted records that n rows were read that score no listed arm.
func (s *state) noteUnlisted(n int) {
	if s.rowsIfAllScored > 0 {
		s.rowsIfAllScored += n
	}
}

// noteRandomDrop records that an arm was dropped by a bound that can fail.
func (s *state) noteRandomDrop() { s.random = true }

// countCoordinates counts width float32 coordinates of each of n atoms as read.
func (s *state) countCoordinates(width, n int) {
	s.pulls += int64(n) * int64(width)
	s.bytes += 4 * int64(n) * int64(width)
}

// scoreCounted scores atom i, all of whose coordinates are counted as read, exactly and adds it to the answers.
func (s *state) scoreCounted(i int) {
	row := s.c.Order[i]
	s.rowsRead++
	s.addScored(scored{s.searchScore(row), row})
}

// beginAnswer drops the answers found so far but for the given candidates, before those of a scan of all allowed
// atoms are pushed to best.
func (s *state) beginAnswer() {
	s.best.reset(s.goal.K)
	for _, a := range s.bestGiven {
		s.best.push(a)
	}
}

// endAnswer ends the query's search: best holds its answer.
func (s *state) endAnswer() {
	s.raiseToBest()
	s.phase, s.random, s.rowsIfAllScored = answered, false, 0
	s.list.truncate(0)
	s.finalists = s.finalists[:0]
}

// leave excludes the query, whose answer was taken, from all later steps.
func (s *state) leave() {
	s.phase = hasLeft
	s.list.truncate(0)
	s.finalists = s.finalists[:0]
}

// pruneArms drops listed arms and finalists whose bound does not reach the threshold.
func (s *state) pruneArms() {
	s.list.truncate(s.kern.Select(s.list.ids, s.list.bounds, s.list.ids, s.list.bounds, s.least32(), float32(math.Inf(1))))
	kept := s.finalists[:0]
	for _, a := range s.finalists {
		if a.bound >= s.tau {
			kept = append(kept, a)
		}
	}
	s.finalists = kept
	s.pruned, s.prunedAt = true, s.tau
}

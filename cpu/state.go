package cpu

import (
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// arm is a survivor whose whole coded row was read: an atom by internal index
// and a bound that cannot fail, in the query's scaled units.
type arm struct {
	bound float64
	i     uint32
}

// state is one query under elimination. Scores inside are scaled by 2^-exp, and
// bounds and thresholds are of the product form (score.go); they leave it unscaled, as
// search scores.
type state struct {
	c       *collection.Collection
	k       simd.Kernels
	goal    backend.Goal
	exp     int
	q       []float64 // as given, times a power of two, 1 for squared differences: products with rows are exact
	unit    float64   // what makes q the query that is compared: scaled, and normalised if the metric does
	toScore float64   // what makes scores of q scores times 2^-exp
	qq      float64   // |q|^2, a canonical sum
	prep    collection.Query

	epsilon, floor float64
	scale          looks.Conversion // from search scores to bounds
	best           top
	lower          lowest // deterministic lower bounds, when they raise
	tau            float64

	rows        rowCodes
	wholeTerms  *looks.Compiled // of deterministic looks at whole rows
	whole       looks.Bound     // by them, once rows are ready
	list        survivors       // arms that a look on part of their coordinates kept
	finalists   []arm           // arms whose whole row was read, to be scored exactly
	phase       phase
	next        int      // first panel not scanned
	random      bool     // an arm was dropped by a bound that can fail
	owed        int      // rows to be scored if no arm is dropped by a random bound
	spare       []scored // of dense scans that were stopped
	looks       []backend.LookReport
	pulls       int64
	bytes       int64
	rowsRead    int
	denseScored int   // rows that dense scans have scored in float64
	slab        *slab // float32 looks

	scan  *scanning    // a first look that a context stopped
	again *revisiting  // a later one
	taken backend.Look // the last later look that came to its end
}

// phase is how far a query has come. It only grows.
type phase uint8

const (
	unseen   phase = iota // no look has seen the atoms from panel next on
	listed                // every atom was seen: list, finalists or slab hold all that may be an answer
	crowded               // its first look ended early, for it kept more than its share; the dense path is to answer
	answered              // best is the answer of the dense path
	gone                  // it has left the run
)

// begin readies queries lo..hi-1 of a batch.
func (x *run) begin(w *scratch, q backend.Queries, goals []backend.Goal, lo, hi int) {
	c, n := x.c, hi-lo
	w.scales, w.norms, w.queries = grow(w.scales, n), grow(w.norms, n), grow(w.queries, n)
	for k := range w.queries {
		j := lo + k
		norm := math.Sqrt(x.r.kernels.SumSquares(q.Row(j)))
		if c.Centre != nil {
			norm = c.WorkingNorm(q.Row(j))
		}
		w.scales[k], w.norms[k] = c.Metric.Factor(norm), norm
		// of a coded collection, PrepareBatch decides: both must scale alike
		w.queries[k] = collection.Query{Exp: c.Metric.Exponent(norm * w.scales[k])}
		if c.Coded() {
			w.queries[k].Head, w.queries[k].Rest = x.heads[j*c.R:(j+1)*c.R:(j+1)*c.R], x.rests[j*c.D:(j+1)*c.D:(j+1)*c.D]
		}
	}
	if c.Coded() {
		c.PrepareBatch(w.queries, q.Data[lo*c.Dim:hi*c.Dim], w.scales, &w.prepare)
	}
	for k := range w.queries {
		j := lo + k
		x.states[j].begin(x, q.Row(j), goals[j], w.queries[k], w.scales[k], w.norms[k], x.scaled[j*c.Dim:(j+1)*c.Dim])
	}
}

// begin makes query q of working norm norm ready; scaled becomes the query in
// float64, times a power of two.
func (s *state) begin(x *run, q []float32, g backend.Goal, prep collection.Query, scale, norm float64, scaled []float64) {
	exp := prep.Exp
	// slices of an earlier batch give their memory
	*s = state{c: x.c, k: x.r.kernels, wholeTerms: x.whole, goal: g, exp: exp, q: scaled, prep: prep,
		best: top{k: g.K, heap: s.best.heap[:0]}, lower: lowest{k: g.K, heap: s.lower.heap[:0]},
		rows: rowCodes{codes: s.rows.codes, stages: s.rows.stages},
		list: survivors{ids: s.list.ids[:0], bounds: s.list.bounds[:0]}, finalists: s.finalists[:0]}
	s.qq = x.r.kernels.SumSquares(q)
	power := 0 // differences are of the query as given
	if !s.c.Metric.Differences() {
		_, power = math.Frexp(math.Sqrt(s.qq))
	}
	s.unit, s.toScore = math.Ldexp(scale, power-exp), math.Ldexp(1, power-exp)
	if s.c.Metric.Normalises() { // a score does not depend on power
		s.toScore = math.Ldexp(1, -exp)
	}
	f := math.Ldexp(1, -power)
	s.qq *= f * f
	for j, v := range q {
		scaled[j] = float64(v) * f
	}
	s.scale = looks.NewConversion(s.c, norm, s.exp)
	s.epsilon = math.Ldexp(g.Epsilon, -exp)
	s.floor = math.Ldexp(g.Floor, -exp)
	s.tau = s.scale.Threshold(s.floor)
}

// score takes the exact score of atom i into the answers and lifts tau.
func (s *state) score(i int) {
	row := s.c.Order[i]
	s.readRows(1)
	s.take(scored{s.exact(row), row})
}

// readRows counts n rows read whole.
func (s *state) readRows(n int) {
	s.rowsRead += n
	s.pulls += int64(n) * int64(s.c.Dim)
	s.bytes += 4 * int64(n) * int64(s.c.Dim)
}

// offset is atom i's offset, scaled; an upper bound of the true one.
func (s *state) offset(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	return math.Ldexp(float64(s.c.Offset[i]), -s.exp)
}

// offsetWidth bounds how far the true offset of atom i lies below offset: that
// rounds away what is too small for float32.
func (s *state) offsetWidth(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	n := float64(s.c.Norm[i])
	return max(0, s.offset(i)+math.Ldexp(n*n/2, -s.exp)*collection.Up)
}

// cap bounds the scores of all atoms from panel p on: NormCaps covers their
// norms, and offsets are never positive.
func (s *state) cap(p int) float64 {
	return looks.Cap(s.c, s.prep.Norm, p)
}

// least32 is the least float32 a list's bound may have and still reach the
// threshold; the roundings of both are in looks.Slop.
func (s *state) least32() float32 { return float32(s.tau) }

// report notes what a look did.
func (s *state) report(l backend.Look, seen, beside, kept int) {
	s.looks = append(s.looks, backend.LookReport{Look: l, Seen: seen, Disallowed: beside, Survivors: kept})
}

// account counts a look of width codes at n atoms; each also reads three
// float32 terms.
func (s *state) account(width, n int) {
	s.pulls += int64(width) * int64(n)
	s.bytes += int64(width+12) * int64(n)
}

// owe notes that from here on an arm can be dropped by a bound that can fail,
// unless every one left now is scored.
func (s *state) owe() {
	if s.owed == 0 {
		s.owed = s.rowsRead + len(s.list.ids) + len(s.finalists)
	}
}

// prune drops listed arms whose bound no longer reaches the threshold.
func (s *state) prune() {
	s.list.cut(s.k.Select(s.list.ids, s.list.bounds, s.list.ids, s.list.bounds, s.least32(), float32(math.Inf(1))))
	kept := s.finalists[:0]
	for _, a := range s.finalists {
		if a.bound >= s.tau {
			kept = append(kept, a)
		}
	}
	s.finalists = kept
}

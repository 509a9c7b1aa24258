package batch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// work is a checked request with its plan and goals.
type work struct {
	e        *Engine
	req      *Request
	within   Within
	numbers  []int // of the queries in the caller's request; nil if these are all
	m        int
	k        int  // atoms wanted, at most c.N; 0: all that reach MinScore
	allowed  int  // atoms that the filter allows
	arms     int  // allowed, rounded for the planner
	panels   int  // panels with an allowed atom, rounded for the planner
	keeps    bool // the filter keeps what first looks gather
	noSigns  bool // there is no memory for the panels of signs that the cheapest plan reads
	delta    float64
	strategy *strategy
	goals    []backend.Goal
	norms    []float64 // |q|
	given    []int     // candidates of each query that it may return; nil if no query has any
	warnings []string
	staged   backend.Staged // a copy of all queries by the resident; nil if there is none
}

func (w *work) query(j int) []float32 {
	d := w.e.c.Dim
	return w.req.Queries[j*d : (j+1)*d : (j+1)*d]
}

// queries returns queries lo..hi-1, with what is staged of them.
func (w *work) queries(lo, hi int) backend.Queries {
	d := w.e.c.Dim
	q := backend.Queries{M: hi - lo, Dim: d, Data: w.req.Queries[lo*d : hi*d]}
	if w.e.c.Float64() {
		q.Given = w.req.Queries64[lo*d : hi*d]
	}
	if q.M == w.m {
		q.Staged = w.staged
	}
	return q
}

// release frees what is staged of the queries, unless a run has used it up.
func (w *work) release() {
	if w.staged != nil {
		w.staged.Release()
	}
}

// newWork checks req, whose queries have these numbers in the caller's (nil: they are all of
// them), and plans it. Every error is a *RequestError.
func (e *Engine) newWork(req *Request, numbers []int) (*work, error) {
	return e.newStagedWork(req, numbers, nil, Within{})
}

// newStagedWork is newWork of a part of a set, and has s, if it is not nil, stage the queries while it checks them. The caller
// must release the work.
func (e *Engine) newStagedWork(req *Request, numbers []int, s backend.Stager, part Within) (*work, error) {
	c := e.c
	bad := func(field string, query int, err error) error {
		return &RequestError{Field: field, Query: query, Err: err}
	}
	if len(req.Queries) == 0 {
		return nil, bad("queries", -1, errors.New("none given"))
	}
	if len(req.Queries)%c.Dim != 0 {
		return nil, bad("queries", -1, fmt.Errorf("%d values are no rows of the collection's %d dimensions", len(req.Queries), c.Dim))
	}
	w := &work{e: e, req: req, within: part, numbers: numbers, m: len(req.Queries) / c.Dim, delta: req.Delta}
	if w.delta == 0 {
		w.delta = .01
	}
	if !(w.delta > 0 && w.delta < 1) {
		return nil, bad("delta", -1, fmt.Errorf("%g is not inside (0, 1)", req.Delta))
	}
	if !(req.Epsilon >= 0) || math.IsInf(req.Epsilon, 0) {
		return nil, bad("epsilon", -1, fmt.Errorf("%g is not a finite number from 0 on", req.Epsilon))
	}
	if err := w.checkGoals(); err != nil {
		return nil, err
	}
	if err := w.checkFloors(); err != nil {
		return nil, err
	}
	if req.MinScore != nil && !finite(*req.MinScore) {
		return nil, bad("min_score", -1, fmt.Errorf("%g is not finite", *req.MinScore))
	}
	if req.MaxScore != nil && !finite(*req.MaxScore) {
		return nil, bad("max_score", -1, fmt.Errorf("%g is not finite", *req.MaxScore))
	}
	if err := w.checkLimits(); err != nil {
		return nil, err
	}
	if req.LaterOnly && !req.ExcludeSelf {
		return nil, bad("later_only", -1, errors.New("needs exclude_self, which says where each query's own vector is"))
	}
	if req.K < 0 || req.K == 0 && req.MinScore == nil && req.Goals == nil {
		return nil, bad("k", -1, fmt.Errorf("%d, at least 1", req.K))
	}
	if req.Limit < 0 {
		return nil, bad("limit", -1, fmt.Errorf("%d, at least 1, or 0 for none", req.Limit))
	}
	if !(req.Reaching >= 0) || math.IsInf(req.Reaching, 0) {
		return nil, bad("reaching", -1, fmt.Errorf("%g is not a finite number from 0 on", req.Reaching))
	}
	k := req.K
	if k > c.N {
		w.warnings = append(w.warnings, fmt.Sprintf("k %d cut to the %d vectors there are", k, c.N))
		k = c.N
	}
	if err := w.checkSelves(); err != nil {
		return nil, err
	}
	filter, err := e.filter(req, part.Live)
	if err != nil {
		return nil, err
	}
	w.k, w.allowed, w.arms, w.panels = k, c.N, c.N, (c.N+63)/64
	if filter != nil {
		w.keeps = filter.Keeps()
		w.allowed, w.panels = filter.Len(), coarsePart(filter.Filled(), w.panels)
		w.arms = coarsePart(w.allowed, c.N)
	}
	if w.strategy, err = e.strategy(w); err != nil {
		return nil, err
	}
	if req.Plan == "" && !w.signsFit() {
		w.noSigns = true
		if w.strategy, err = e.strategy(w); err != nil {
			return nil, err
		}
	}
	if err := w.checkQueries(s); err != nil { // last: what is staged need not be released here
		return nil, err
	}
	w.setGoals(filter)
	return w, nil
}

// setGoals gives each query its goal; filter is the request's, nil for none.
func (w *work) setGoals(filter *backend.Filter) {
	if filter != nil && w.m > w.maxQueries() { // several runs have it
		filter.Reuse()
	}
	gather := w.strategy.Gather
	if filter != nil && !w.strategy.Dense() { // for queries that a look sends to the dense path
		gather = w.e.planner.Gathers(w.question())
	}
	w.goals = make([]backend.Goal, w.m)
	var selves []uint32
	if w.req.ExcludeSelf {
		selves = make([]uint32, w.m)
	}
	for j := range w.goals {
		g := &w.goals[j]
		g.K, g.Epsilon, g.Floor, g.Ceiling, g.Filter, g.Gather = w.k, w.epsilon(j), w.floor(j), w.ceiling(j), filter, gather
		g.FloorMade = g.K > 0 && w.floorMade(j)
		if w.req.ExcludeSelf {
			selves[j] = w.e.inverse[w.self(j)]
			if w.req.LaterOnly {
				g.From = int(selves[j]) + 1
			} else {
				g.Exclude = selves[j : j+1 : j+1]
			}
		}
		if g.K == 0 {
			g.K = min(w.req.Limit, w.e.c.N)
		}
		w.countAllowed(j)
	}
	w.limitBetter()
	if slices.ContainsFunc(w.req.Goals, func(g QueryGoal) bool { return len(g.Candidates) > 0 }) {
		w.given = make([]int, w.m)
	}
}

// checkedValues is the number of values of queries that a goroutine checks at a time, checkedTogether that
// of a request for which a second goroutine is worth its start: one alone reads fewer as fast, if they are
// in a cache.
const checkedValues, checkedTogether = 1 << 16, 1 << 20

// checkQueries computes the norms, and refuses values that are not finite and scores
// that could overflow float32. If s is not nil, it stages the queries in the same pass.
func (w *work) checkQueries(s backend.Stager) error {
	w.norms = make([]float64, w.m)
	if s != nil && w.m <= w.together(w.m) && w.req.Turns == nil { // otherwise runs are parts of it
		q, err := s.Stage(w.queries(0, w.m), w.checkRange)
		w.staged = q.Staged
		return err
	}
	threads := 1
	if len(w.req.Queries) >= checkedTogether {
		threads = cmp.Or(w.e.threads(), runtime.GOMAXPROCS(0))
	}
	return backend.EachPiece(threads, w.m, max(1, checkedValues/w.e.c.Dim), w.checkRange, nil)
}

// checkRange is checkQueries for queries lo..hi-1.
func (w *work) checkRange(lo, hi int) error {
	c := w.e.c
	for j := lo; j < hi; j++ {
		q := w.query(j)
		n := collection.Norm(q)
		w.norms[j] = n
		if math.IsNaN(n) || math.IsInf(n, 0) {
			for i, v := range q {
				if !finite(float64(v)) {
					return &RequestError{Field: "queries", Query: j, Err: fmt.Errorf("column %d: value %g", i, v)}
				}
			}
		}
		working := n
		if c.Centre != nil {
			working = c.WorkingNorm(q)
		}
		if c.Metric.Greatest(working, w.e.maxNorm) >= math.MaxFloat32/2 {
			return &RequestError{Field: "queries", Query: j, Err: fmt.Errorf("norm %g: scores could overflow float32", n)}
		}
	}
	return nil
}

// gap is Request.Epsilon for query j in score units, with Relative applied.
func (w *work) gap(j int) float64 {
	if !w.req.Relative {
		return w.req.Epsilon
	}
	scale := w.e.longest()
	if !w.e.c.Metric.Normalises() {
		scale *= w.norms[j]
	}
	return w.req.Epsilon * scale
}

// epsilon is gap in search-score units.
func (w *work) epsilon(j int) float64 { return w.e.c.Metric.Gap(w.gap(j)) }

// floor is the least search score that query j wants, by its MinScore and by what is known of other parts; -Inf
// if it wants any.
func (w *work) floor(j int) float64 {
	floor := math.Inf(-1)
	if limit := w.minScore(j); limit != nil {
		floor = w.e.c.Metric.Floor(*limit)
	}
	if floors := w.within.Floors; floors != nil {
		floor = max(floor, floors[w.number(j)])
	}
	return floor
}

// emptyAnswer is the answer to a query that no look has seen: no atoms, and an open bound
// from the norms.
func (w *work) emptyAnswer(j int) backend.Answer {
	best := w.e.c.Metric.Best(w.norms[j], w.e.maxNorm)
	if w.e.c.Float64() && best > 0 { // norms are of what is rounded to float32, by at most 2^-24 and half a subnormal step
		best += best*0x1p-20 + math.Sqrt(float64(w.e.c.Dim))*math.SmallestNonzeroFloat32*(1+w.norms[j]+w.e.maxNorm)
	}
	return backend.Answer{OpenBound: min(best, w.goals[j].Ceiling), Tau: math.Inf(-1)}
}

// answerRoom is memory for what the answers to several queries consist of.
type answerRoom struct {
	scores     []float32
	looks      []LookRecord
	thresholds []float64
}

// newAnswerRoom returns memory for certified answers, made of those of a backend.
func newAnswerRoom(answers backend.Answers) answerRoom {
	scores, looks := 0, 0
	for j := range answers {
		scores += len(answers[j].IDs)
		looks += len(answers[j].Looks)
	}
	return answerRoom{make([]float32, scores), make([]LookRecord, looks), make([]float64, 0, len(answers))}
}

// take takes memory for the answer made of a from the room.
func (r *answerRoom) take(a *backend.Answer) (scores []float32, looks []LookRecord) {
	n, l := len(a.IDs), len(a.Looks)
	scores, looks = r.scores[:n:n], r.looks[:l:l]
	r.scores, r.looks = r.scores[n:], r.looks[l:]
	return scores, looks
}

// commonCertificate is what the certificates of all answers have in common.
func (w *work) commonCertificate() Certificate {
	p := w.strategy
	common := Certificate{Method: p.method, Guarantee: p.guarantee, Law: w.law(), Delta: w.delta, StoppedBy: Done, Plan: w.planName(),
		Predicted: p.predicted(), PredictedCost: p.Cost, VectorsChange: w.e.c.Change.Largest}
	if p.guarantee == GuaranteeExact || p.guarantee == GuaranteeCertain {
		common.Delta = 0
	}
	return common
}

// certify sets out to the answer to query j with its certificate, from a backend's answer, whose ids and
// scores it retains. stop says why the answer ends, if it is incomplete.
func (w *work) certify(out *Answer, j int, a *backend.Answer, common *Certificate, stop Stop, room *answerRoom) {
	c := w.e.c
	out.Certificate = *common
	cert := &out.Certificate
	if w.req.Changes != nil {
		cert.QueryChange = w.req.Changes[j]
	}
	cert.Epsilon, cert.DensePulls = w.gap(j), int64(w.goals[j].Allowed)*int64(c.Dim)
	cert.Exact = !a.Random && a.Complete() && cert.Guarantee != GuaranteeHeuristic
	cert.Pulls, cert.Bytes, cert.RowsScored = a.Pulls, a.Bytes, a.RowsScored
	if finite(a.Tau) {
		room.thresholds = append(room.thresholds, a.Tau)
		cert.Threshold = &room.thresholds[len(room.thresholds)-1]
	}
	if !a.Complete() {
		cert.stop(stop, a)
	}
	if a.Dense && !w.strategy.Dense() {
		cert.Fallback = "exact"
	}
	scores, looks := room.take(a)
	for i := range looks {
		looks[i] = w.record(&a.Looks[i])
	}
	if len(looks) > 0 {
		cert.Looks = looks
	}
	out.Limited = w.k == 0 && w.req.Limit > 0 && len(a.IDs) >= w.req.Limit
	w.recordCandidates(j, cert, a.IDs)
	out.IDs, out.Scores = a.IDs, scores[:len(a.IDs):len(a.IDs)]
	collection.ShowAll(c.Metric, out.Scores, a.Scores)
	if w.req.SearchScores {
		out.SearchScores = a.Scores
	}
}

// stop makes c the certificate of a partial answer. Arms that a look dropped score less than the
// k-th score plus epsilon, but with probability delta if the look's bound can fail.
func (c *Certificate) stop(why Stop, a *backend.Answer) {
	bound := a.OpenBound
	c.Guarantee, c.StoppedBy, c.OpenBound = GuaranteeBound, why, &bound
	if !a.Random {
		c.Law, c.Delta = "", 0
	}
}

// law names the basis of the plan's probability; "" if its guarantee has none.
func (w *work) law() Law {
	if w.strategy.guarantee != GuaranteeProbabilistic {
		return ""
	}
	switch w.strategy.method {
	case Adaptive, PrefixF32:
		if w.e.c.D > bandit.HaarMaxDim {
			return LawCalibrated
		}
		return LawHaar
	case Strict:
		return LawOrder
	case BanditMIPS, BanditMIPSBeta:
		if w.req.Published.Sigma.Given > 0 {
			return LawAssumed
		}
	}
	return LawPublished
}

// record is the certificate's record of a look.
func (w *work) record(l *backend.LookReport) LookRecord {
	r := LookRecord{Width: l.Look.To, Reads: l.Look.Rep.String(), Alpha: l.Look.Alpha, Seen: l.Seen, Disallowed: l.Disallowed, Survivors: l.Survivors}
	if l.Look.Rep.Coded() {
		r.Width += w.e.c.R
	}
	switch {
	case l.Look.Rule <= backend.Cauchy && l.Look.Rep.CertainWhole() && w.e.c.D > 0 && l.Look.To == w.e.c.D:
		r.Rule, r.Alpha = "rounding", 0 // all coordinates: only rounding is bounded, with certainty
	case l.Look.Rule == backend.Student:
		r.Rule = "student"
	case l.Look.Rule == backend.Cauchy:
		r.Rule, r.Alpha = "cauchy", 0
	case l.Look.Rule == backend.Martingale:
		r.Rule = "martingale"
	case l.Look.Rule == backend.MeanRadius:
		r.Rule = "mean-radius"
	}
	return r
}

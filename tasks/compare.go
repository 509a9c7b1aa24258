package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/verify"
)

// Part is consecutive queries of a stream: what a search found for them, and the answers of
// another program that are compared with it. It is read only while the stream is held there.
type Part struct {
	// Request is what the search was asked for: of it a comparison uses Queries, or Queries64 where the vectors are kept
	// as float64, K, MaxScore, Filter, Exclude, ExcludeSelf, SelfFirst, Selves and Goals.
	Request *batch.Request
	// Proven is what the search found, one a query; of a stopped search it becomes what was stated.
	Proven []batch.Answer
	// Stated are the answers to compare, one a query: Query is the query's number, for reports
	// and errors, IDs are row numbers of the collection, best first, and Scores, unless nil, what
	// the answer states for them, -Inf for none.
	Stated []dataset.Result
	Took   time.Duration // of the search
}

// Parts is a stream of parts. An error ends it.
type Parts = iter.Seq2[*Part, error]

// ErrUnfinished says that recall cannot be told, because a search was stopped before the best
// atoms of all queries were known.
var ErrUnfinished = errors.New("the search was stopped before the best vectors of all queries were known")

// AnswersError says what is wrong with the answers that are compared.
type AnswersError struct {
	Err error
	// OtherMetric says that their scores are of another metric.
	OtherMetric bool
	// NoRow says that an id is no row of the collection, and Hint, unless it is "", why.
	NoRow bool
	Hint  string
}

func (e *AnswersError) Error() string {
	if e.Hint != "" {
		return e.Err.Error() + "; " + e.Hint
	}
	return e.Err.Error()
}
func (e *AnswersError) Unwrap() error { return e.Err }

// Compared is what was found of one answer.
type Compared struct {
	Query int64
	// Known is false if the search of the best atoms was stopped, or the deadline left no time to
	// compare them with the answer; nothing else is then known.
	Known bool
	// Kept says that the search was stopped and the answer is kept as it was, unproven.
	Kept   bool
	Wanted int     // best atoms
	Recall float64 // share of them that the answer has
	Missed []int64 // those that it lacks, row numbers, best first
	// Unwanted counts atoms among the first k of the answer that its query may not have: itself, those
	// that it excludes, and those whose scores are out of its bounds.
	Unwanted int64
}

// right reports whether the answer lacks nothing and has nothing that it may not.
func (c *Compared) right() bool { return len(c.Missed) == 0 && c.Unwanted == 0 }

// Comparison compares answers of any origin with proven ones, part by part. It is not safe for
// concurrent use.
type Comparison struct {
	atoms   comparedAtoms
	oracle  *verify.Oracle
	recall  *verify.Recall
	reasons *verify.Reasons // nil if they are not looked for
	// Turns, unless it is nil, is called before steps of looking for reasons, with the coordinates that a step
	// reads. Its error is that of Recall.
	Turns func(coordinates int) error
	// Until, unless it is zero, is when looking for reasons ends without any.
	Until time.Time

	filter, exclude []int64 // of the requests
	filtered        []bool  // whether they allow an atom

	counts   CertifyCounts
	stopped  int64 // answers whose best atoms are not known
	method   batch.Method
	plan     string
	searched time.Duration
}

// NewComparison returns a comparison of answers of k >= 1 atoms of a collection at most, that
// uses the scores of o, an oracle of the same rows.
func NewComparison(o *verify.Oracle, atoms *collection.Collection, k int) *Comparison {
	of := comparedAtoms{n: atoms.N, dim: atoms.Dim, metric: atoms.Metric, origin: atoms.Origin, block: atoms}
	return &Comparison{atoms: of, oracle: o, recall: verify.NewRecall(o, k)}
}

// NewComparisonOfRows is NewComparison of vectors that are no single collection.
func NewComparisonOfRows(o *verify.Oracle, rows ScoredRows, k int) *Comparison {
	of := comparedAtoms{n: rows.Len(), dim: rows.Dim(), metric: rows.Metric(), rows: rows}
	return &Comparison{atoms: of, oracle: o, recall: verify.NewRecall(o, k)}
}

// Resume goes on from the counts of an earlier comparison.
func (c *Comparison) Resume(counts CertifyCounts, scores verify.StatedScores) {
	c.counts = counts
	c.recall.ResumeScores(scores)
}

// Counts returns the counts so far, for Resume.
func (c *Comparison) Counts() (CertifyCounts, verify.StatedScores) {
	return c.counts, c.recall.Scores()
}

// maxLate bounds how many atoms are scored to compare answers after the deadline.
const maxLate = 4096 * 64

// Add compares the answers of a part and passes what it finds of each, in order, to visit, unless
// that is nil. Where a search was stopped, it puts the stated answer in place of the one that was
// found so far, in p.Proven: what is not proven to be wrong is kept. After the deadline of ctx it
// compares what it can with little work. It is an *AnswersError if the scores stated so far are of another metric, or if an
// answer cannot be of this collection; other errors are those of ctx and visit.
func (c *Comparison) Add(ctx context.Context, p *Part, visit func(*Compared) error) error {
	c.searched += p.Took
	late := 0
	for j := range p.Proven {
		if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
			late += len(p.Proven[j].IDs) + len(p.Stated[j].Rows)
		} else if err != nil {
			return err
		}
		found, err := c.compare(p, j, late <= maxLate)
		if err != nil {
			return err
		}
		c.counts.add(&found)
		if visit == nil {
			continue
		}
		if err := visit(&found); err != nil {
			return err
		}
	}
	if _, err := c.scores(); err != nil {
		return err
	}
	return nil
}

// compare compares answer j of a part, if there is time for it.
func (c *Comparison) compare(p *Part, j int, inTime bool) (Compared, error) {
	proven, stated := &p.Proven[j], &p.Stated[j]
	found := Compared{Query: stated.Query}
	c.method, c.plan = proven.Certificate.Method, proven.Certificate.Plan
	for at, id := range stated.Rows {
		if id < 0 || id >= int64(c.atoms.n) {
			return found, &AnswersError{Err: fmt.Errorf("query %d: vector %d at rank %d is outside [0, %d)", stated.Query, id, at+1, c.atoms.n), NoRow: true, Hint: c.beyond(p)}
		}
	}
	if found.Kept = proven.Certificate.StoppedBy != batch.Done; found.Kept {
		c.keep(p, j)
	}
	if found.Kept || !inTime {
		c.stopped++
		return found, nil
	}
	q := c.query(p.Request, j)
	ids, scores, unwanted := c.allowed(p.Request, j, q, stated, proven)
	var share float64
	var err error
	if q.given != nil {
		share, err = c.recall.Compare64(stated.Query, q.given, proven.IDs, ids, scores)
	} else {
		share, err = c.recall.Compare(stated.Query, q.rounded, proven.IDs, ids, scores)
	}
	if err != nil {
		return found, &AnswersError{Err: err}
	}
	c.reason(p, j, q)
	found.Known, found.Wanted, found.Recall, found.Unwanted = true, len(proven.IDs), share, unwanted
	found.Missed = append([]int64(nil), c.recall.Missed()...)
	return found, nil
}

// comparedQuery is a query in the type in which it is scored.
type comparedQuery struct {
	rounded []float32
	given   []float64 // in its place, of atoms of float64
}

// wide returns the query in float64.
func (q comparedQuery) wide() []float64 {
	if q.given != nil {
		return q.given
	}
	wide := make([]float64, len(q.rounded))
	for i, x := range q.rounded {
		wide[i] = float64(x)
	}
	return wide
}

// query returns query j of a request.
func (c *Comparison) query(req *batch.Request, j int) comparedQuery {
	from, to := j*c.atoms.dim, (j+1)*c.atoms.dim
	if c.atoms.float64s() {
		return comparedQuery{given: req.Queries64[from:to]}
	}
	return comparedQuery{rounded: req.Queries[from:to]}
}

// score sets out[k] to the search score of rows[k] for a query.
func (c *Comparison) score(out []float64, q comparedQuery, rows []uint32) {
	if q.given != nil {
		c.atoms.scores64(out, q.given, rows)
		return
	}
	c.atoms.scores(out, q.rounded, rows)
}

// allowed returns the atoms of a stated answer to query j of a request, whose vector is q, that the
// query may have, with their scores, and counts the others among the first k. The query's own row
// takes no place of the k.
func (c *Comparison) allowed(req *batch.Request, j int, q comparedQuery, stated *dataset.Result, proven *batch.Answer) (ids []int64, scores []float32, unwanted int64) {
	var goal batch.QueryGoal
	if req.Goals != nil {
		goal = req.Goals[j]
	}
	k := cmp.Or(goal.K, req.K)
	first := func(ids []int64) []int64 {
		if k > 0 {
			return ids[:min(k, len(ids))]
		}
		return ids
	}
	ids, scores = stated.Rows, stated.Scores
	if self := selfOf(req, j); self >= 0 {
		for _, id := range first(ids) {
			if id == self {
				unwanted++
			}
		}
		ids, scores = kept(ids, scores, func(id int64) bool { return id != self })
	}
	candidates := len(first(ids))
	if k > 0 {
		ids = first(ids)
		if scores != nil {
			scores = scores[:len(ids)]
		}
	}
	if may := c.permission(&goal, cmp.Or(goal.MaxScore, req.MaxScore), req, q); may != nil {
		ids, scores = kept(ids, scores, may)
	}
	if may := among(proven, k); may != nil {
		ids, scores = kept(ids, scores, may)
	}
	return ids, scores, unwanted + int64(candidates-len(ids))
}

// selfOf returns the row that query j of a request is and may not find, or -1.
func selfOf(req *batch.Request, j int) int64 {
	switch {
	case !req.ExcludeSelf:
		return -1
	case req.Selves != nil:
		return req.Selves[j]
	}
	return req.SelfFirst + int64(j)
}

// allow returns which atoms lists allow, made once for all queries that share them and not changed later; nil for all.
func (c *Comparison) allow(filter, exclude []int64) []bool {
	if filter == nil && len(exclude) == 0 {
		return nil
	}
	if c.filtered != nil && sameList(filter, c.filter) && sameList(exclude, c.exclude) {
		return c.filtered
	}
	c.filter, c.exclude, c.filtered = filter, exclude, make([]bool, c.atoms.n)
	for i := range c.filtered {
		c.filtered[i] = filter == nil
	}
	for _, row := range filter {
		c.filtered[row] = true
	}
	for _, row := range exclude {
		c.filtered[row] = false
	}
	return c.filtered
}

// sameList reports whether two lists share their memory, or are both nil or both empty.
func sameList(a, b []int64) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// permission returns which atoms a query of vector q may have: those that its request allows, that its goal does not
// exclude and whose scores are not better than maxScore, unless that is nil. It is nil if these
// are all.
func (c *Comparison) permission(goal *batch.QueryGoal, maxScore *float64, req *batch.Request, q comparedQuery) func(int64) bool {
	filter := req.Filter
	if goal.Filter != nil {
		filter = goal.Filter
	}
	filtered := c.allow(filter, req.Exclude)
	if len(goal.Exclude) == 0 && maxScore == nil && filtered == nil {
		return nil
	}
	excluded := make(map[int64]bool, len(goal.Exclude))
	for _, id := range goal.Exclude {
		excluded[id] = true
	}
	var score [1]float64
	return func(id int64) bool {
		if excluded[id] || filtered != nil && !filtered[id] {
			return false
		}
		if maxScore == nil {
			return true
		}
		c.score(score[:], q, []uint32{uint32(id)})
		return score[0] <= c.atoms.metric.Ceiling(*maxScore)
	}
}

// among returns which atoms a proven answer has, if no other may be returned: it has fewer than k, 0
// for any number, and cannot be wrong. Else it is nil.
func among(proven *batch.Answer, k int) func(int64) bool {
	if k > 0 && len(proven.IDs) >= k {
		return nil
	}
	switch proven.Certificate.Guarantee {
	case batch.GuaranteeExact, batch.GuaranteeCertain:
	default:
		return nil
	}
	known := make(map[int64]bool, len(proven.IDs))
	for _, id := range proven.IDs {
		known[id] = true
	}
	return func(id int64) bool { return known[id] }
}

// kept returns the ids that keep permits, and their scores unless these are nil.
func kept(ids []int64, scores []float32, keep func(int64) bool) ([]int64, []float32) {
	left := make([]int64, 0, len(ids))
	var leftScores []float32
	if scores != nil {
		leftScores = make([]float32, 0, len(ids))
	}
	for at, id := range ids {
		if !keep(id) {
			continue
		}
		left = append(left, id)
		if scores != nil {
			leftScores = append(leftScores, scores[at])
		}
	}
	return left, leftScores
}

// scores returns what the stated scores are, nil if there are none.
func (c *Comparison) scores() (*verify.FormCount, error) {
	stated := c.recall.Scores()
	found, err := stated.Form(c.atoms.metric)
	if err != nil {
		return nil, &AnswersError{Err: err, OtherMetric: true}
	}
	return found, nil
}

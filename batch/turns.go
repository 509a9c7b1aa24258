package batch

import (
	"context"
	"math"
	"time"
)

// Turns schedules the parts of a large search among other searches, so that no search
// occupies the machine for long. A search calls it from one goroutine.
type Turns interface {
	// Length is the intended duration of a part, above 0.
	Length() time.Duration
	// Next ends the turn of the previous part and returns when the next part, which is
	// expected to take the given time, may begin. The search returns Next's error, unless
	// its context has ended: then it returns the best so far.
	Next(ctx context.Context, expected time.Duration) error
}

const (
	// minPart is the least number of queries of a part for each thread of the backend.
	// Fewer queries share too few reads, and threads of a dense scan would divide the rows
	// instead of the queries.
	minPart = 128
	// partStep divides the number of queries of larger parts: a dense scan multiplies that
	// many queries together.
	partStep = 64
	// offForecast is the factor by which a part must take more or less time than expected
	// before its measured time replaces the forecast. Other searches can cause smaller
	// differences.
	offForecast = 4
)

// searchParts divides a search into parts of consecutive queries, each of which takes a turn.
// Answers do not depend on the division.
type searchParts struct {
	w     *work
	most  int       // queries of a part
	each  float64   // expected ns of one query
	least int       // queries of a part that takes longer than a turn
	next  int       // first query of the next part
	begun time.Time // when the current part began
	n     int       // queries of the current part
}

func (w *work) parts() *searchParts {
	looks, candidates := w.expected(), w.expectedCandidates()
	// Scoring candidates shares no reads, so queries for which it is most of the work may be
	// divided further.
	least := int(math.Ceil(minPart * float64(max(1, w.e.threads())) * looks / (looks + candidates)))
	if least > partStep {
		least = (least + partStep - 1) / partStep * partStep
	}
	return &searchParts{w: w, most: w.maxQueries(), each: looks + candidates, least: least}
}

// expectedCandidates is the time of scoring the given candidates of one query, on average, on all
// threads, in ns.
func (w *work) expectedCandidates() float64 {
	given := 0
	for j := range w.req.Goals {
		given += len(w.req.Goals[j].Candidates)
	}
	c := &w.e.costs
	return float64(given) * (c.Fetch + c.Score*float64(w.e.c.Dim)) / float64(w.m*max(1, w.e.threads()))
}

// expected is the time of one query of many on all threads, in ns, without given candidates: by
// the plan's forecast, or that of a dense scan if it has none.
func (w *work) expected() float64 {
	cost := w.strategy.Cost
	if cost <= 0 {
		cost = w.e.costs.DenseTest + w.e.costs.Dense*float64(w.e.c.Dim)
	}
	return cost * float64(max(1, w.allowed)) / float64(max(1, w.e.threads()))
}

// more reports whether another part is left.
func (p *searchParts) more() bool { return p.next < p.w.m }

// beginPart waits for the turn of the next part and returns its queries lo..hi-1.
func (p *searchParts) beginPart(ctx context.Context) (lo, hi int, err error) {
	n := p.nextSize()
	lo, hi = p.next, min(p.next+n, p.w.m)
	p.next, p.n = hi, hi-lo
	if t := p.w.req.Turns; t != nil {
		err = t.Next(ctx, time.Duration(p.each*float64(hi-lo)))
		p.begun = time.Now()
	}
	return lo, hi, err
}

// nextSize is the number of queries of the next part. Parts of one search are about equal.
func (p *searchParts) nextSize() int {
	left := p.w.m - p.next
	n := min(p.most, p.w.together(left))
	if p.w.req.Turns == nil {
		return n
	}
	if fit := float64(p.w.req.Turns.Length()) / p.each; fit < float64(n) {
		n = min(n, max(p.least, int(fit)))
	}
	if n >= left {
		return left
	}
	count := (left + n - 1) / n
	even := (left + count - 1) / count
	if even > partStep {
		even = min(n, (even+partStep-1)/partStep*partStep)
	}
	return even
}

// endPart corrects the expected time of a query if the part's differed by offForecast.
func (p *searchParts) endPart() {
	if p.w.req.Turns == nil { // the size of parts does not depend on their time
		return
	}
	took := float64(time.Since(p.begun)) / float64(p.n)
	if took > offForecast*p.each || took < p.each/offForecast {
		p.each = max(1, took)
	}
}

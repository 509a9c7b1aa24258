package batch

import (
	"context"
	"time"
)

// Turns has the parts of a large search take turns with other searches, so that none
// keeps the machine for long. A search asks it from one goroutine.
type Turns interface {
	// Length is about how long a part should take, above 0.
	Length() time.Duration
	// Next ends the turn of the part before and returns when the next part may begin,
	// which has the machine to do for as long as expected. An error is the search's,
	// unless its context has ended: then the search ends with the best so far.
	Next(ctx context.Context, expected time.Duration) error
}

const (
	// leastPart is how many queries a part has at least for each of the backend's threads:
	// fewer share too little of what is read, and of a dense scan threads would divide the
	// rows instead of the queries.
	leastPart = 128
	// partStep is what the queries of a larger part are a multiple of: as many go
	// through a dense scan together.
	partStep = 64
	// offForecast is by what factor parts must take more or less time than expected
	// for the next to be cut by what they took. Less may be the doing of other searches.
	offForecast = 4
)

// searchParts cuts a search into runs of consecutive queries, each of which takes its turn. An answer
// does not depend on the cuts.
type searchParts struct {
	w     *work
	most  int     // queries
	each  float64 // ns expected of one query
	next  int     // first query of the next part
	begun time.Time
	n     int // queries of the part under way
}

func (w *work) parts() *searchParts {
	return &searchParts{w: w, most: w.e.mostQueries(w.plan), each: w.expected()}
}

// expected is what one query of many is expected to take of the whole machine, in ns:
// by the plan's forecast, or where there is none as a dense scan.
func (w *work) expected() float64 {
	cost := w.plan.Cost
	if cost <= 0 {
		cost = w.e.costs.DenseTest + w.e.costs.Dense*float64(w.e.c.Dim)
	}
	return cost * float64(max(1, w.allowed)) / float64(max(1, w.e.threads()))
}

// more reports whether queries are left.
func (p *searchParts) more() bool { return p.next < p.w.m }

// beginPart waits for the turn of the next part, queries lo..hi-1.
func (p *searchParts) beginPart(ctx context.Context) (lo, hi int, err error) {
	n := p.nextSize()
	lo, hi = p.next, min(p.next+n, p.w.m)
	p.next, p.n = hi, hi-lo
	if t := p.w.req.Turns; t != nil {
		err = t.Next(ctx, time.Duration(p.each*float64(hi-lo)))
	}
	p.begun = time.Now()
	return lo, hi, err
}

// nextSize is how many queries the next part has; parts of one search are about equal.
func (p *searchParts) nextSize() int {
	left, n := p.w.m-p.next, p.most
	if p.w.req.Turns == nil {
		return n
	}
	if fit := float64(p.w.req.Turns.Length()) / p.each; fit < float64(n) {
		n = min(n, max(leastPart*max(1, p.w.e.threads()), int(fit)))
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

// endPart notes how long the part has taken.
func (p *searchParts) endPart() {
	took := float64(time.Since(p.begun)) / float64(p.n)
	if took > offForecast*p.each || took < p.each/offForecast {
		p.each = max(1, took)
	}
}

package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
)

// Engine answers batches of queries over one collection. It is safe for
// concurrent use.
type Engine struct {
	c       *collection.Collection
	opt     Options
	inverse []uint32 // row number to internal index
	maxNorm float64  // greatest working norm
	costs   backend.Costs
	planner *plan.Planner

	values func() (lo, hi float64) // range of the working coordinates, taken once

	primary  backend.Backend
	resident backend.Resident
	lost     atomic.Bool // first answers no more; the substitute does

	mu         sync.Mutex
	substitute *Engine // over the fallback, once it is needed
	closed     bool
}

// Open loads c on b and returns an engine over it. The caller keeps c and b,
// which must outlive the engine.
func Open(ctx context.Context, c *collection.Collection, b backend.Backend, o *Options) (*Engine, error) {
	e := newEngine(c)
	e.primary = b
	if o != nil {
		e.opt = *o
	}
	if e.opt.Costs != nil {
		if err := e.opt.Costs.Check(); err != nil {
			return nil, err
		}
	}
	r, err := b.Load(ctx, c)
	if err != nil {
		if e.opt.Fallback == nil {
			return nil, fmt.Errorf("loading %d atoms of dimension %d on %s: %w", c.N, c.Dim, b.Name(), err)
		}
		e.reportFallback(b, err)
		e.primary, e.opt.Fallback, e.opt.Costs = e.opt.Fallback, nil, nil
		if r, err = e.primary.Load(ctx, c); err != nil {
			return nil, fmt.Errorf("loading %d atoms of dimension %d on %s: %w", c.N, c.Dim, e.primary.Name(), err)
		}
	}
	e.resident = r
	e.setCosts(e.opt.costsOf(e.primary))
	return e, nil
}

// newEngine is an engine that has no backend and no costs yet.
func newEngine(c *collection.Collection) *Engine {
	e := &Engine{c: c, values: sync.OnceValues(c.Values), inverse: make([]uint32, c.N)}
	for i, row := range c.Order {
		e.inverse[row] = uint32(i)
		e.maxNorm = max(e.maxNorm, float64(c.Norm[i]))
	}
	return e
}

// setCosts has plans compared by costs.
func (e *Engine) setCosts(costs backend.Costs) {
	e.costs, e.planner = costs, plan.New(e.c, costs)
}

// longest is the greatest norm of an atom as given, or for cosine as it is compared.
func (e *Engine) longest() float64 {
	if e.c.Centre != nil {
		return e.c.Longest
	}
	return e.maxNorm
}

// Expect is what the plan that Search would take for req is expected to cost on a
// backend of these costs, in ns of one of its cores an atom and query: 0 when
// nothing forecasts it. The queries of req may be missing. Errors are those of
// Search.
func Expect(c *collection.Collection, costs *backend.Costs, req Request) (float64, error) {
	if err := costs.Check(); err != nil {
		return 0, err
	}
	e := newEngine(c)
	e.setCosts(*costs)
	if len(req.Queries) == 0 {
		req.Queries = make([]float32, c.Dim)
	}
	w, err := e.newWork(&req)
	if err != nil {
		return 0, err
	}
	return w.plan.Cost, nil
}

// costsOf are the costs that plans for b are compared by.
func (o *Options) costsOf(b backend.Backend) backend.Costs {
	if o.Costs != nil {
		return *o.Costs
	}
	return backend.Describe(b).Costs
}

func (e *Engine) reportFallback(b backend.Backend, err error) {
	if e.opt.Observer != nil {
		e.opt.Observer.FellBack(b.Name(), err)
	}
}

// Close frees what the engine holds. No search may be under way.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.resident.Close()
	if e.substitute != nil {
		err = errors.Join(err, e.substitute.Close())
	}
	return err
}

// Collection is what the engine searches.
func (e *Engine) Collection() *collection.Collection { return e.c }

// Backend names the backend that searches.
func (e *Engine) Backend() string {
	if e.lost.Load() {
		return e.opt.Fallback.Name()
	}
	return e.primary.Name()
}

// threads is how many goroutines of the first backend compute at once; 0 if it is a
// graphics card.
func (e *Engine) threads() int { return backend.Describe(e.primary).Threads }

// checkOpen returns backend.ErrClosed after Close.
func (e *Engine) checkOpen() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return backend.ErrClosed
	}
	return nil
}

// fallback returns an engine over the fallback, which is loaded at first use; nil
// when there is none.
func (e *Engine) fallback(ctx context.Context) (*Engine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.opt.Fallback
	switch {
	case e.closed:
		return nil, backend.ErrClosed
	case b == nil || e.substitute != nil:
		return e.substitute, nil
	}
	r, err := b.Load(ctx, e.c)
	if err != nil {
		return nil, err
	}
	s := &Engine{c: e.c, opt: e.opt, inverse: e.inverse, maxNorm: e.maxNorm, values: e.values, primary: b, resident: r}
	s.opt.Fallback, s.opt.Costs = nil, nil
	s.setCosts(s.opt.costsOf(b))
	e.substitute = s
	return s, nil
}

// partBytes bounds the memory of the queries of one run; larger batches are
// answered in parts, which changes no answer.
const partBytes = 1 << 28

// Search answers req. A context or timeout that ends the search gives the best
// answers so far and no error: their certificates say so. Errors in the request
// are *RequestError.
func (e *Engine) Search(ctx context.Context, req Request) (*Response, error) {
	e, err := e.current(ctx)
	if err != nil {
		return nil, err
	}
	w, err := e.newWork(&req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withTimeout(ctx)
	defer cancel()
	return w.search(ctx)
}

// current is the engine that answers: the substitute once the backend is lost.
func (e *Engine) current(ctx context.Context) (*Engine, error) {
	if !e.lost.Load() {
		return e, nil
	}
	return e.fallback(ctx)
}

// withTimeout is ctx with the request's timeout, which begins now.
func (r *Request) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.Timeout)
}

// search answers w by itself, part by part.
func (w *work) search(ctx context.Context) (*Response, error) {
	return w.inParts(ctx, func(lo, hi int, out []Answer) (time.Duration, error) {
		began := time.Now()
		err := w.e.answerPart(ctx, w, lo, hi, out)
		return time.Since(began), err
	})
}

// inParts has answer find the answers to the queries of one part after the other, which
// it tells how long it took. Once ctx has ended nothing looks at those left.
func (w *work) inParts(ctx context.Context, answer func(lo, hi int, out []Answer) (time.Duration, error)) (*Response, error) {
	answers := make([]Answer, w.m)
	var took time.Duration
	for p := w.parts(); p.more(); {
		lo, hi, err := p.beginPart(ctx)
		if ctx.Err() != nil {
			w.setAnswers(lo, answers[lo:], nil, "", stopOf(ctx))
			break
		}
		if err != nil {
			return nil, err
		}
		t, err := answer(lo, hi, answers[lo:hi])
		if err != nil {
			return nil, err
		}
		took += t
		p.endPart()
	}
	return w.respond(answers, took), nil
}

// respond makes the answers a response and tells the observer.
func (w *work) respond(answers []Answer, took time.Duration) *Response {
	resp := &Response{Answers: answers, Warnings: w.warnings, Took: took}
	for i := range answers {
		resp.Stats.add(&answers[i].Certificate)
	}
	if o := w.e.opt.Observer; o != nil {
		o.Searched(w.plan.method, w.m, resp.Stats, took)
	}
	return resp
}

// answerPart answers queries lo..hi-1 of w into out.
func (e *Engine) answerPart(ctx context.Context, w *work, lo, hi int, out []Answer) error {
	if w.plan.reference != nil {
		if err := e.checkOpen(); err != nil {
			return err
		}
		return w.plan.reference(ctx, w, lo, hi, out)
	}
	answers, by, err := e.answer(ctx, w.plan, w.queries(lo, hi), w.goals[lo:hi], nil)
	if err != nil {
		return err
	}
	w.setAnswers(lo, out, answers, by, stopOf(ctx))
	return nil
}

// answer runs a plan's rounds on the first backend that can, and names it. When ctx
// ends before they begin there are no answers, and no error. A group's members may leave
// before the end.
func (e *Engine) answer(ctx context.Context, p *strategy, q backend.Queries, goals []backend.Goal, g *searchGroup) (backend.Answers, string, error) {
	if err := e.checkOpen(); err != nil {
		return nil, "", err
	}
	answers, err := rounds(ctx, g.leavable(e.resident, e.primary.Name()), p.Plan, q, goals)
	if err == nil || contextEnded(err) {
		return answers, e.primary.Name(), nil
	}
	s, lerr := e.fallback(ctx)
	if s == nil {
		return nil, "", errors.Join(err, lerr)
	}
	// a device that is gone is not asked again
	if gone := errors.Is(err, backend.ErrUnavailable); !gone || e.lost.CompareAndSwap(false, true) {
		e.reportFallback(e.primary, err)
	}
	if answers, err = rounds(ctx, g.leavable(s.resident, s.primary.Name()), p.Plan, q, goals); err != nil && !contextEnded(err) {
		return nil, "", err
	}
	return answers, s.primary.Name(), nil
}

// setAnswers makes what the rounds of a backend found for queries lo, lo+1, .. their
// answers; without any, nothing looked at them.
func (w *work) setAnswers(lo int, out []Answer, answers backend.Answers, by string, stop Stop) {
	for j := range out {
		if answers == nil {
			out[j] = w.emptyAnswer(lo+j, stop)
			continue
		}
		out[j] = w.certify(lo+j, &answers[j], stop)
		out[j].Certificate.Backend = by
	}
}

// mostQueries is how many queries one run of a strategy takes.
func (e *Engine) mostQueries(p *strategy) int { return max(1, min(1024, partBytes/p.queryBytes(e.c))) }

// queryBytes is about what one query takes in a backend's memory.
func (s *strategy) queryBytes(c *collection.Collection) int {
	b := 24*c.Dim + 256
	if s.perArm {
		b += 96 * c.N
	}
	return b
}

// contextEnded reports whether err is a search's context ending.
func contextEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func stopOf(ctx context.Context) Stop {
	switch {
	case ctx.Err() == nil:
		return Done
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Deadline
	}
	return Cancelled
}

func (s *Stats) add(c *Certificate) {
	s.Pulls += c.Pulls
	s.DensePulls += c.DensePulls
	s.Bytes += c.Bytes
	s.RowsScored += int64(c.RowsScored)
	if c.Exact {
		s.Exact++
	}
	if c.Fallback != "" {
		s.Dense++
	}
	if c.StoppedBy != Done {
		s.Partial++
	}
}

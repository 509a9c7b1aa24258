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
	workers int                    // goroutines of the primary backend that compute at once; 0 for a GPU
	spared  atomic.Pointer[spared] // nil: Options.Spare was not asked yet
	keeps   atomic.Int64           // arms that looks are taken to keep of a query; 0: any number
	signs   signMemory
	filters keptFilters

	coordinateRange func() (lo, hi float64) // range of the working coordinates, computed once

	primary  backend.Backend
	resident backend.Resident
	lost     atomic.Bool // the primary backend is unavailable; substitute answers

	mu         sync.Mutex
	substitute *Engine // over Options.Fallback; nil until first needed
	instead    error   // why the fallback answers everything; nil if it does not
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
	r, err := load(ctx, b, c)
	if err != nil {
		if e.opt.Fallback == nil {
			return nil, fmt.Errorf("loading %d vectors of dimension %d on %s: %w", c.N, c.Dim, b.Name(), err)
		}
		e.reportFallback(b, err)
		e.instead = err
		e.primary, e.opt.Fallback, e.opt.Costs = e.opt.Fallback, nil, nil
		if r, err = load(ctx, e.primary, c); err != nil {
			return nil, fmt.Errorf("loading %d vectors of dimension %d on %s: %w", c.N, c.Dim, e.primary.Name(), err)
		}
	}
	e.resident = r
	if e.opt.Spare != nil && c.OnDisk() {
		if spare := e.opt.Spare(c.Bytes()); spare > 0 && c.Bytes() > spare {
			c.ReadAhead()
		}
	}
	e.setCosts(e.opt.costsOf(e.primary), backend.Describe(e.primary))
	return e, nil
}

// load loads c on b, unless it is larger than b's limits allow.
func load(ctx context.Context, b backend.Backend, c *collection.Collection) (backend.Resident, error) {
	limits := backend.Describe(b).Capacity
	if err := limits.CheckSize(c.N, c.Dim); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrMemory, err)
	}
	return b.Load(ctx, c)
}

// Over returns an engine over another collection, on the same backends and with the same options
// as e. The caller keeps c, which must outlive it.
func (e *Engine) Over(ctx context.Context, c *collection.Collection) (*Engine, error) {
	o := e.opt
	return Open(ctx, c, e.primary, &o)
}

// newEngine returns an engine without a backend and costs.
func newEngine(c *collection.Collection) *Engine {
	e := &Engine{c: c, coordinateRange: sync.OnceValues(c.Values), inverse: make([]uint32, c.N)}
	for i, row := range c.Order {
		e.inverse[row] = uint32(i)
		e.maxNorm = max(e.maxNorm, float64(c.Norm[i]))
	}
	return e
}

// setCosts makes a planner that compares plans by costs, which are those of the primary backend, and
// asks for no more than the limits in that backend's description.
func (e *Engine) setCosts(costs backend.Costs, d backend.Description) {
	e.costs, e.planner, e.workers = costs, plan.New(e.c, costs, d.Capacity), d.Threads
}

// longest is the greatest norm of an atom as given; for cosine, of a normalised atom.
func (e *Engine) longest() float64 {
	if e.c.Centre != nil {
		return e.c.Longest
	}
	return e.maxNorm
}

// Expect forecasts what the plan that Search would choose for req costs on a backend with
// the given costs and limits, in ns of one core per atom and query; 0 if there is no forecast.
// req.Queries may be empty. Errors are those of Search.
func Expect(c *collection.Collection, costs *backend.Costs, limits backend.Capacity, req Request) (float64, error) {
	if err := costs.Check(); err != nil {
		return 0, err
	}
	e := newEngine(c)
	e.setCosts(*costs, backend.Description{Capacity: limits})
	if len(req.Queries) == 0 {
		req.Queries, req.Part = make([]float32, c.Dim), true // of an unknown number
	}
	w, err := e.newWork(&req, nil)
	if err != nil {
		return 0, err
	}
	return w.strategy.Cost, nil
}

// costsOf returns the costs by which plans for b are compared.
func (o *Options) costsOf(b backend.Backend) backend.Costs {
	if o.Costs != nil {
		return *o.Costs
	}
	return backend.Describe(b).Costs
}

// reportFallback tells the observer that b could not answer.
func (e *Engine) reportFallback(b backend.Backend, err error) {
	if e.opt.Observer != nil {
		e.opt.Observer.FellBack(b.Name(), err)
	}
}

// Close releases the collection on the backends. No search may be in progress.
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

// Collection returns the collection that the engine searches.
func (e *Engine) Collection() *collection.Collection { return e.c }

// Backend names the backend that answers: the fallback once the primary is lost.
func (e *Engine) Backend() string {
	if e.lost.Load() {
		return e.opt.Fallback.Name()
	}
	return e.primary.Name()
}

// Instead returns why the fallback answers everything: the backend could not load the collection, or is lost;
// nil if it does not.
func (e *Engine) Instead() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.instead
}

// threads is how many goroutines of the primary backend compute at once; 0 for a GPU.
func (e *Engine) threads() int { return e.workers }

// checkOpen returns backend.ErrClosed after Close.
func (e *Engine) checkOpen() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return backend.ErrClosed
	}
	return nil
}

// fallback returns an engine over Options.Fallback, which is loaded at first use; nil if
// there is no fallback.
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
	s := &Engine{c: e.c, opt: e.opt, inverse: e.inverse, maxNorm: e.maxNorm, coordinateRange: e.coordinateRange, primary: b, resident: r}
	s.opt.Fallback, s.opt.Costs = nil, nil
	s.setCosts(s.opt.costsOf(b), backend.Describe(b))
	e.substitute = s
	return s, nil
}

// Search answers req. If ctx or the timeout ends the search before all answers are complete, it
// returns both the best so far and the error, context.DeadlineExceeded or context.Canceled: a
// partial answer has the guarantee GuaranteeBound, and its certificate names the reason (StoppedBy).
// With every other error the response is nil. Errors in the request are *RequestError.
func (e *Engine) Search(ctx context.Context, req Request) (*Response, error) {
	return e.SearchWithin(ctx, req, Within{})
}

// current returns the engine that answers: the substitute once the primary backend is lost.
func (e *Engine) current(ctx context.Context) (*Engine, error) {
	if !e.lost.Load() {
		return e, nil
	}
	return e.fallback(ctx)
}

// withTimeout returns ctx with the request's timeout, counted from now.
func (r *Request) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Deadline <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.Deadline)
}

// search answers w without a coalescer, part by part.
func (w *work) search(ctx context.Context) (*Response, error) {
	return w.inParts(ctx, func(lo, hi int, out []Answer) (time.Duration, error) {
		began := time.Now()
		err := w.e.answerPart(ctx, w, lo, hi, out)
		return time.Since(began), err
	})
}

// inParts calls answer for each part in turn; answer fills out and returns how long that
// took. Once ctx has ended, the remaining queries get empty answers.
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
		w.applyLists(lo, hi)
		t, err := answer(lo, hi, answers[lo:hi])
		w.releaseLists(lo, hi)
		if err != nil {
			return nil, err
		}
		took += t
		p.endPart()
	}
	resp := w.respond(answers, took)
	return resp, resp.stopped()
}

// respond makes a response of the answers and reports it to the observer.
func (w *work) respond(answers []Answer, took time.Duration) *Response {
	resp := &Response{Answers: answers, Warnings: w.warnings, Took: took}
	for i := range answers {
		resp.Stats.add(&answers[i].Certificate)
	}
	resp.Stats.Bytes += 4 * w.strategy.shared.Load()
	if o := w.e.opt.Observer; o != nil {
		o.Searched(w.strategy.method, w.m, resp.Stats, took)
	}
	return resp
}

// answerPart writes the answers to queries lo..hi-1 of w to out.
func (e *Engine) answerPart(ctx context.Context, w *work, lo, hi int, out []Answer) error {
	if w.strategy.reference != nil {
		if err := e.checkOpen(); err != nil {
			return err
		}
		return w.strategy.reference(ctx, w, lo, hi, out)
	}
	answers, by, err := e.answer(ctx, w.strategy, w.queries(lo, hi), w.goals[lo:hi], nil)
	if err != nil {
		return err
	}
	w.setAnswers(lo, out, answers, by, stopOf(ctx))
	return nil
}

// answer runs a plan's rounds on the primary backend or, if that fails, on the fallback, and
// names the backend that answered. If ctx ends before the rounds begin it returns neither
// answers nor an error. Members of g can leave before the end.
func (e *Engine) answer(ctx context.Context, p *strategy, q backend.Queries, goals []backend.Goal, g *searchGroup) (backend.Answers, string, error) {
	if err := e.checkOpen(); err != nil {
		return nil, "", err
	}
	answers, err := rounds(ctx, g.leavable(e.resident, e.primary.Name()), p.Plan, q, goals)
	if err == nil || contextEnded(err) {
		if err == nil {
			e.noteSigns(p)
		}
		e.noteKept(answers)
		return answers, e.primary.Name(), nil
	}
	s, lerr := e.fallback(ctx)
	if s == nil {
		return nil, "", errors.Join(err, lerr)
	}
	// a lost device is reported once and not used again
	if gone := errors.Is(err, backend.ErrUnavailable); !gone || e.lost.CompareAndSwap(false, true) {
		if gone {
			e.mu.Lock()
			e.instead = err
			e.mu.Unlock()
		}
		e.reportFallback(e.primary, err)
	}
	if answers, err = rounds(ctx, g.leavable(s.resident, s.primary.Name()), p.Plan, q, goals); err != nil && !contextEnded(err) {
		return nil, "", err
	}
	return answers, s.primary.Name(), nil
}

// setAnswers writes the certified answers to queries lo, lo+1, .. to out, and uses answers up. nil
// answers mean that no look has seen the queries.
func (w *work) setAnswers(lo int, out []Answer, answers backend.Answers, by string, stop Stop) {
	common, room := w.commonCertificate(), newAnswerRoom(answers)
	if answers == nil {
		answers, by, room = make(backend.Answers, len(out)), "", answerRoom{}
		for j := range answers {
			answers[j] = w.emptyAnswer(lo + j)
		}
	}
	common.Backend = by
	for j := range out {
		w.certify(&out[j], lo+j, &answers[j], &common, stop, &room)
	}
}

// contextEnded reports whether err says that a context was cancelled or reached its deadline.
func contextEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// stopOf is why a search with context ctx ends.
func stopOf(ctx context.Context) Stop {
	switch {
	case ctx.Err() == nil:
		return Done
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Deadline
	}
	return Cancelled
}

// Add adds the figures of another response.
func (s *Stats) Add(more *Stats) {
	s.Pulls += more.Pulls
	s.DensePulls += more.DensePulls
	s.Bytes += more.Bytes
	s.RowsScored += more.RowsScored
	s.Exact += more.Exact
	s.Dense += more.Dense
	s.Unfinished += more.Unfinished
	s.VectorsChange, s.QueriesChange = max(s.VectorsChange, more.VectorsChange), max(s.QueriesChange, more.QueriesChange)
}

// add adds the figures of one answer.
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
		s.Unfinished++
	}
	s.VectorsChange, s.QueriesChange = max(s.VectorsChange, c.VectorsChange), max(s.QueriesChange, c.QueryChange)
}

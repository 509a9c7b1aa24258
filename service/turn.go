package service

import (
	"context"
	"errors"
	"math"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/fair"
	"thresher/service/problem"
	"thresher/service/trace"
)

// retryAfter is the delay suggested to clients that find the queue full.
const retryAfter = time.Second

// turn holds a search's or another request's part of what clients share: a slot, its turns at
// the processor, and the memory of its answer. It is used from one goroutine, and is
// independent of HTTP.
type turn struct {
	*fair.Turn
	s      *Server
	client string
	since  time.Time // start of the time that its timeout limits
	slot   *fair.Use
	answer *fair.Hold // nil until it is reserved
	each   int64      // bytes of each result of the answer beyond answerBytes
	run    *fair.Hold // the memory of its largest run, nil for small ones
	w      *writer    // of the answer; nil if it is sent by others
}

// turnOf waits for a slot for a client, up to the timeout of searches. The caller must end
// the turn.
func (s *Server) turnOf(ctx context.Context, client string) (*turn, error) {
	t := &turn{Turn: s.turns.Of(client), s: s, client: client, since: time.Now()}
	ctx, cancel := s.within(ctx)
	defer cancel()
	var err error
	if t.slot, err = s.slots.Enter(ctx, client, 1); err != nil {
		return nil, s.explainFull(err)
	}
	return t, nil
}

// explainFull returns the problem of a wait that ended without a slot.
func (s *Server) explainFull(err error) error {
	if errors.Is(err, fair.ErrFull) {
		p := problem.New(problem.QueueFull, "%d searches are waiting already, the greatest number permitted", s.o.Limits.Waiting).Within(s.o.Limits.Waiting)
		p.RetryAfter = retryAfter
		return p
	}
	return s.explainWait(err)
}

// sendBy has the turn rest when w begins to send the answer: a client that does not read it
// keeps memory, of the answer and of body (nil if there is none), which it loses to others that
// wait, and nothing else.
func (t *turn) sendBy(w *writer, body *fair.Hold) {
	t.w = w
	w.sends = func() {
		t.rest()
		w.carry(t.answer, body)
	}
}

// end releases everything. It may be called twice.
func (t *turn) end() {
	t.rest()
	if t.w != nil {
		t.w.sends = nil
	}
	if t.answer != nil {
		t.answer.Release()
	}
}

// rest releases what computing needs. The memory of the answer stays reserved.
func (t *turn) rest() {
	t.End()
	t.slot.Leave()
}

// spent returns how much of its time the request has used.
func (t *turn) spent() time.Duration { return time.Since(t.since) }

// withDeadline bounds ctx by the timeout of searches, counted from when the request began to
// wait.
func (t *turn) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if most := t.s.o.Timeouts.Search; most > 0 {
		return context.WithDeadline(ctx, t.since.Add(most))
	}
	return ctx, func() {}
}

// reserveAnswer waits until there is memory for an answer of so many bytes.
func (t *turn) reserveAnswer(ctx context.Context, bytes int64) error {
	if t.answer == nil {
		t.answer = t.s.answers.Hold(t.client, bytes, nil)
		if err := t.answer.Settle(); err != nil {
			return err
		}
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	err := t.answer.Grow(ctx, min(bytes, t.s.o.Limits.Answers))
	if errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Deadline, "the deadline passed while the answer waited for memory: the answers of all searches may take %d bytes together (%s)", t.s.o.Limits.Answers, t.s.o.answersKey()).
			Within(t.s.o.Limits.Answers).Because(err)
	}
	return t.s.explainWait(err)
}

// smallRun is the memory of a run that is not counted, or smallShare of that of all if it is more.
const smallRun, smallShare = 1 << 20, 64

// reserveRun waits until there is memory to compute the answers to so many queries like those of
// req; releaseRun returns it. Memory for the answers is reserved before, so that searches that
// wait here wait for searches that compute.
func (t *turn) reserveRun(ctx context.Context, v *catalog.Version, req batch.Request, queries int) error {
	most := t.s.o.shares.Computing
	if int64(queries)*batch.MaxQueryBytes(v.Len(), v.Dim(), req.K)+v.Making() < max(smallRun, most/smallShare) {
		return nil
	}
	req.Queries, req.Queries64, req.Goals, req.Changes = nil, nil, nil, nil
	bytes, err := v.RunBytes(req, queries)
	if err != nil {
		return nil // the search says so, with all that it is about
	}
	bytes = min(bytes, most)
	t.run = t.s.computing.Hold(t.client, bytes, nil)
	if err := t.run.Settle(); err != nil {
		return err
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	if err = t.run.Grow(ctx, bytes); errors.Is(err, context.DeadlineExceeded) {
		err = problem.New(problem.Deadline, "the deadline passed while the search waited for memory to compute: all searches may take %d bytes together (memory)", most).
			Within(most).Because(err)
	}
	if err != nil {
		t.releaseRun()
	}
	return t.s.explainWait(err)
}

// releaseRun returns what reserveRun has reserved. Further calls do nothing.
func (t *turn) releaseRun() {
	if t.run != nil {
		t.run.Release()
	}
}

// compute waits for the turn of work of one goroutine on so many bytes, at each ns a byte.
// Short work needs none.
func (t *turn) compute(ctx context.Context, bytes int, each float64) error {
	expected := time.Duration(math.Ceil(float64(bytes) * each))
	if expected < time.Millisecond {
		return nil
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	return t.s.explainWait(t.Next(ctx, expected))
}

// inTurn reads the body of r, waits for a slot, and calls do while it has the turn.
func (s *Server) inTurn(r *request, do func(*input) error) error {
	in, err := s.newInput(r)
	if err != nil {
		return err
	}
	defer in.close()
	_, span := trace.Start(r.Context(), "read the body")
	_, err = in.all()
	if span.End(); err != nil {
		return err
	}
	_, span = trace.Start(r.Context(), "wait for a place")
	in.turn, err = s.turnOf(r.Context(), r.client())
	if span.End(); err != nil {
		return err
	}
	defer in.turn.end()
	in.turn.sendBy(r.x.w, in.hold)
	in.turn.since = in.turn.since.Add(-in.waited())
	r.queued = in.turn.spent()
	return do(in)
}

// explainWait returns the problem of a wait that was ended by a context.
func (s *Server) explainWait(err error) error {
	if errors.Is(err, context.Canceled) && s.stopped.Err() != nil {
		return errDraining()
	}
	return err
}

// within bounds a context by the timeout of searches.
func (s *Server) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if most := s.o.Timeouts.Search; most > 0 {
		return context.WithTimeout(ctx, most)
	}
	return ctx, func() {}
}

// bounded is inTurn for requests whose bodies are small or already read, but whose answers
// take room bytes of memory: do has the turn, and the timeout, of a search.
func (s *Server) bounded(r *request, room int64, do func(context.Context) error) error {
	ctx, cancel := s.within(r.Context())
	defer cancel()
	t, err := s.turnOf(ctx, r.client())
	if err != nil {
		return err
	}
	defer t.end()
	t.sendBy(r.x.w, nil)
	if room > 0 {
		if err := t.reserveAnswer(ctx, room); err != nil {
			return err
		}
	}
	return s.explainWait(do(ctx))
}

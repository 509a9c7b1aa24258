package service

import (
	"context"
	"errors"
	"math"
	"time"

	"thresher/service/fair"
	"thresher/service/problem"
	"thresher/service/trace"
)

// retryAfter is when those who found the queue full should come again.
const retryAfter = time.Second

// turn is what a search, or another request that computes, has of what clients share: a
// place among those at once, its turns at the processor, and the memory of its answer. It
// is used from one goroutine, and knows nothing of HTTP.
type turn struct {
	*fair.Turn
	s      *Server
	client string
	since  time.Time // from when its time counts
	slot   *fair.Use
	answer *fair.Hold // nil before there is one
}

// turnOf waits for a place of a client, as long as any search may take. The caller must
// end the turn.
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

// explainFull says why a wait ended without a place.
func (s *Server) explainFull(err error) error {
	if errors.Is(err, fair.ErrFull) {
		p := problem.New(problem.QueueFull, "%d searches wait already, the most that may", s.o.Limits.Waiting).Within(s.o.Limits.Waiting)
		p.RetryAfter = retryAfter
		return p
	}
	return s.explainWait(err)
}

// end gives all of the turn back. Ending twice is allowed.
func (t *turn) end() {
	t.rest()
	if t.answer != nil {
		t.answer.Release()
	}
}

// rest gives back what computing takes. The answer keeps its memory.
func (t *turn) rest() {
	t.End()
	t.slot.Leave()
}

// spent is how much of its time the request has had.
func (t *turn) spent() time.Duration { return time.Since(t.since) }

// withDeadline bounds ctx by the time that any search may take, since it began to wait.
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
		return problem.New(problem.Deadline, "the deadline passed while the answer waited for memory: answers have %d bytes together (limits.answers)", t.s.o.Limits.Answers).
			Within(t.s.o.Limits.Answers).Because(err)
	}
	return t.s.explainWait(err)
}

// compute waits for the turn of work of one goroutine over so many bytes, by what a byte
// takes in ns. What is short needs none.
func (t *turn) compute(ctx context.Context, bytes int, each float64) error {
	expected := time.Duration(math.Ceil(float64(bytes) * each))
	if expected < time.Millisecond {
		return nil
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	return t.s.explainWait(t.Next(ctx, expected))
}

// inTurn has do work on the body of r once it may: the body is read, then the request
// waits for its turn, which lasts until do returns.
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
	in.turn.since = in.turn.since.Add(-in.waited())
	r.queued = in.turn.spent()
	return do(in)
}

// explainWait says why a wait ended that ended by a context.
func (s *Server) explainWait(err error) error {
	if errors.Is(err, context.Canceled) && s.stopped.Err() != nil {
		return errDraining()
	}
	return err
}

// within bounds a context by the time that any search may take.
func (s *Server) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if most := s.o.Timeouts.Search; most > 0 {
		return context.WithTimeout(ctx, most)
	}
	return ctx, func() {}
}

// bounded is inTurn for requests whose bodies are small or were read, but whose answers
// take room bytes of memory: do has the turn, and the time, of a search.
func (s *Server) bounded(r *request, room int64, do func(context.Context) error) error {
	ctx, cancel := s.within(r.Context())
	defer cancel()
	t, err := s.turnOf(ctx, r.client())
	if err != nil {
		return err
	}
	defer t.end()
	if room > 0 {
		if err := t.reserveAnswer(ctx, room); err != nil {
			return err
		}
	}
	return s.explainWait(do(ctx))
}

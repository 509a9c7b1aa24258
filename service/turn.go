package service

import (
	"context"
	"errors"
	"time"
)

// inTurn has do work on the body of r once it may: it waits at the gate, and the turn
// lasts until do returns.
func (s *Server) inTurn(r *request, do func(*input) error) error {
	in, err := s.newInput(r)
	if err != nil {
		return err
	}
	defer in.close()
	queued := time.Now()
	leave, err := s.turn(r.Context(), in)
	if err != nil {
		return s.waited(err)
	}
	defer leave()
	r.queued = time.Since(queued)
	return do(in)
}

// turn enters the gate, within the time that any search may take. What was read before
// costs no room: nobody waits for who sends slowly.
func (s *Server) turn(ctx context.Context, in *input) (leave func(), err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	if in.read {
		return s.gate.enter(ctx, 0)
	}
	return s.gate.enter(ctx, in.size)
}

// waited says why a wait ended that ended by a context.
func (s *Server) waited(err error) error {
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
	leave, err := s.gate.enter(ctx, min(room, s.o.Limits.Bodies))
	if err != nil {
		return s.waited(err)
	}
	defer leave()
	return s.waited(do(ctx))
}

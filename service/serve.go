package service

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// mostHeader bounds a request's header, in bytes.
const mostHeader = 64 << 10

// lastAnswers is how long requests have to end once their work was stopped.
const lastAnswers = 5 * time.Second

// Serve answers requests on l, with TLS if cert is not nil, until ctx ends. From then on
// it refuses requests, which balancers see by /readyz; after Timeouts.LameDuck it accepts
// no more connections, has what is under way finish, for Timeouts.Drain at most, has
// batches stop at their next chunk, and returns nil. The caller then calls Close.
func (s *Server) Serve(ctx context.Context, l net.Listener, cert *tls.Config) error {
	hs := &http.Server{
		Handler:           s,
		TLSConfig:         cert,
		ReadHeaderTimeout: s.o.Timeouts.Header,
		IdleTimeout:       s.o.Timeouts.Idle,
		MaxHeaderBytes:    mostHeader,
		BaseContext:       func(net.Listener) context.Context { return s.stopped },
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		if cert != nil {
			served <- hs.ServeTLS(l, "", "")
			return
		}
		served <- hs.Serve(l)
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.beginDrain()
	s.o.Log.Info("refusing requests", "listening for", s.o.Timeouts.LameDuck)
	select {
	case err := <-served:
		return err
	case <-time.After(s.o.Timeouts.LameDuck):
	}
	// Not hs.Shutdown yet: it would cut off, without a word, who is about to ask.
	_ = l.Close()
	<-served
	s.o.Log.Info("draining", "timeout", s.o.Timeouts.Drain)
	return s.finish(hs)
}

// beginDrain refuses requests from now on.
func (s *Server) beginDrain() {
	s.entering.Lock()
	defer s.entering.Unlock()
	s.drain()
}

// enter counts a request as under way, until leave, unless the server ends.
func (s *Server) enter() (leave func(), err error) {
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.draining.Err() != nil {
		return nil, errDraining()
	}
	s.underWay.Add(1)
	return s.underWay.Done, nil
}

// finish ends a server that accepts no more.
func (s *Server) finish(hs *http.Server) error {
	soon, cancel := context.WithTimeout(context.Background(), s.o.Timeouts.Drain)
	defer cancel()
	checkpointed := make(chan error, 1)
	go func() { checkpointed <- s.batches.Close(soon) }()
	finished := make(chan struct{})
	go func() {
		s.underWay.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-soon.Done():
		s.o.Log.Warn("requests under way are stopped", "after", s.o.Timeouts.Drain)
		s.stop()
	}
	last, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	err := hs.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	if late := <-checkpointed; late != nil {
		s.o.Log.Warn("a batch is still at its chunk", "error", late) // Close waits for it
	}
	return err
}

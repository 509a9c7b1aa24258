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

// Serve answers requests on l, with TLS if cert is not nil, until ctx ends. Then it
// accepts no more, has searches under way finish, for Timeouts.Drain at most, has
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
	s.drain()
	s.o.Log.Info("draining", "timeout", s.o.Timeouts.Drain)
	err := s.finish(hs)
	<-served // http.ErrServerClosed
	return err
}

// finish ends a server that accepts no more.
func (s *Server) finish(hs *http.Server) error {
	soon, cancel := context.WithTimeout(context.Background(), s.o.Timeouts.Drain)
	defer cancel()
	checkpointed := make(chan error, 1)
	go func() { checkpointed <- s.batches.Close(soon) }()
	err := hs.Shutdown(soon)
	if errors.Is(err, context.DeadlineExceeded) {
		s.o.Log.Warn("requests under way are stopped", "after", s.o.Timeouts.Drain)
		s.stop()
		now, cancel := context.WithTimeout(context.Background(), lastAnswers)
		defer cancel()
		if err = hs.Shutdown(now); errors.Is(err, context.DeadlineExceeded) {
			err = hs.Close()
		}
	}
	return errors.Join(err, <-checkpointed)
}

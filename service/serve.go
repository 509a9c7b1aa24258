package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// maxHeader bounds a request's header, in bytes.
const maxHeader = 64 << 10

// Serve answers requests on l, with TLS if cert is not nil, until ctx ends. From then on it
// refuses requests, which load balancers see by /readyz; after Timeouts.LameDuck it accepts
// no more connections, lets running requests finish within Timeouts.Drain, stops batches at
// their next chunk, and returns nil. Requests that still run then are stopped, and Serve waits a few
// seconds more at most, also for those that ignore it. The caller then calls Close.
//
// grpc, if not nil, is the listener of gRPC.
func (s *Server) Serve(ctx context.Context, l, grpc net.Listener, cert *tls.Config) error {
	s.connections.take()
	defer s.connections.end()
	all := serving{s.listen(s, l, cert)}
	if grpc != nil {
		calls := s.listen(s.RPC(), grpc, cert)
		calls.Protocols = &http.Protocols{}
		calls.Protocols.SetHTTP2(cert != nil)
		calls.Protocols.SetUnencryptedHTTP2(cert == nil)
		all = append(all, calls)
	}
	served := all.serve()
	// If one listener fails, the others are closed.
	failed := func(err error) error { return errors.Join(err, all.close(), all.await(served, len(all)-1)) }
	select {
	case err := <-served:
		return failed(err)
	case <-ctx.Done():
	}
	s.beginDrain()
	s.o.Log.Info("refusing requests", "listening for", s.o.Timeouts.LameDuck)
	if err := s.refuse(served); err != nil {
		return failed(err)
	}
	// Shutdown follows later, because it would close idle connections on which requests may
	// be arriving.
	all.deafen()
	_ = all.await(served, len(all))
	s.o.Log.Info("draining", "timeout", s.o.Timeouts.Drain)
	return s.finish(all)
}

// refuse waits for Timeouts.LameDuck, so that load balancers notice that the server is
// shutting down.
func (s *Server) refuse(served <-chan error) error {
	over := s.o.lameDuck
	if over == nil {
		t := time.NewTimer(s.o.Timeouts.LameDuck)
		defer t.Stop()
		select {
		case err := <-served:
			return err
		case <-t.C:
			return nil
		}
	}
	select {
	case err := <-served:
		return err
	case <-over:
		return nil
	}
}

// beginDrain refuses requests from now on.
func (s *Server) beginDrain() {
	s.entering.Lock()
	defer s.entering.Unlock()
	s.drain()
}

// enter counts a running request until leave; it fails if the server is shutting down.
func (s *Server) enter() (leave func(), err error) {
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.draining.Err() != nil {
		return nil, errDraining()
	}
	s.underWay.Add(1)
	s.running.Add(1)
	return func() {
		s.running.Add(-1)
		s.underWay.Done()
	}, nil
}

// finish ends a server that accepts no more connections.
func (s *Server) finish(all serving) error {
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
		if s.running.Load() > 0 {
			s.o.Log.Warn("running requests are stopped", "after", s.o.Timeouts.Drain)
		}
		s.stop()
	}
	last, cancel := context.WithTimeout(context.Background(), cmp.Or(s.o.lastAnswers, 5*time.Second))
	defer cancel()
	err := all.shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = all.close()
	}
	if late := <-checkpointed; late != nil {
		s.o.Log.Warn("a batch is still working on its chunk", "error", late) // Close waits for it
	}
	return err
}

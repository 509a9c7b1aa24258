package service

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// listener is an HTTP server and its listener.
type listener struct {
	*http.Server
	l net.Listener
}

// listen returns an HTTP server that answers on l with h.
func (s *Server) listen(h http.Handler, l net.Listener, cert *tls.Config) listener {
	return listener{&http.Server{
		Handler:           h,
		TLSConfig:         cert.Clone(), // each server adds its protocols
		ReadHeaderTimeout: s.o.Timeouts.Header,
		IdleTimeout:       s.o.Timeouts.Idle,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       ofConnection,
		BaseContext:       func(net.Listener) context.Context { return s.stopped },
		ErrorLog:          s.connectionErrors(),
	}, gate{l, &s.connections}}
}

// serving is the list of all listeners.
type serving []listener

// serve starts all; the channel receives the reason why each ended.
func (all serving) serve() chan error {
	served := make(chan error, len(all))
	for _, l := range all {
		go func() {
			if l.TLSConfig != nil {
				served <- l.ServeTLS(l.l, "", "")
				return
			}
			served <- l.Serve(l.l)
		}()
	}
	return served
}

// await waits until n closed listeners have ended.
func (all serving) await(served chan error, n int) error {
	var err error
	for range n {
		if e := <-served; !errors.Is(e, http.ErrServerClosed) && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// deafen stops accepting connections.
func (all serving) deafen() {
	for _, l := range all {
		_ = l.l.Close()
	}
}

// shutdown closes connections once they are idle.
func (all serving) shutdown(ctx context.Context) error {
	var err error
	for _, l := range all {
		err = errors.Join(err, l.Shutdown(ctx))
	}
	return err
}

func (all serving) close() error {
	var err error
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return err
}

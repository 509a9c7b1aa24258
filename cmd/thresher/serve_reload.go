package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"thresher/config"
	"thresher/service"
)

// certificates serves the TLS certificate that was loaded last.
type certificates struct {
	now atomic.Pointer[tls.Certificate]
}

// read loads the configured certificate and key. Without settings it does nothing.
func (x *certificates) read(c *config.Server) error {
	if c.TLSCert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return fmt.Errorf("serve: certificate %s, key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	x.now.Store(&pair)
	return nil
}

// config returns the TLS configuration, nil without a certificate.
func (x *certificates) config() *tls.Config {
	if x.now.Load() == nil {
		return nil
	}
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return x.now.Load(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}

// catchHangups delivers SIGHUP on hangups instead of letting it end the process, until
// stop is called.
func catchHangups() (hangups <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloads reloads tokens and certificate at each hangup, until ctx ends. If a reload fails
// the error is logged and the old values stay in use.
func (a *app) reloads(ctx context.Context, hangups <-chan os.Signal, s *service.Server, certs *certificates, copies *replicas) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if err := a.reload(s, certs, copies); err != nil {
			a.Log.Error("reload failed: the old settings stay in use", "error", err)
			continue
		}
		a.Log.Info("reloaded tokens and certificate")
	}
}

// reload loads the configuration again, from its file and variables and the same flags.
func (a *app) reload(s *service.Server, certs *certificates, copies *replicas) error {
	c, err := config.Load(a.Sources)
	if err == nil {
		err = c.CheckServer()
	}
	if err != nil {
		return err
	}
	if (c.Server.TLSCert == "") != (certs.now.Load() == nil) {
		return errors.New("enabling or disabling HTTPS needs a restart")
	}
	if c.Server.ReadOnly != (copies != nil) {
		return errors.New("a server that is read-only, or is not any more, needs a restart")
	}
	next := &certificates{}
	if err := next.read(&c.Server); err != nil {
		return err
	}
	if err := s.SetTokens(tokens(&c.Server)); err != nil {
		return err
	}
	certs.now.Store(next.now.Load())
	if copies != nil {
		copies.reload(c.Server.Replicas)
	}
	return nil
}

// tokens converts the configured tokens to those of the service.
func tokens(c *config.Server) []service.Token {
	var all []service.Token
	for _, t := range c.Tokens {
		all = append(all, service.Token{Name: t.Name, Write: t.Scope == config.Write, Metrics: t.Scope == config.Metrics, Hash: t.Hash})
	}
	return all
}

// Package servetest runs servers with duels and slates in tests.
package servetest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"thresher/batch"
	"thresher/choice/serve"
	"thresher/choice/serve/choiceclient"
	"thresher/collection"
	"thresher/cpu"
	"thresher/service"
	"thresher/service/client"
	"thresher/service/extension"
	"thresher/service/metrics"
	"thresher/service/servicetest"
)

// Site is a listening server, and a client of it, whose answers are compared with the description of the API.
type Site struct {
	*servicetest.Caller
	// Extensions are those of tournaments and of slates, in this order.
	Extensions []extension.Extension

	server *service.Server
	log    *logged
	shut   context.CancelFunc // acts as SIGTERM
	ended  chan error         // the result of Serve
}

// Start runs a server on the folder dir, whose collections are loaded then, until the test ends or Stop is called. change, if not nil, may change its
// options and those of its extensions.
func Start(t testing.TB, dir string, change func(*service.Options, *serve.Options)) *Site {
	t.Helper()
	b := cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() { b.Close() })
	s := &Site{log: &logged{}, ended: make(chan error, 1)}
	scrape := metrics.NewRegistry()
	counted, err := metrics.New(scrape)
	if err != nil {
		t.Fatal(err)
	}
	o := service.Options{
		Dir: dir, Backend: "cpu", Device: "test", Metrics: counted, Scrape: metrics.NewPages(scrape), Threads: 2,
		Version: map[string]string{"version": "(test)"}, Release: "(test)",
		Timeouts: service.Timeouts{Header: time.Hour, Body: time.Hour, Idle: time.Hour, Search: time.Hour, Drain: time.Hour}, // none strikes on a slow machine
		Log:      slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Open: func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, b, nil)
		},
	}
	var own serve.Options
	if change != nil {
		change(&o, &own)
	}
	if own.Metrics, err = serve.NewMetrics(scrape, counted); err != nil {
		t.Fatal(err)
	}
	s.Extensions = serve.New(own)
	o.Extensions = s.Extensions
	if s.server, err = service.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Caller = &servicetest.Caller{T: t, URL: "http://" + l.Addr().String(), HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	ctx, shut := context.WithCancel(context.Background())
	s.shut = shut
	go func() { s.ended <- s.server.Serve(ctx, l, nil, nil) }()
	t.Cleanup(s.Stop)
	s.Caller.Description = s.described()
	s.load()
	return s
}

// load waits until the server has loaded what collections it has: requests for them are refused before.
func (s *Site) load() {
	s.T.Helper()
	for {
		a, err := s.HTTP.Get(s.URL + "/readyz")
		if err != nil {
			s.T.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil {
			s.T.Fatal(err)
		}
		if !bytes.Contains(body, []byte("being loaded")) {
			return
		}
		select {
		case <-s.T.Context().Done():
			s.T.Fatal("collections were never loaded")
		case <-time.After(time.Millisecond):
		}
	}
}

// description is that of all servers of this package.
var description struct {
	once  sync.Once
	found *servicetest.Description
	err   error
}

func (s *Site) described() *servicetest.Description {
	s.T.Helper()
	d := &description
	d.once.Do(func() {
		d.found, d.err = servicetest.ParseDescription(s.Do("GET", "/openapi.yaml", nil).Want(200).Body)
	})
	if d.err != nil {
		s.T.Fatal(d.err)
	}
	return d.found
}

// Stop shuts the server down as a signal does, once.
func (s *Site) Stop() {
	if s.shut == nil {
		return
	}
	s.HTTP.CloseIdleConnections()
	s.shut()
	s.shut = nil
	if err := <-s.ended; err != nil {
		s.T.Errorf("Serve: %v", err)
	}
	if err := s.server.Close(context.Background()); err != nil {
		s.T.Errorf("Close: %v", err)
	}
}

// Damaged is how many damaged parts the server has found at its start.
func (s *Site) Damaged() int { return s.server.Found()["damaged"] }

// Log returns what the server has logged.
func (s *Site) Log() string { return s.log.String() }

// In reports failures to a subtest until it ends.
func (s *Site) In(t *testing.T) {
	outer := s.T
	s.T = t
	t.Cleanup(func() { s.T = outer })
}

// Choices returns a client of tournaments and slates that never retries.
func (s *Site) Choices() *choiceclient.Client {
	s.T.Helper()
	c, err := client.New(s.URL, &client.Options{HTTP: s.HTTP, Attempts: 1})
	if err != nil {
		s.T.Fatal(err)
	}
	return choiceclient.Of(c)
}

// logged keeps the log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

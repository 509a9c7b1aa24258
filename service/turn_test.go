package service

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSmallSearchesPassSlowBodies: a search whose body is complete does not wait for the
// memory of large bodies being received.
func TestSmallSearchesPassSlowBodies(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Body, o.Limits.Bodies = 1<<20, 1<<20 })
	s.fill()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST "+searchFilms+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n"); err != nil {
		t.Fatal(err)
	}
	for s.opened.Load() < 2 {
		runtime.Gosched()
	}
	s.do("POST", searchFilms, oneQuery("")).want(200)
}

// TestResults: the number of queries times k, with k at most the number of atoms, is bounded.
func TestResults(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Results = 2 * atoms })
	s.fill()
	queries := strings.Repeat("["+strings.Repeat("1,", dim-1)+"1],", 3)
	body := func(k string) string {
		return `{"queries":[` + strings.TrimSuffix(queries, ",") + `],"cut_k":true,"k":` + k + `}`
	}
	s.do("POST", searchFilms, body("200")).want(200)
	if p := s.do("POST", searchFilms, body("201")).problem(400, "over-limit"); p.Field != "k" || p.Limit != 2.*atoms {
		t.Errorf("%+v", p)
	}
	s.do("POST", searchFilms, body("5000")).problem(400, "over-limit") // k is reduced to 300
}

// TestDeadlineInTheQueue: the wait for a slot counts towards a search's timeout.
func TestDeadlineInTheQueue(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches = 1 })
	s.fill()
	begun, release := s.held()
	defer release()
	first := s.later(oneQuery(""))
	<-begun
	second := s.later(oneQuery(`,"timeout_ms":1`))
	for s.waitingNow() < 1 {
		runtime.Gosched()
	}
	for came := time.Now(); time.Since(came) < 2*time.Millisecond; {
		runtime.Gosched()
	}
	release()
	(<-first).want(200)
	if p := (<-second).problem(504, "deadline"); p.Field != "timeout_ms" {
		t.Errorf("%+v", p)
	}
}

// TestLongestWait: a search without a timeout waits up to the server's timeout of searches.
func TestLongestWait(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches = 1 })
	s.fill()
	s.o.Timeouts.Search = 50 * time.Millisecond
	held, err := s.turnOf(context.Background(), "address 127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer held.end()
	s.do("POST", searchFilms, oneQuery("")).problem(504, "deadline")
}

// watchedClient records the deadlines that a request has set.
type watchedClient struct {
	http.ResponseWriter
	mu          sync.Mutex
	read, write time.Time // zero if there is none
}

func (d *watchedClient) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *watchedClient) SetReadDeadline(t time.Time) error { return d.set(&d.read, t) }

func (d *watchedClient) SetWriteDeadline(t time.Time) error { return d.set(&d.write, t) }

func (d *watchedClient) set(which *time.Time, t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	*which = t
	if which == &d.read {
		return http.NewResponseController(d.ResponseWriter).SetReadDeadline(t)
	}
	return http.NewResponseController(d.ResponseWriter).SetWriteDeadline(t)
}

func (d *watchedClient) now() (read, write time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.read, d.write
}

// TestSlowAnswersOverHTTP2: while a search runs its connection has no deadline, which on
// HTTP/2 would end the request. There are deadlines before, for the body, and afterwards, for
// the answer.
func TestSlowAnswersOverHTTP2(t *testing.T) {
	s := start(t, nil)
	s.fill()
	asked := make(chan *watchedClient, 1)
	tls := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &watchedClient{ResponseWriter: w}
		asked <- d
		s.Server.ServeHTTP(d, r)
	}))
	tls.EnableHTTP2 = true
	tls.StartTLS()
	defer tls.Close()
	begun, release := s.held()
	defer release()
	done := make(chan error, 1)
	body, send := io.Pipe()
	go func() {
		resp, err := tls.Client().Post(tls.URL+searchFilms, jsonType, body)
		if err == nil {
			defer resp.Body.Close()
			if _, err = io.Copy(io.Discard, resp.Body); resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
				t.Errorf("%s %s", resp.Proto, resp.Status)
			}
		}
		done <- err
	}()
	d := <-asked
	for read := (time.Time{}); read.IsZero(); read, _ = d.now() {
		runtime.Gosched() // until it waits for the body
	}
	if _, err := io.WriteString(send, oneQuery("")); err != nil {
		t.Error(err)
	}
	send.Close()
	<-begun
	if read, write := d.now(); !read.IsZero() || !write.IsZero() {
		t.Errorf("while the search runs the client has until %v to send and %v to receive", read, write)
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, write := d.now(); write.IsZero() {
		t.Error("the client has for ever to receive the answer")
	}
}

package service

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"thresher/service/problem"
)

// connect opens a connection to the server and sends a request over it, whose answer it returns.
func (s *site) connect(path string) (net.Conn, *http.Response) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(soon)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return c, resp
}

// crowded fails the test unless an answer refuses a connection.
func crowded(t *testing.T, resp *http.Response) {
	t.Helper()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !resp.Close {
		t.Errorf("status %d, %v; want 503 and an end", resp.StatusCode, resp.Header)
	}
}

// TestConnections: requests on connections beyond the limit are refused, except probes, and one
// that ends makes room for another.
func TestConnections(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Connections = 2 })
	first, resp := s.connect("/v1/collections")
	if resp.StatusCode != 200 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	if _, resp := s.connect("/v1/collections"); resp.StatusCode != 200 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	_, resp = s.connect("/v1/collections")
	crowded(t, resp)
	probe, resp := s.connect("/healthz")
	if resp.StatusCode != 200 {
		t.Errorf("a probe got %d", resp.StatusCode)
	}
	probe.Close()
	if n := len(s.lines("too many connections are open: requests on further ones are refused")); n != 1 {
		t.Errorf("%d warnings, want one for all", n)
	}
	first.Close()
	for status := 503; status != 200; { // until the server sees the end
		var c net.Conn
		c, resp = s.connect("/v1/collections")
		status = resp.StatusCode
		c.Close()
	}
}

// TestFarTooManyConnections: connections that cannot even be refused with an answer are closed.
func TestFarTooManyConnections(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Connections, o.Timeouts.Header = 1, time.Hour })
	var open []net.Conn
	for range 1 + maxSurplus + 1 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	last := open[len(open)-1]
	if err := last.SetDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	if _, err := last.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the last connection: %v, want its end", err)
	}
}

// exhausted is a listener that has no descriptor for the first connections, whose errors it has.
type exhausted struct {
	net.Listener
	mu     sync.Mutex
	errors []error
}

func (e *exhausted) Accept() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.errors) > 0 {
		err := e.errors[0]
		e.errors = e.errors[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return e.Listener.Accept()
}

// TestNoDescriptors: a server that has no descriptor left for a connection refuses its request by
// means of the spare one, says so in the log, and goes on; also if it has none at all for a while.
func TestNoDescriptors(t *testing.T) {
	s := start(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	short := &exhausted{Listener: l, errors: []error{syscall.EMFILE, syscall.ENFILE, syscall.EMFILE}}
	s.connect("/healthz") // it has the spare descriptor once it serves
	taken := 0
	s.connections.mu.Lock()
	s.connections.reach = func() (io.Closer, error) {
		if taken++; taken == 2 { // for the connection that was accepted with the spare one
			return nil, syscall.EMFILE
		}
		return anyFile()
	}
	s.connections.mu.Unlock()
	server := s.listen(s, short, nil)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(server.l) }()
	s.url = "http://" + l.Addr().String()
	refused := 0
	for status := 503; status != 200; {
		c, resp := s.connect("/v1/collections")
		if status = resp.StatusCode; status == 503 {
			crowded(t, resp)
			refused++
		}
		c.Close()
	}
	if refused != 1 {
		t.Errorf("%d requests were refused, want the one that had the spare descriptor", refused)
	}
	if n := len(s.lines("no file descriptor is free: connections are refused (ulimit -n, limits.connections)")); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// TestDescriptorsOfFiles: a request that needs a file when no descriptor is free is refused like
// one that needs a connection.
func TestDescriptorsOfFiles(t *testing.T) {
	p := problem.Of(&os.PathError{Op: "open", Path: "secret", Err: syscall.EMFILE})
	if p.Kind != problem.Crowded || p.RetryAfter <= 0 || strings.Contains(p.Detail, "secret") {
		t.Errorf("%+v", p)
	}
}

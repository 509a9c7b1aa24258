package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/oip/inferencepb"
)

// remove makes a token invalid.
func (s *site) remove(name string) {
	s.t.Helper()
	left := slices.DeleteFunc(slices.Clone(s.tokens()), func(t Token) bool { return t.Name == name })
	if err := s.SetTokens(left); err != nil {
		s.t.Fatal(err)
	}
}

// demote makes a token permit reading alone.
func (s *site) demote(name string) {
	s.t.Helper()
	all := slices.Clone(s.tokens())
	all[slices.IndexFunc(all, func(t Token) bool { return t.Name == name })].Write = false
	if err := s.SetTokens(all); err != nil {
		s.t.Fatal(err)
	}
}

// attended waits until a number of permitted requests are being answered.
func (s *site) attended(n int) {
	s.t.Helper()
	for {
		s.admitted.mu.Lock()
		now := len(s.admitted.all)
		s.admitted.mu.Unlock()
		if now == n {
			return
		}
		runtime.Gosched()
	}
}

// bearer returns the header of a token.
func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// patient is guarded, with clients that may send nothing for long.
func patient(o *Options) {
	guarded(o)
	o.Timeouts.Body = time.Hour
}

// TestRevokedStreams: a stream whose token is removed ends with the message that it answers, or
// else with the next; other tokens' streams go on.
func TestRevokedStreams(t *testing.T) {
	s := start(t, patient)
	s.token = "w-secret"
	s.fill()
	open := func(token string) *connect.BidiStreamForClientSimple[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse] {
		t.Helper()
		s.token = token
		stream, err := s.calls().ModelStreamInfer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(asking("films", gaussian(3, dim))); err != nil {
			t.Fatal(err)
		}
		if a, err := stream.Receive(); err != nil || a.ErrorMessage != "" {
			t.Fatal(a, err)
		}
		return stream
	}
	idle, other := open("r-secret"), open("w-secret")
	busy := open("r-secret")
	begun := make(chan struct{}, 100)
	s.hooks.set(func(ctx context.Context) { begun <- struct{}{}; <-ctx.Done() }, nil)
	if err := busy.Send(asking("films", gaussian(4, dim))); err != nil {
		t.Fatal(err)
	}
	<-begun
	s.remove("reader")
	s.hooks.set(nil, nil)
	// It is not ended before, unless the server had sent its answer and did not yet wait for the next.
	if err := idle.Send(asking("films", gaussian(3, dim))); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for name, stream := range map[string]*connect.BidiStreamForClientSimple[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse]{"idle": idle, "busy": busy} {
		a, err := stream.Receive()
		if connect.CodeOf(err) != connect.CodeUnauthenticated || !strings.Contains(err.Error(), "removed") {
			t.Errorf("%s: %v %v", name, a, err)
		}
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
	}
	if err := other.Send(asking("films", gaussian(5, dim))); err != nil {
		t.Fatal(err)
	}
	if a, err := other.Receive(); err != nil || a.ErrorMessage != "" {
		t.Error(a, err)
	}
	if err := errors.Join(other.CloseRequest(), other.CloseResponse()); err != nil {
		t.Error(err)
	}
	s.attended(0)
}

// TestDemotedStreams: what certificates withhold from readers is withheld from a stream's next
// message on, once its token may only read.
func TestDemotedStreams(t *testing.T) {
	s := start(t, patient)
	s.token = "w-secret"
	s.fill()
	stream, err := s.calls().ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, withheld := range []bool{false, true} {
		ask := asking("films", gaussian(3, dim))
		ask.Outputs = []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "pulls"}}
		if err := stream.Send(ask); err != nil {
			t.Fatal(err)
		}
		a, err := stream.Receive()
		if err != nil || a.ErrorMessage != "" {
			t.Fatal(a, err)
		}
		if minusOne := string(a.InferResponse.RawOutputContents[0]) == strings.Repeat("\xff", 8); minusOne != withheld {
			t.Errorf("pulls are withheld: %v, want %v", minusOne, withheld)
		}
		s.demote("writer")
	}
	if err := errors.Join(stream.CloseRequest(), stream.CloseResponse()); err != nil {
		t.Error(err)
	}
}

// TestRevokedUploads: an upload whose token is removed, or may no longer write, ends while its
// body is still to come, and leaves nothing.
func TestRevokedUploads(t *testing.T) {
	for name, revoke := range map[string]func(*site){
		"removed": func(s *site) { s.remove("writer") },
		"demoted": func(s *site) { s.demote("writer") },
	} {
		for _, path := range []string{"/v1/files", "/v1/collections/films?metric=ip"} {
			s := start(t, guarded)
			r, w := io.Pipe()
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
				if path != "/v1/files" {
					head = string(npy(gaussian(1, 100*dim), dim)[:200])
				}
				_, _ = w.Write([]byte(head))
			}()
			got := make(chan *answer)
			kind := map[bool]string{true: "multipart/form-data; boundary=b", false: npyType}[path == "/v1/files"]
			go func() {
				method := map[bool]string{true: "POST", false: "PUT"}[path == "/v1/files"]
				got <- s.do(method, path, r, append(bearer("w-secret"), "Content-Type", kind)...)
			}()
			<-sent
			s.attended(1)
			revoke(s)
			a := <-got
			if p := a.problem(401, "unauthorized"); !strings.Contains(p.Detail, "removed") || a.header.Get("Www-Authenticate") == "" {
				t.Errorf("%s %s: %+v", name, path, p)
			}
			w.Close()
			s.attended(0)
			s.stopAll()
			if lines := s.audits(); !slices.ContainsFunc(lines, func(l auditLine) bool { return l.Token == "writer" && l.Outcome == outcomeUnknown && l.Status == 401 }) {
				t.Errorf("%s %s: no audit line says that the end is unknown: %+v", name, path, lines)
			}
			for _, folder := range []string{filesName, collectionsName} {
				if left, err := os.ReadDir(filepath.Join(s.o.Dir, folder)); err != nil || len(left) > 0 {
					t.Errorf("%s %s: %v %v is left", name, path, left, err)
				}
			}
		}
	}
}

// TestRevokedDownloads: a download whose token is removed is cut off.
func TestRevokedDownloads(t *testing.T) {
	s := start(t, guarded)
	s.token = "w-secret"
	id := s.upload("long", make([]byte, 32<<20), "batch") // longer than what the system's buffers hold
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "GET /v1/files/%s/content HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer w-secret\r\n\r\n", id); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.remove("writer")
	n, err := io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || n >= 32<<20 {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, n, err)
	}
	s.attended(0)
}

// TestRevokedSearches: a search whose token is removed is stopped.
func TestRevokedSearches(t *testing.T) {
	s := start(t, guarded)
	s.token = "w-secret"
	s.fill()
	begun := make(chan struct{}, 100)
	s.hooks.set(func(ctx context.Context) { begun <- struct{}{}; <-ctx.Done() }, nil)
	got := make(chan *answer)
	go func() { got <- s.do("POST", searchFilms, oneQuery(""), bearer("r-secret")...) }()
	<-begun
	s.remove("reader")
	(<-got).problem(401, "unauthorized")
	s.attended(0)
}

// TestRevokedWaits: who waits for a build is not told of its end after its token was removed; the
// build, which was accepted, goes on.
func TestRevokedWaits(t *testing.T) {
	gate := make(chan struct{})
	s := start(t, func(o *Options) {
		guarded(o)
		inner := o.Open
		o.Open = func(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
			<-gate
			return inner(ctx, name, c)
		}
	})
	got := make(chan *answer)
	go func() {
		got <- s.do("PUT", "/v1/collections/films?metric=ip&wait=true", npy(gaussian(1, 100*dim), dim), append(bearer("w-secret"), "Content-Type", npyType)...)
	}()
	for {
		if info, err := s.catalog.Get("films"); err == nil && info.State == "building" {
			break
		}
		runtime.Gosched()
	}
	s.remove("writer")
	(<-got).problem(401, "unauthorized")
	close(gate)
	for {
		if info, err := s.catalog.Get("films"); err != nil || info.State == "failed" {
			t.Fatal(info, err)
		} else if info.State == "ready" {
			break
		}
		runtime.Gosched()
	}
}

// TestTokensFromNoneEndWhatIsOpen: once a server without tokens gets some, requests without one
// are not answered to their end.
func TestTokensFromNoneEndWhatIsOpen(t *testing.T) {
	s := start(t, nil)
	s.fill()
	begun := make(chan struct{}, 100)
	s.hooks.set(func(ctx context.Context) { begun <- struct{}{}; <-ctx.Done() }, nil)
	got := s.later(oneQuery(""))
	<-begun
	var o Options
	guarded(&o)
	if err := s.SetTokens(o.Tokens); err != nil {
		t.Fatal(err)
	}
	(<-got).problem(401, "unauthorized")
}

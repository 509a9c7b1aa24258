package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
)

// oneQuery is the body of a search that the cpu backend must work on.
func oneQuery(extra string) string {
	return `{"queries":[[` + strings.Repeat("1,", dim-1) + `1]],"method":"exact"` + extra + `}`
}

const searchFilms = "/v1/collections/films/search"

// later sends a search; the channel receives its answer.
func (s *site) later(body string) <-chan *answer {
	done := make(chan *answer, 1)
	go func() { done <- s.do("POST", searchFilms, body) }()
	return done
}

// held makes searches wait for the test: begun reports each, release lets all continue.
func (s *site) held() (begun <-chan struct{}, release func()) {
	began, gate := make(chan struct{}, 1024), make(chan struct{})
	s.hooks.set(func(context.Context) {
		began <- struct{}{}
		<-gate
	}, nil)
	return began, sync.OnceFunc(func() {
		s.hooks.set(nil, nil)
		close(gate)
	})
}

// TestQueue: of the searches beyond the concurrent ones some wait, and the next is refused.
func TestQueue(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches, o.Limits.Waiting = 1, 1 })
	s.fill()
	begun, release := s.held()
	defer release()
	first := s.later(oneQuery(""))
	<-begun
	second := s.later(oneQuery(""))
	for s.waitingNow() < 1 {
		runtime.Gosched()
	}
	a := s.do("POST", searchFilms, oneQuery(""))
	if p := a.problem(429, "queue-full"); p.Limit != 1. || a.header.Get("Retry-After") != "1" {
		t.Errorf("%+v, Retry-After %q", p, a.header.Get("Retry-After"))
	}
	s.do("GET", "/v1/collections/films", nil).want(200) // only searches wait
	release()
	(<-first).want(200)
	(<-second).want(200)
	s.do("POST", searchFilms, oneQuery("")).want(200)
}

func (s *site) waitingNow() int { return s.slots.Waiting() }

// TestClientsThatGo: a client that disconnects leaves nothing in the queue, and its search is
// stopped.
func TestClientsThatGo(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches, o.Limits.Waiting = 1, 1 })
	s.fill()
	stopped := make(chan struct{})
	begun := make(chan struct{})
	s.hooks.set(func(ctx context.Context) {
		close(begun)
		<-ctx.Done()
		close(stopped)
	}, nil)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+searchFilms, strings.NewReader(oneQuery("")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", jsonType)
	go func() {
		<-begun
		leave()
	}()
	if resp, err := s.client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("an answer for a client that left")
	}
	<-stopped
	s.hooks.set(nil, nil)
	s.do("POST", searchFilms, oneQuery("")).want(200)
	s.stopAll()
	for _, l := range s.lines("request") {
		if l["status"] == 500. {
			t.Errorf("%v", l)
		}
	}
}

func TestDeadlines(t *testing.T) {
	s := start(t, nil)
	s.fill()
	t.Run("nothing was looked at", func(t *testing.T) {
		s.in(t)
		s.hooks.set(untilStopped, nil)
		p := s.do("POST", searchFilms, oneQuery(`,"timeout_ms":20`)).problem(504, "deadline")
		if p.Field != "timeout_ms" {
			t.Errorf("%+v", p)
		}
		s.do("POST", "/v2/models/films/infer", `{"parameters":{"timeout_ms":20,"method":"exact"},"inputs":[{"name":"queries","datatype":"FP32","shape":[1,8],"data":[1,1,1,1,1,1,1,1]}]}`).problem(504, "deadline")
	})
	t.Run("the best so far", func(t *testing.T) {
		s.in(t)
		s.hooks.set(nil, nil)
		s.hooks.halve(2)
		var r results
		queries := [][]float32{gaussian(1, dim), gaussian(2, dim)}
		inTime(t, func(deadline time.Duration) (late bool) {
			a := s.do("POST", searchFilms, map[string]any{"queries": queries, "method": "exact", "timeout_ms": deadline.Milliseconds(), "include": []string{"certificate"}})
			if a.status == 504 {
				return true
			}
			a.want(200).into(&r)
			return !r.Results[0].Complete
		})
		if x := r.Results[0]; !x.Complete || len(x.IDs) != 10 || x.Guarantee != "exact" {
			t.Errorf("the query that was answered: %+v", x)
		}
		if x := r.Results[1]; x.Complete || x.OpenBound == nil || x.Certificate["stopped_by"] != "deadline" || x.Guarantee != "bound" || x.Certificate["guarantee"] != "bound" {
			t.Errorf("the query that was not: %+v", x)
		}
	})
	t.Run("the server's own", func(t *testing.T) {
		short := start(t, func(o *Options) { o.Timeouts.Search = 20 * time.Millisecond })
		short.fill()
		short.hooks.set(untilStopped, nil)
		short.do("POST", searchFilms, oneQuery("")).problem(504, "deadline")
		short.do("POST", searchFilms, oneQuery(`,"timeout_ms":60000`)).problem(504, "deadline")
	})
}

// gathered returns how many searches have joined a run and wait for its end.
func gathered() int {
	all := make([]byte, 1<<20)
	return bytes.Count(all[:runtime.Stack(all, true)], []byte("batch.(*Coalescer).await("))
}

// TestDeadlineOfOne: of searches that run together one reaches its deadline: it gets the best
// so far, the other its complete answer.
func TestDeadlineOfOne(t *testing.T) {
	inTime(t, func(deadline time.Duration) (late bool) { return deadlineOfOne(t, deadline) })
}

func deadlineOfOne(t *testing.T, deadline time.Duration) (late bool) {
	s := start(t, func(o *Options) {
		o.Coalesce = &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1}
	})
	defer s.stopAll()
	s.fill()
	begun, gate := make(chan struct{}), make(chan struct{})
	var steps atomic.Int64
	s.hooks.set(func(context.Context) { // for one run after the other
		switch steps.Add(1) {
		case 1:
			close(begun)
			<-gate
		case 2: // the run of both
			s.hooks.halve(4)
		case 3: // again, for one
			s.hooks.halve(0)
		}
	}, nil)
	first := s.later(oneQuery(""))
	<-begun
	row := "[" + strings.Repeat("1,", dim-1) + "2]"
	timed := s.later(`{"queries":[` + row + `,` + row + `,` + row + `],"method":"exact","include":["certificate"],"timeout_ms":` + fmt.Sprint(deadline.Milliseconds()) + `}`)
	other := s.later(oneQuery(""))
	for gathered() < 3 && len(timed) == 0 {
		runtime.Gosched()
	}
	close(gate)
	(<-first).want(200)
	var r results
	a := <-timed
	if a.status == 504 {
		(<-other).want(200)
		return true
	}
	a.want(200).into(&r)
	partial := 0
	for _, x := range r.Results {
		if !x.Complete {
			partial++
			if x.OpenBound == nil || x.Certificate["stopped_by"] != "deadline" {
				t.Errorf("%+v", x)
			}
		}
	}
	r = results{}
	(<-other).want(200).into(&r)
	if x := r.Results[0]; !x.Complete || len(x.IDs) != 10 {
		t.Errorf("%+v", x)
	}
	if partial == 0 || partial == 3 { // half of all four are answered, in either order, unless it was too late for a shared run
		return true
	}
	s.hooks.set(nil, nil)
	if text := string(s.do("GET", "/metrics", nil).want(200).body); !strings.Contains(text, fmt.Sprintf(`thresher_partial_answers_total{collection="films",method="exact"} %d`, partial)) {
		t.Error("no partial answer is counted")
	}
	return false
}

// TestSlowBodies: a client that announces more than it sends is refused, and does not delay
// other searches meanwhile.
func TestSlowBodies(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches, o.Limits.Waiting = 1, -1 })
	s.fill()
	s.pace.grace = time.Second
	var all sync.WaitGroup
	for _, request := range []string{
		"POST " + searchFilms + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"queries\":",
		"POST " + searchFilms + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"que\r\n",
		"PUT /v1/collections/new?metric=ip HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-npy\r\nContent-Length: 1000\r\n\r\n\x93NUMPY",
		"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\n\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc",
	} {
		all.Go(func() {
			status, rest := s.raw(request)
			if !strings.Contains(status, " 408 ") || !strings.Contains(rest, "request-timeout") {
				t.Errorf("%.40s: %s %s", request, status, rest)
			}
		})
	}
	all.Wait()
	if list := s.catalog.List(); len(list) != 1 {
		t.Errorf("half of a body made a collection: %+v", list)
	}
	// A refusal without reading the body ends the connection, too.
	if status, _ := s.raw("POST /v1/none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc"); !strings.Contains(status, " 404 ") {
		t.Error(status)
	}
}

// raw sends bytes and reads until the server closes the connection.
func (s *site) raw(request string) (status, rest string) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(soon)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		s.t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if status, err = r.ReadString('\n'); err != nil {
		s.t.Fatalf("%.60q: no answer: %v", request, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		s.t.Fatalf("%.60q: the connection stays open: %v", request, err)
	}
	return status, string(text)
}

// TestPace: a body that keeps the rate is read completely; one that stalls is aborted,
// however fast it was before.
func TestPace(t *testing.T) {
	p := pace{grace: time.Second, rate: 100}
	if got := p.timeFor(250); got != 3500*time.Millisecond {
		t.Errorf("250 bytes may take %v", got)
	}
	var set []time.Time
	body := &paced{body: io.NopCloser(bytes.NewReader(make([]byte, 1000))), control: http.NewResponseController(&deadlines{set: &set}), pace: p}
	chunk := make([]byte, 100)
	begun := time.Now()
	for range 3 {
		if _, err := body.Read(chunk); err != nil {
			t.Fatal(err)
		}
	}
	body.began = begun.Add(-time.Hour) // 300 bytes in an hour
	if _, err := body.Read(chunk); err != nil {
		t.Fatal(err)
	}
	if late := set[len(set)-1]; late.After(begun) {
		t.Errorf("a body below the rate may go on until %v", late)
	}
	body.began, body.read = begun, 1<<40 // fast at first
	if _, err := body.Read(chunk); err != nil {
		t.Fatal(err)
	}
	if d := time.Until(set[len(set)-1]); d > p.grace {
		t.Errorf("a fast body may stall for %v", d)
	}
	for {
		if _, err := body.Read(chunk); err != nil {
			break
		}
	}
	if last := set[len(set)-1]; !last.IsZero() {
		t.Errorf("after the body there is a deadline, %v", last)
	}
}

// deadlines is a response that records its read deadlines.
type deadlines struct {
	http.ResponseWriter
	set *[]time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	*d.set = append(*d.set, t)
	return nil
}

// TestHostileBodiesTakeNoMemory sends many bodies that announce great lengths: the server's
// memory stays small during and after them.
func TestHostileBodiesTakeNoMemory(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Limits = Limits{Body: 64 << 20, Bodies: 128 << 20, K: 1 << 30, Queries: 1 << 30}
	})
	s.fill()
	usual := s.pace.grace
	s.pace.grace = time.Second
	huge := strings.Replace(string(npy(nil, dim)), "(0, 8)", "(2000000, 8)", 1) // 64 MB that are never sent
	bodies := []string{
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-npy\r\nContent-Length: 64000128\r\n\r\n%s", searchFilms, huge),
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 64000128\r\n\r\n{\"queries\":[[", searchFilms),
		"POST /v2/models/films/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 64000128\r\nInference-Header-Content-Length: 100\r\n\r\n{",
	}
	before := allocated()
	var all sync.WaitGroup
	for i := range 48 {
		all.Go(func() {
			status, _ := s.raw(bodies[i%len(bodies)])
			if !strings.Contains(status, " 408 ") && !strings.Contains(status, " 400 ") {
				t.Errorf("%s", status)
			}
		})
	}
	all.Wait()
	// Of each body at most firstBuffer is allocated in advance: 48 MB in all, while they
	// announce 3 GB.
	if grown := allocated() - before; grown > 128<<20 {
		t.Errorf("%d MB were allocated", grown>>20)
	}
	s.pace.grace = usual
	for range 3 {
		if a := s.do("POST", searchFilms, oneQuery(`,"k":1000000000`)); a.status != 400 {
			t.Errorf("%d", a.status)
		}
	}
	s.do("POST", searchFilms, oneQuery("")).want(200)
}

// allocated returns the bytes allocated since the start of the process.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestDrain: a server that shuts down accepts no more requests, answers running ones, and
// refuses those on open connections.
func TestDrain(t *testing.T) {
	s := start(t, nil)
	s.fill()
	begun, release := s.held()
	defer release()
	first := s.later(oneQuery(""))
	<-begun

	// A connection that was opened before, in the middle of a request.
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /v1/collections HTTP/1.1\r\nHost: localhost\r\n"); err != nil {
		t.Fatal(err)
	}
	for s.opened.Load() < 2 { // the client has one
		runtime.Gosched()
	}
	s.shut()
	<-s.draining.Done()
	if _, err := io.WriteString(c, "\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 503 || !strings.Contains(string(text), "/problems/draining") || resp.Header.Get("Retry-After") == "" || !resp.Close {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, text)
	}
	if err := s.ready(); err == nil {
		t.Error("ready while it ends")
	}
	select {
	case err := <-s.ended:
		t.Fatalf("Serve returned before its searches: %v", err)
	default:
	}
	for len(s.lines("draining")) == 0 {
		runtime.Gosched()
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		t.Error("a connection is accepted")
	}
	release()
	(<-first).want(200)
	s.stopAll()
}

// TestDrainHasAnEnd: requests that still run after the drain timeout are stopped, with an
// answer.
func TestDrainHasAnEnd(t *testing.T) {
	s := start(t, func(o *Options) { o.Timeouts.Drain = 20 * time.Millisecond })
	s.fill()
	begun := make(chan struct{}, 1)
	s.hooks.set(func(ctx context.Context) {
		begun <- struct{}{}
		<-ctx.Done()
	}, nil)
	first := s.later(oneQuery(""))
	<-begun
	s.shut()
	a := <-first
	a.problem(503, "draining")
	s.stopAll()
}

// TestEndWhateverRuns: a search that ignores that it was stopped keeps the server no longer than its
// limits, and is named in the log.
func TestEndWhateverRuns(t *testing.T) {
	s := start(t, func(o *Options) { o.Timeouts.Drain, o.lastAnswers = 20*time.Millisecond, 20*time.Millisecond })
	s.fill()
	begun, release := make(chan struct{}, 1), make(chan struct{})
	s.hooks.set(func(context.Context) {
		begun <- struct{}{}
		<-release
	}, nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		resp, err := s.client.Post(s.url+searchFilms, jsonType, strings.NewReader(oneQuery("")))
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	shut := s.shut
	s.shut = nil // stopAll has nothing left to do
	shut()
	if err := <-s.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(over); !errors.Is(err, ErrRunning) {
		t.Errorf("Close: %v, want ErrRunning", err)
	}
	for len(s.lines("a search goes on after its end")) == 0 {
		runtime.Gosched()
	}
	close(release)
	<-answered
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("Close after the search: %v", err)
	}
}

// TestLateClose: a close that comes late waits for what has only to be written, and fails for nothing that has ended.
func TestLateClose(t *testing.T) {
	s := start(t, func(o *Options) { o.lastStore, o.lastWork = time.Nanosecond, time.Hour })
	s.fill()
	reading, err := s.db.Begin(false) // the database waits for its end
	if err != nil {
		t.Fatal(err)
	}
	s.shut()
	s.shut = nil // stopAll has nothing left to do
	if err := <-s.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(over) }()
	for !s.catalog.Ended() {
		runtime.Gosched()
	}
	select {
	case err := <-closed:
		t.Errorf("it has closed, with %v, while the database is in use", err)
		closed <- nil
	case <-time.After(50 * time.Millisecond): // many times lastStore
	}
	if err := reading.Rollback(); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestCloseEndsWhateverWorks: work on collections that is no request and does not end keeps Close for lastWork, and no
// longer.
func TestCloseEndsWhateverWorks(t *testing.T) {
	s := start(t, func(o *Options) { o.lastStore, o.lastWork = time.Nanosecond, 20*time.Millisecond })
	s.fill()
	used, err := s.catalog.Use("films", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.shut()
	s.shut = nil // stopAll has nothing left to do
	if err := <-s.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(over); !errors.Is(err, ErrRunning) {
		t.Errorf("Close: %v, want ErrRunning", err)
	}
	used.Release()
	for !s.catalog.Ended() { // what Close began goes on
		runtime.Gosched()
	}
}

// TestOneServerAFolder: a second server on a folder is refused, and the next one finds
// everything.
func TestOneServerAFolder(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	rows := s.fill()
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "meta.db is in use") {
		t.Errorf("a second server: %v", err)
	}
	s.stopAll()
	again := startIn(t, dir, nil)
	var info catalog.Info
	again.do("GET", "/v1/collections/films", nil).want(200).into(&info)
	if info.Count != atoms || info.Version != 1 || info.State != catalog.Ready {
		t.Errorf("%+v", info)
	}
	var r results
	again.do("POST", searchFilms, map[string]any{"queries": [][]float32{rows[:dim]}, "k": 1, "method": "exact"}).want(200).into(&r)
	if id, _ := r.Results[0].IDs[0].Int64(); id != best(rows, rows[:dim]) {
		t.Errorf("found %d", id)
	}
}

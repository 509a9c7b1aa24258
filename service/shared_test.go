package service

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"thresher/service/fair"
)

// turnOfTests is longer than the turn of one query, and shorter than that of many.
const turnOfTests = 100 * time.Microsecond

// TestSmallBesideLarge: while as much long work runs as is admitted, and more waits, a search
// of one query is answered, and a large one once there is capacity.
func TestSmallBesideLarge(t *testing.T) {
	s := start(t, func(o *Options) { o.Turn = turnOfTests })
	s.fill()
	var under []*fair.Turn
	for range 2 {
		u := s.turns.Of("another")
		if err := u.Next(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		under = append(under, u)
	}
	row := "[" + strings.Repeat("1,", dim-1) + "1],"
	large := s.later(`{"queries":[` + strings.TrimSuffix(strings.Repeat(row, 1000), ",") + `],"method":"exact"}`)
	for s.turns.Waiting(fair.Large) < 1 {
		runtime.Gosched()
	}
	s.do("POST", searchFilms, oneQuery("")).want(200)
	for _, u := range under {
		u.End()
	}
	var r results
	(<-large).want(200).into(&r)
	if len(r.Results) != 1000 {
		t.Errorf("%d results", len(r.Results))
	}
	if n := s.turns.Waiting(fair.Large) + s.turns.Waiting(fair.Small); n != 0 {
		t.Errorf("%d wait", n)
	}
}

// TestLongAnswers: an answer that is sent in pieces has the same results as single queries,
// in JSON and as npz.
func TestLongAnswers(t *testing.T) {
	s := start(t, func(o *Options) { o.Turn = turnOfTests })
	s.fill()
	const m = 2000
	queries := gaussian(7, m*dim)
	search := searchFilms + "?k=100&method=exact"
	whole := s.do("POST", search, npy(queries, dim), "Content-Type", npyType).want(200)
	if whole.header.Get("Content-Length") != "" || len(whole.body) < 2*maxAtOnce {
		t.Fatalf("%d bytes, Content-Length %q: it is not long", len(whole.body), whole.header.Get("Content-Length"))
	}
	var long struct{ Results []json.RawMessage }
	whole.into(&long)
	if len(long.Results) != m {
		t.Fatalf("%d results", len(long.Results))
	}
	for _, j := range []int{0, 1, 700, m - 1} {
		var one struct{ Results []json.RawMessage }
		a := s.do("POST", search, npy(queries[j*dim:(j+1)*dim], dim), "Content-Type", npyType).want(200)
		if a.header.Get("Content-Length") == "" {
			t.Error("a short answer does not say how long it is")
		}
		a.into(&one)
		if string(one.Results[0]) != string(long.Results[j]) {
			t.Errorf("query %d: %.100s in the long answer, %.100s by itself", j, long.Results[j], one.Results[0])
		}
	}
	if a := s.do("POST", search, npy(queries, dim), "Content-Type", npyType, "Accept", npzType).want(200); len(a.body) < m*100*12 || string(a.body[:2]) != "PK" {
		t.Errorf("npz of %d bytes", len(a.body))
	}
	if n := s.answers.Used(); n != 0 {
		t.Errorf("%d bytes of answers are held", n)
	}
}

// TestAnswersWait: an answer waits for memory up to the timeout of searches.
func TestAnswersWait(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Answers = 1 << 20 })
	s.fill()
	full := s.answers.Hold("another", 1<<20, nil)
	for _, n := range []int64{1 << 16, 1 << 20} {
		if err := full.Grow(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := full.Settle(); err != nil {
		t.Fatal(err)
	}
	row := "[" + strings.Repeat("1,", dim-1) + "1],"
	large := `{"queries":[` + strings.TrimSuffix(strings.Repeat(row, 50), ",") + `],"method":"exact","k":100}`
	inTime(t, func(deadline time.Duration) (late bool) {
		s.o.Timeouts.Search = deadline
		return !strings.Contains(s.do("POST", searchFilms, large).problem(504, "deadline").Detail, "limits.answers")
	})
	s.o.Timeouts.Search = noHurry.Search
	s.do("POST", searchFilms, oneQuery("")).want(200)
	full.Release()
	s.do("POST", searchFilms, large).want(200)
}

// TestAnswersBeyondMemory: a search whose answers alone exceed the memory for answers is refused
// with the figures.
func TestAnswersBeyondMemory(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Answers = 1 << 20 })
	s.fill()
	row := "[" + strings.Repeat("1,", dim-1) + "1],"
	body := func(m int) string {
		return `{"queries":[` + strings.TrimSuffix(strings.Repeat(row, m), ",") + `],"method":"exact","k":100}`
	}
	const each = 640 + 24*100
	s.do("POST", searchFilms, body(1<<20/each)).want(200)
	p := s.do("POST", searchFilms, body(1<<20/each+1)).problem(400, "over-limit")
	for _, want := range []string{strconv.Itoa((1<<20/each + 1) * each), "limits.answers", "1048576"} {
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%q does not say %s", p.Detail, want)
		}
	}
}

// TestStuckBodiesGiveWay: a stalled body keeps its memory until another needs it; then it is
// refused with that reason, and the other is answered.
func TestStuckBodiesGiveWay(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Limits.Body, o.Limits.Bodies = 1<<20, 1<<20
		o.Timeouts.Body = time.Hour
	})
	s.fill()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n%s", searchFilms, strings.Repeat(" ", 600_000)); err != nil {
		t.Fatal(err)
	}
	for s.bodies.Used() < 600_000 {
		runtime.Gosched()
	}
	s.do("POST", searchFilms, strings.Repeat(" ", 600_000)+oneQuery("")).want(200)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != 408 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "while others waited") {
		t.Errorf("%d %v %s %v", resp.StatusCode, resp.Header, text, err)
	}
	if n := s.bodies.Used(); n != 0 {
		t.Errorf("%d bytes of bodies are held", n)
	}
}

// TestReadersGiveWay: an answer that is not read loses its memory to one that waits.
func TestReadersGiveWay(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Answers, o.Timeouts.Body = 40<<20, time.Hour })
	s.fill()
	queries := npy(gaussian(8, 4096*dim), dim) // the answer is longer than the system's buffers, and two exceed the limit
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	search := searchFilms + "?k=300&method=exact"
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", search, npyType, len(queries), queries); err != nil {
		t.Fatal(err)
	}
	for s.answers.Used() == 0 {
		runtime.Gosched()
	}
	s.do("POST", search, queries, "Content-Type", npyType, "Accept", npzType).want(200)
	for !strings.Contains(s.log.String(), errGone.Error()) {
		runtime.Gosched()
	}
	if n := s.answers.Used(); n != 0 {
		t.Errorf("%d bytes of answers are held", n)
	}
}

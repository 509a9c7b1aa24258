package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/batch"
	"thresher/dataset"
	"thresher/store"
)

// TestKinds: names are unique and safe in URLs, statuses are those of errors, titles exist,
// and unknown kinds are internal.
func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k] || strings.Trim(string(k), "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("kind %q", k)
		}
		seen[k] = true
		if s := k.Status(); s < 400 || http.StatusText(s) == "" || k.Title() == "" {
			t.Errorf("%s: %d %q", k, s, k.Title())
		}
		if k != Internal && k.Status() == 500 {
			t.Errorf("%s is a failure of the server", k)
		}
	}
	if Kind("nothing").Status() != 500 || Kind("nothing").Title() != Internal.Title() {
		t.Error("a kind that does not exist is not internal")
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		p     *Problem
		write func(http.ResponseWriter, *Problem, string)
		want  string
		retry string
	}{
		{New(WrongDimension, "row %d has %d values", 3, 7).At("queries", 3).Within(8), Write,
			`{"type":"/problems/wrong-dimension","title":"A vector has the wrong dimension","status":400,"detail":"row 3 has 7 values","instance":"r1","field":"queries","index":3,"limit":8,"error":{"message":"row 3 has 7 values","type":"invalid_request_error","code":"wrong-dimension","param":"queries"}}`, ""},
		{New(InvalidValue, "x").At("k", 0), Write, `{"type":"/problems/invalid-value","title":"A value is out of its range","status":400,"detail":"x","instance":"r1","field":"k","index":0,"error":{"message":"x","type":"invalid_request_error","code":"invalid-value","param":"k"}}`, ""},
		{New(InvalidValue, "x").In("k").Within(math.Inf(1)), Write, `{"type":"/problems/invalid-value","title":"A value is out of its range","status":400,"detail":"x","instance":"r1","field":"k","error":{"message":"x","type":"invalid_request_error","code":"invalid-value","param":"k"}}`, ""},
		{New(Internal, "sorry").Because(errors.New("secret")), Write, `{"type":"/problems/internal","title":"Internal server error","status":500,"detail":"sorry","instance":"r1","error":{"message":"sorry","type":"server_error","code":"internal","param":null}}`, ""},
		{New(Deadline, "late"), WriteInference, `{"type":"/problems/deadline","title":"The deadline passed before there was an answer","status":504,"detail":"late","instance":"r1","error":"late"}`, ""},
		{&Problem{Kind: QueueFull, Index: -1, RetryAfter: 1500 * time.Millisecond}, Write, `{"type":"/problems/queue-full","title":"Too many searches are waiting","status":429,"instance":"r1","error":{"message":"Too many searches are waiting","type":"rate_limit_error","code":"queue-full","param":null}}`, "2"},
	} {
		w := httptest.NewRecorder()
		c.write(w, c.p, "r1")
		if d := cmp.Diff(c.want+"\n", w.Body.String()); d != "" {
			t.Error(d)
		}
		h := w.Header()
		if w.Code != c.p.Kind.Status() || h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" || h.Get("Retry-After") != c.retry {
			t.Errorf("%s: %d %v", c.p.Kind, w.Code, h)
		}
	}
	text, err := json.Marshal(New(DiskFull, "full"))
	if err != nil || !strings.Contains(string(text), `"status":507`) || strings.Contains(string(text), "instance") {
		t.Errorf("%s %v", text, err)
	}
}

// TestOf: every known error of the library and the system has its kind, however it is
// wrapped.
func TestOf(t *testing.T) {
	own := New(UnknownID, "none").At("ids", 4)
	for _, c := range []struct {
		err   error
		kind  Kind
		field string
		index int
	}{
		{own, UnknownID, "ids", 4},
		{&batch.RequestError{Field: "queries", Query: 2, Err: errors.New("norm")}, InvalidValue, "queries", 2},
		{&batch.RequestError{Field: "k", Query: -1, Err: errors.New("low")}, InvalidValue, "k", -1},
		{&http.MaxBytesError{Limit: 9}, BodyTooLarge, "", -1},
		{&dataset.Error{File: "f", Row: 3, Column: -1, Err: errors.New("bad")}, Malformed, "", -1},
		{batch.ErrBusy, QueueFull, "", -1},
		{backend.ErrUnavailable, NoBackend, "", -1},
		{os.ErrDeadlineExceeded, Slow, "", -1},
		{context.DeadlineExceeded, Deadline, "", -1},
		{context.Canceled, Draining, "", -1},
		{io.ErrUnexpectedEOF, Malformed, "", -1},
		{errors.New("password: hunter2"), Internal, "", -1},
	} {
		p := Of(fmt.Errorf("while at it: %w", c.err))
		if p.Kind != c.kind || p.Field != c.field || p.Index != c.index {
			t.Errorf("%v is %s, %s %d", c.err, p.Kind, p.Field, p.Index)
		}
		if !errors.Is(p, c.err) {
			t.Errorf("%v is lost", c.err)
		}
		if strings.Contains(p.Error(), "hunter2") {
			t.Errorf("%q tells what it should not", p.Error())
		}
	}
	if p := Of(batch.ErrBusy); p.RetryAfter != time.Second {
		t.Error("busy does not say when to come again")
	}
}

// TestOfStore: errors of package store have their kind, and a full disk says nothing of the files.
func TestOfStore(t *testing.T) {
	err := fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "/secret", Err: io.ErrShortWrite})
	if p := Of(store.Full(err)); p.Kind != DiskFull || strings.Contains(p.Detail, "secret") || !errors.Is(p, io.ErrShortWrite) {
		t.Errorf("%+v", p)
	}
	at := time.Date(2026, 7, 1, 2, 3, 4, 0, time.UTC)
	p := Of(fmt.Errorf("file: %w", &store.KeyReusedError{At: at}))
	if p.Kind != KeyReused || p.Field != "Idempotency-Key" || p.Detail != "the key was used for another request at 2026-07-01T02:03:04Z" {
		t.Errorf("%+v", p)
	}
}

// TestPageSize: 0 is the default, what is out of range is refused.
func TestPageSize(t *testing.T) {
	for limit, want := range map[int]int{0: DefaultPage, 1: 1, MaxPage: MaxPage, -1: 0, MaxPage + 1: 0} {
		n, err := PageSize(limit)
		if n != want || (err != nil) != (want == 0) || err != nil && Of(err).Field != "limit" {
			t.Errorf("%d is %d, %v", limit, n, err)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/cli/remote"
	"thresher/service"
	"thresher/service/api"
	"thresher/service/client"
)

// closeIdle closes the test's idle connections at its end.
func closeIdle(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(func() { http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
}

// startService runs a service with a collection films of 60 atoms of dimension 4, and
// returns its address.
func startService(t *testing.T, tokens ...service.Token) string {
	t.Helper()
	ctx := context.Background()
	backend := cpu.New(cpu.Options{Threads: 1})
	s, err := service.Open(ctx, service.Options{
		Dir: t.TempDir(), Tokens: tokens,
		Timeouts: service.Timeouts{Header: time.Hour, Body: time.Hour, Search: time.Hour}, // none strikes on a slow machine
		Open: func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, backend, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	closeIdle(t)
	return server.URL
}

// films makes the collection.
func films(t *testing.T, server, token string) {
	t.Helper()
	c, err := client.New(server, &client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float32, 60*4)
	for i := range rows {
		rows[i] = float32((i*37)%101) - 50
	}
	text := npy(rows, 4)
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(text))), nil }
	made, err := c.CreateCollection(context.Background(), "films", client.Body{Type: "application/x-npy", Size: int64(len(text)), Open: open}, map[string][]string{"wait": {"true"}, "metric": {"ip"}}, "")
	if err != nil || made.State != "ready" || made.Count != 60 {
		t.Fatalf("%+v, %v", made, err)
	}
}

// TestJob submits, waits for, lists and fetches jobs of a real service.
func TestJob(t *testing.T) {
	server := startService(t)
	films(t, server, "")
	t.Setenv(remote.ServerVariable, server)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	queries := make([]float32, 30*4)
	for i := range queries {
		queries[i] = float32((i*53)%97) - 48
	}
	write := func(name string, content []byte) string {
		t.Helper()
		if err := os.WriteFile(path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	matrix := write("q.npy", npy(queries, 4))
	requests := write("r.jsonl", []byte("\n"+`{"custom_id":"a","method":"POST","url":"/v1/collections/films/search","body":{"queries":[[1,2,3,4]],"k":2}}`+"\nnonsense\n"))

	r := thresher(t, "job", "submit", matrix, "--collection", "films", "-k", "3", "--output-format", "npz", "--wait", "--json", "--interval", "5ms", "--metadata", "a=b")
	r.WantCode(t, cli.ExitOK)
	var b api.Batch
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil {
		t.Fatal(err)
	}
	if b.Status != "completed" || b.RequestCounts.Completed != 30 || b.Metadata["a"] != "b" || string(b.Search) != `{"k":3}` {
		t.Errorf("%+v", b)
	}
	out := path("out.npz")
	thresher(t, "job", "fetch", b.ID, "--out", out).WantCode(t, cli.ExitOK)
	answers, err := dataset.OpenResults(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := answers.Next()
	if err != nil || len(first.Rows) != 3 || answers.Len() != 30 {
		t.Errorf("%+v, %v", first, err)
	}
	answers.Close()
	thresher(t, "job", "fetch", b.ID, "--out", out).WantError(t, "out.npz", "--overwrite")
	thresher(t, "job", "fetch", b.ID, "--out", out, "--overwrite", "--json").WantCode(t, cli.ExitOK)

	// The same in one command; existing outputs are found before anything is sent.
	at := path("at-once.npz")
	submit := []string{"job", "submit", matrix, "--collection", "films", "-k", "3", "--output-format", "npz", "--interval", "5ms"}
	thresher(t, append(submit, "--wait", "--out", at)...).WantCode(t, cli.ExitOK)
	if !bytes.Equal(read(t, at), read(t, out)) {
		t.Error("the answers are not those of job fetch")
	}
	thresher(t, append(submit, "--wait", "--out", at)...).WantError(t, "at-once.npz", "--overwrite")
	thresher(t, append(submit, "--out", at)...).WantError(t, "--wait")
	thresher(t, append(submit, "--wait", "--overwrite")...).WantError(t, "--overwrite")
	r = thresher(t, "job", "submit", requests, "--wait", "--out", "-", "--errors", path("first-errors.jsonl"), "--interval", "5ms")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, `"custom_id":"a"`) || strings.Count(r.Out, "\n") != 1 || !strings.Contains(string(read(t, path("first-errors.jsonl"))), `"line":3`) {
		t.Errorf("answers: %s", r.Out)
	}

	r = thresher(t, "job", "submit", requests, "--key", "once")
	r.WantCode(t, cli.ExitOK)
	id := strings.TrimSpace(r.Out)
	if again := thresher(t, "job", "submit", requests, "--key", "once"); again.Out != r.Out {
		t.Errorf("submitted twice: %q, %q", r.Out, again.Out)
	}
	r = thresher(t, "job", "wait", id, "--interval", "5ms")
	r.WantCode(t, cli.ExitOK)
	for _, part := range []string{id, "completed", "1 of 2 answered, 1 with errors", "films version 1"} {
		if !strings.Contains(r.Out, part) {
			t.Errorf("wait does not say %q:\n%s", part, r.Out)
		}
	}
	r = thresher(t, "job", "fetch", id, "--out", "-", "--errors", path("errors.jsonl"))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, `"custom_id":"a"`) || strings.Count(r.Out, "\n") != 1 {
		t.Errorf("answers: %s", r.Out)
	}
	if text, err := os.ReadFile(path("errors.jsonl")); err != nil || !strings.Contains(string(text), `"line":3`) {
		t.Errorf("errors: %s, %v", text, err)
	}

	r = thresher(t, "job", "list", "--limit", "1")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, id) || !strings.Contains(r.Out, "--after "+id) || strings.Contains(r.Out, b.ID) {
		t.Errorf("list:\n%s", r.Out)
	}
	r = thresher(t, "job", "list", "--after", id, "--json")
	if !strings.Contains(r.Out, b.ID) {
		t.Errorf("list:\n%s", r.Out)
	}
	thresher(t, "job", "cancel", id).WantError(t, "completed", "409")
	thresher(t, "job", "status", "batch_none").WantError(t, "batch_none", "404")

	bad := write("bad.npy", npy(queries, 5))
	r = thresher(t, "job", "submit", bad, "--collection", "films", "--wait", "--interval", "5ms")
	r.WantCode(t, cli.ExitWrong)
	if !strings.Contains(r.Err, "failed") || !strings.Contains(r.Err, "dimension 5") {
		t.Errorf("stderr: %s", r.Err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestJobBadInput(t *testing.T) {
	dir := t.TempDir()
	empty, odd := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	os.WriteFile(empty, []byte("\n"), 0o600)
	os.WriteFile(odd, []byte("[1,2]\n"), 0o600)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"submit"}, "0 files"},
		{[]string{"submit", "q.npy"}, "--collection"},
		{[]string{"submit", empty}, "no request"},
		{[]string{"submit", odd}, "--collection"},
		{[]string{"submit", odd, "-k", "3"}, "--collection"},
		{[]string{"submit", filepath.Join(dir, "none.npy"), "--collection", "c"}, "none.npy"},
		{[]string{"submit", dir, "--collection", "c"}, "not a regular file"},
		{[]string{"status"}, "0 batches"},
		{[]string{"wait", "a", "b"}, "2 batches"},
		{[]string{"wait", "a", "--interval", "0s"}, "--interval"},
		{[]string{"list", "--limit", "0"}, "1..100"},
		{[]string{"fetch", "a"}, "--out"},
		{[]string{"fetch", "a", "--out", "-", "--json"}, "--json"},
		{[]string{"fetch", "a", "--out", "x", "--errors", "./x"}, "answers and errors"},
		{[]string{"fetch", "a", "--errors", "-"}, "names a file"},
		{[]string{"fetch", "a", "--out", dir}, "directory"},
		{[]string{"status", "a", "--server", "ftp://x"}, "ftp://x"},
		{[]string{"status", "a", "--token", "a", "--token-file", "b"}, "exclude"},
		{[]string{"status", "a", "--token-file", filepath.Join(dir, "none")}, "none"},
		{[]string{"status", "a", "--token-file", empty}, "not a token"},
		{[]string{"stats"}, "status"},
	} {
		thresher(t, append([]string{"job"}, c.args...)...).WantError(t, c.says)
	}
}

// script serves batches: each request for one returns the next of states.
func script(t *testing.T, states ...string) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"type":"/problems/unauthorized","title":"no"}`)
		case strings.HasSuffix(r.URL.Path, "/content"):
			io.WriteString(w, "answers\n")
		case strings.HasPrefix(r.URL.Path, "/v1/files/"):
			io.WriteString(w, `{"id":"f","bytes":8}`)
		default:
			state := states[0]
			if len(states) > 1 {
				states = states[1:]
			}
			io.WriteString(w, state)
		}
	}))
	t.Cleanup(server.Close)
	closeIdle(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(remote.ServerVariable, server.URL)
	t.Setenv(remote.TokenFileVariable, token)
}

func TestJobOutcomes(t *testing.T) {
	state := func(status string) string {
		return fmt.Sprintf(`{"id":"b","status":%q,"output_file_id":"f","request_counts":{"total":9,"completed":4},"errors":{"data":[{"code":"disk-full","message":"no room","line":3}]}}`, status)
	}
	for status, code := range map[string]int{"completed": cli.ExitOK, "failed": cli.ExitWrong, "expired": cli.ExitWrong, "cancelled": cli.ExitWrong} {
		script(t, state("validating"), state("in_progress"), state(status))
		r := thresher(t, "job", "wait", "b", "--interval", "1ms")
		r.WantCode(t, code)
		if !strings.Contains(r.Out, status) || code != cli.ExitOK && !strings.Contains(r.Err, "batch b: "+status+": line 3: no room") {
			t.Errorf("%s: %s%s", status, r.Out, r.Err)
		}
		path := filepath.Join(t.TempDir(), "out")
		thresher(t, "job", "fetch", "b", "--out", path).WantCode(t, code)
		if text, err := os.ReadFile(path); err != nil || string(text) != "answers\n" {
			t.Errorf("%s: fetched %q, %v", status, text, err)
		}
	}
	script(t, state("in_progress"))
	r := thresher(t, "job", "fetch", "b", "--out", filepath.Join(t.TempDir(), "out"))
	r.WantCode(t, cli.ExitWrong)
	if !strings.Contains(r.Err, "not done") {
		t.Errorf("%s", r.Err)
	}
	thresher(t, "job", "status", "b", "--token", "other").WantError(t, "401")
}

// A file that gets the name during the download is replaced only with --overwrite.
func TestJobFetchLeavesFilesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/content"):
			if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
				t.Error(err)
			}
			io.WriteString(w, "answers\n")
		case strings.HasPrefix(r.URL.Path, "/v1/files/"):
			io.WriteString(w, `{"id":"f","bytes":8}`)
		default:
			io.WriteString(w, `{"id":"b","status":"completed","output_file_id":"f"}`)
		}
	}))
	defer server.Close()
	closeIdle(t)
	fetch := []string{"job", "fetch", "b", "--server", server.URL, "--out", path}
	thresher(t, fetch...).WantError(t, path, "exists")
	if got := string(clitest.ReadFile(t, path)); got != "mine" {
		t.Errorf("without --overwrite: %q", got)
	}
	thresher(t, append(fetch, "--overwrite")...).WantCode(t, cli.ExitOK)
	if got := string(clitest.ReadFile(t, path)); got != "answers\n" {
		t.Errorf("with --overwrite: %q", got)
	}
}

// TestJobInterrupted: the batch continues, and the user is told so.
func TestJobInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var looks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if looks.Add(1) == 2 {
			cancel()
		}
		io.WriteString(w, `{"id":"b","status":"in_progress"}`)
	}))
	defer server.Close()
	closeIdle(t)
	r := thresherWith(t, ctx, "", "job", "wait", "b", "--server", server.URL, "--interval", "1ms")
	r.WantCode(t, cli.ExitInterrupted)
	if !strings.Contains(r.Err, "job continues") || !strings.Contains(r.Err, "job wait b") {
		t.Errorf("stderr: %s", r.Err)
	}
}

// TestJobServerAway: waiting survives a restart of the server, and ends with an error if it
// stays away.
func TestJobServerAway(t *testing.T) {
	var looks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if looks.Add(1) < 6 {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, `{"id":"b","status":"completed"}`)
	}))
	defer server.Close()
	closeIdle(t)
	thresher(t, "job", "wait", "b", "--server", server.URL, "--interval", "1ms").WantCode(t, cli.ExitOK)
	looks.Store(-1000)
	thresher(t, "job", "wait", "b", "--server", server.URL, "--interval", "1ms", "--patience", "1ns").WantCode(t, cli.ExitBackend)
	thresher(t, "job", "status", "b", "--server", server.URL).WantCode(t, cli.ExitBackend)
}

// TestJobRefused: the file uploaded for a refused batch is deleted, unless its key will find
// it.
func TestJobRefused(t *testing.T) {
	server := startService(t)
	closeIdle(t)
	path := filepath.Join(t.TempDir(), "q.npy")
	if err := os.WriteFile(path, npy(make([]float32, 8), 4), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"", "key"} {
		thresher(t, "job", "submit", path, "--collection", "none", "--server", server, "--key", key).WantError(t, "none", "404")
		if list, err := c.Files(context.Background(), "", 0); err != nil || len(list.Data) != i {
			t.Errorf("key %q: %+v, %v", key, list, err)
		}
	}
}

// TestJobServerHangs: waiting continues after a request that times out or is refused
// temporarily.
func TestJobServerHangs(t *testing.T) {
	answers := []int{0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusOK}
	var looks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status := answers[min(int(looks.Add(1)), len(answers))-1]; status {
		case 0:
			<-r.Context().Done()
		case http.StatusOK:
			io.WriteString(w, `{"id":"b","status":"completed"}`)
		default:
			w.WriteHeader(status)
		}
	}))
	defer server.Close()
	closeIdle(t)
	c, err := client.New(server.URL, &client.Options{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{interval: time.Millisecond, patience: time.Hour, look: 50 * time.Millisecond}
	if b, err := (&app{App: &cli.App{}}).watch(context.Background(), c, w, "b"); err != nil || b.Status != "completed" {
		t.Errorf("%+v, %v", b, err)
	}
	looks.Store(0)
	w.patience = time.Nanosecond
	var lost *client.LostError
	if _, err := (&app{App: &cli.App{}}).watch(context.Background(), c, w, "b"); !errors.As(err, &lost) {
		t.Error(err)
	}
}

func TestDoing(t *testing.T) {
	left := 61.4
	b := api.Batch{Status: "in_progress", Progress: api.BatchProgress{Queries: 5, QueriesPerSecond: 1234.5, Saving: 3.14, SecondsLeft: &left}}
	if got, want := doing(&b), "in_progress, 1234 queries/s, saving 3.1x, 1m1s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Progress.Saving = 0 // withheld
	if got, want := doing(&b), "in_progress, 1234 queries/s, 1m1s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b = api.Batch{Status: "validating", Progress: api.BatchProgress{Position: 2}, Errors: &api.BatchErrors{Data: []api.BatchError{{Message: "no room"}}}}
	if got, want := doing(&b), "validating, waits behind 2 others, stands still: no room"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// read returns the content of a file.
func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

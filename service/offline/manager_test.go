package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/service/api"
	"thresher/service/problem"
)

// turnstile makes the searches of a collection wait one by one.
type turnstile struct {
	entered chan struct{} // one value for each search that begins
	release chan error    // the error of the search, or nil
}

func block(s *atlasShelf) *turnstile {
	g := &turnstile{make(chan struct{}), make(chan error)}
	s.before = func(ctx context.Context, _ batch.Request) error {
		select {
		case g.entered <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		select {
		case err := <-g.release:
			return err
		case <-ctx.Done():
			return nil
		}
	}
	return g
}

// pass releases n searches.
func (g *turnstile) pass(n int) {
	for range n {
		<-g.entered
		g.release <- nil
	}
}

func kindOf(err error) problem.Kind {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p.Kind
	}
	return ""
}

func TestListAndDelete(t *testing.T) {
	l := newLab(t, Options{Waiting: 10})
	g := block(l.atlas.shelf["films"])
	var ids []string
	for range 6 {
		ids = append(ids, l.submit("a.fvecs", fvecs(gaussian(1, 1)), Spec{}).ID)
	}
	list := func(after string, limit int) (got []string, more bool) {
		t.Helper()
		page, err := l.m.List(after, limit, nil)
		if err != nil || page.Object != "list" {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, b := range page.Data {
			got = append(got, b.ID)
		}
		if n := len(got); n > 0 && (*page.FirstID != got[0] || *page.LastID != got[n-1]) {
			t.Errorf("first %s, last %s of %v", *page.FirstID, *page.LastID, got)
		}
		return got, page.HasMore
	}
	for _, c := range []struct {
		after string
		limit int
		want  []string
		more  bool
	}{
		{"", 0, []string{ids[5], ids[4], ids[3], ids[2], ids[1], ids[0]}, false},
		{"", 2, []string{ids[5], ids[4]}, true},
		{ids[4], 2, []string{ids[3], ids[2]}, true},
		{ids[2], 2, []string{ids[1], ids[0]}, false},
		{ids[0], 2, nil, false},
	} {
		if got, more := list(c.after, c.limit); cmp.Diff(c.want, got) != "" || more != c.more {
			t.Errorf("after %q, %d: %v, more %v", c.after, c.limit, got, more)
		}
	}
	for _, limit := range []int{-1, 101} {
		if _, err := l.m.List("", limit, nil); kindOf(err) != problem.InvalidValue {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := l.m.List("none", 1, nil); kindOf(err) != problem.UnknownBatch {
		t.Errorf("after an unknown batch: %v", err)
	}
	if err := l.m.Delete(ids[2]); kindOf(err) != problem.Conflict {
		t.Errorf("deleting a batch that waits: %v", err)
	}
	for i := range ids {
		if p := l.get(ids[i]).Progress.Position; p != i {
			t.Errorf("batch %d has position %d", i, p)
		}
	}
	g.pass(6)
	for _, id := range ids {
		l.wait(id)
	}
	output := l.get(ids[2]).OutputFileID
	if err := l.m.Delete(ids[2]); err != nil {
		t.Fatal(err)
	}
	if _, err := l.m.Get(ids[2]); kindOf(err) != problem.UnknownBatch {
		t.Errorf("deleted: %v", err)
	}
	if err := l.m.Delete(ids[2]); kindOf(err) != problem.UnknownBatch {
		t.Errorf("deleted twice: %v", err)
	}
	if l.content(output) == "" {
		t.Error("the output went with its batch")
	}
	if got, _ := list("", 0); len(got) != 5 {
		t.Errorf("%v", got)
	}
	if n := l.m.Counts(); n[Completed] != 5 || n[InProgress] != 0 || len(n) != len(api.BatchStatuses()) {
		t.Errorf("%v", n)
	}
	l.reopen()
	if n := l.m.Counts(); n[Completed] != 5 {
		t.Errorf("after a restart %v", n)
	}
}

// TestCancel cancels a running batch, within a chunk, a waiting one, and a final one.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		answers             int64
	}{
		{"requests", "a.jsonl", manyFilms(40), Spec{}, 16},
		{"matrix", "a.fvecs", fvecs(gaussian(1, 40)), Spec{}, 16},
		{"npz", "a.fvecs", fvecs(gaussian(1, 40)), Spec{OutputFormat: "npz"}, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Options{Chunk: 8, Slice: 4})
			g := block(l.atlas.shelf["films"])
			first := l.submit(c.file, c.content, c.spec)
			second := l.submit("b.jsonl", manyFilms(3), Spec{})
			g.pass(5) // two chunks and a half
			<-g.entered
			if err := l.files.Delete(first.InputFileID); kindOf(err) != problem.Conflict {
				t.Errorf("deleting an input in use: %v", err)
			}
			b, err := l.m.Cancel(second.ID)
			if err != nil || b.Status != Cancelling && b.Status != Cancelled || b.CancellingAt == nil {
				t.Fatalf("%+v, %v", b, err)
			}
			if b = l.wait(second.ID); b.Status != Cancelled || b.CancelledAt == nil || b.OutputFileID != nil || b.RequestCounts != (Counts{}) {
				t.Errorf("cancelled while it waited: %+v", b)
			}
			if b, err = l.m.Cancel(first.ID); err != nil || b.Status != Cancelling && b.Status != Cancelled {
				t.Fatalf("%+v, %v", b, err)
			}
			b = l.wait(first.ID) // the search at the turnstile is not released
			if b.Status != Cancelled || b.RequestCounts != (Counts{Total: 40, Completed: c.answers, Failed: 0}) || b.ErrorFileID != nil || b.CompletedAt != nil {
				t.Errorf("%+v", b)
			}
			if n := rowsOf(t, l, &b); n != int(c.answers) {
				t.Errorf("%d answers, want %d", n, c.answers)
			}
			if b, err := l.m.Cancel(first.ID); err != nil || b.Status != Cancelled {
				t.Errorf("cancelled again: %+v, %v", b, err)
			}
			if err := l.files.Delete(first.InputFileID); err != nil || len(l.atlas.pins) > 0 {
				t.Errorf("still held: %v, %v", err, l.atlas.pins)
			}
			third := l.submit("c.jsonl", manyFilms(1), Spec{})
			g.pass(1)
			l.wait(third.ID)
			if _, err := l.m.Cancel(third.ID); kindOf(err) != problem.Conflict {
				t.Errorf("cancelling what is completed: %v", err)
			}
			if _, err := l.m.Cancel("none"); kindOf(err) != problem.UnknownBatch {
				t.Errorf("cancelling nothing: %v", err)
			}
		})
	}
}

// manyFilms returns n requests of one query each.
func manyFilms(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(fmt.Sprint("id-", i), "films", body(i, 1, "")))
	}
	return b.String()
}

// TestExpire ends the completion window in the middle of two batches.
func TestExpire(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		counts              Counts
	}{
		{"requests", "a.jsonl", manyFilms(40) + "nonsense\n", Spec{}, Counts{Total: 41, Completed: 16, Failed: 25}},
		{"matrix", "a.fvecs", fvecs(gaussian(1, 40)), Spec{}, Counts{Total: 40, Completed: 16, Failed: 0}},
		{"parquet", "a.fvecs", fvecs(gaussian(1, 40)), Spec{OutputFormat: "parquet"}, Counts{Total: 40, Completed: 16, Failed: 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &clock{t: time.Unix(1e9, 0)}
			l := newLab(t, Options{Chunk: 8, Now: clock.now})
			g := block(l.atlas.shelf["films"])
			c.spec.CompletionWindow = "10m"
			first := l.submit(c.file, c.content, c.spec)
			second := l.submit("b.jsonl", manyFilms(3), Spec{CompletionWindow: "10m"})
			last := l.submit("b.jsonl", manyFilms(3), Spec{CompletionWindow: "20m"})
			if *first.ExpiresAt != 1e9+600 || first.CreatedAt != 1e9 {
				t.Errorf("%+v", first)
			}
			g.pass(1)
			<-g.entered
			clock.add(10 * time.Minute) // the chunk at the turnstile began before
			if b := l.get(second.ID); b.Status == Completed {
				t.Errorf("%+v", b)
			}
			if b := l.wait(second.ID); b.Status != Expired || *b.ExpiredAt != 1e9+600 || b.OutputFileID != nil {
				t.Errorf("expired while it waited: %+v", b)
			}
			g.release <- nil
			b := l.wait(first.ID)
			if b.Status != Expired || b.ExpiredAt == nil || b.CompletedAt != nil || b.RequestCounts != c.counts {
				t.Errorf("%+v", b)
			}
			if n := rowsOf(t, l, &b); n != 16 {
				t.Errorf("%d answers", n)
			}
			for i, a := range answersOf(t, l.content(b.ErrorFileID)) {
				id := fmt.Sprint("id-", 16+i)
				if i == 24 {
					id = ""
				}
				if a.CustomID != id || a.Error == nil || a.Error.Code != "batch_expired" || a.Response != nil {
					t.Errorf("error %d: %+v", i, a)
				}
			}
			g.pass(1)
			if b := l.wait(last.ID); b.Status != Completed {
				t.Errorf("%+v", b)
			}
		})
	}
}

// clock is a clock set by the test.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// TestRestart closes the Manager in the middle of a batch: the next Manager continues it
// where it was, and repeats no search.
func TestRestart(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	first := l.submit("a.jsonl", manyFilms(40), Spec{})
	second := l.submit("b.jsonl", manyFilms(1), Spec{})
	g.pass(2)
	<-g.entered
	l.reopen() // stops the search at the turnstile
	<-g.entered
	if b := l.get(first.ID); b.Status != InProgress || b.RequestCounts != (Counts{Total: 40, Completed: 16, Failed: 0}) || b.Progress.Queries != 16 {
		t.Errorf("%+v", b)
	}
	if b := l.get(second.ID); b.Status != Validating || b.Progress.Position != 1 {
		t.Errorf("%+v", b)
	}
	g.release <- nil
	g.pass(3)
	b := l.wait(first.ID)
	if b.Status != Completed || b.RequestCounts != (Counts{Total: 40, Completed: 40, Failed: 0}) {
		t.Errorf("%+v", b)
	}
	for i, a := range answersOf(t, l.content(b.OutputFileID)) {
		if a.CustomID != fmt.Sprint("id-", i) {
			t.Errorf("answer %d is %q", i, a.CustomID)
		}
	}
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: first.InputFileID, Endpoint: films}, "", ""); err != nil {
		t.Error(err)
	}
	l.close()
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: first.InputFileID, Endpoint: films}, "", ""); err == nil {
		t.Error("a closed Manager makes batches")
	}
	late, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 {
		if err := l.m.Close(late); err != nil {
			t.Fatal("no batch is at work, and yet", err)
		}
	}
}

// TestBackendFails: temporary errors are retried, permanent ones fail the batch with the
// answers so far.
func TestBackendFails(t *testing.T) {
	broken := errors.New("the device is on fire")
	l := newLab(t, Options{Chunk: 8, Retry: []time.Duration{1, 1}})
	g := block(l.atlas.shelf["films"])
	fail := func(n int) {
		for range n {
			<-g.entered
			g.release <- broken
		}
	}
	b := l.submit("a.jsonl", manyFilms(40), Spec{})
	fail(2)
	g.pass(1)
	fail(2)
	g.pass(4)
	if b = l.wait(b.ID); b.Status != Completed || b.RequestCounts != (Counts{Total: 40, Completed: 40, Failed: 0}) || b.Errors != nil {
		t.Errorf("%+v", b)
	}

	b = l.submit("a.jsonl", manyFilms(40), Spec{})
	g.pass(2)
	fail(2)
	<-g.entered
	if e := l.get(b.ID).Errors; e == nil || e.Data[0].Code != string(problem.Internal) {
		t.Errorf("while it stands still: %+v", e)
	}
	g.release <- broken
	b = l.wait(b.ID)
	if b.Status != Failed || b.FailedAt == nil || b.RequestCounts != (Counts{Total: 40, Completed: 16, Failed: 0}) || b.Errors == nil || b.Errors.Data[0].Code != "internal" {
		t.Errorf("%+v", b)
	}
	if strings.Contains(b.Errors.Data[0].Message, "fire") {
		t.Errorf("clients are told: %s", b.Errors.Data[0].Message)
	}
	if n := rowsOf(t, l, &b); n != 16 {
		t.Errorf("%d answers", n)
	}
}

// TestSweep removes holds and pins of batches that were never recorded, and keeps their
// folders.
func TestSweep(t *testing.T) {
	l := newLab(t, Options{})
	file := l.upload("a.jsonl", manyLines(10))
	if err := l.files.Hold(file, idPrefix+"lost"); err != nil {
		t.Fatal(err)
	}
	l.atlas.pins[idPrefix+"lost"] = []string{"films"}
	for _, dir := range []string{idPrefix + "lost", "not-ours"} {
		if err := os.MkdirAll(filepath.Join(l.dir, "batches", dir, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.reopen()
	if err := l.files.Delete(file); err != nil || len(l.atlas.pins) > 0 {
		t.Errorf("still held: %v, %v", err, l.atlas.pins)
	}
	left, err := os.ReadDir(filepath.Join(l.dir, "batches"))
	if err != nil || len(left) != 1 || left[0].Name() != "not-ours" {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "lost+found", "batches", idPrefix+"lost", "x")); err != nil || len(l.m.Found().Kept) != 1 {
		t.Errorf("%v, %v", l.m.Found(), err)
	}
}

// TestConcurrency: a number of batches run, the others wait in order.
func TestConcurrency(t *testing.T) {
	l := newLab(t, Options{Concurrency: 2})
	g := block(l.atlas.shelf["films"])
	var ids []string
	for range 4 {
		ids = append(ids, l.submit("a.fvecs", fvecs(gaussian(1, 1)), Spec{}).ID)
	}
	<-g.entered
	<-g.entered
	for i, want := range []int{0, 0, 1, 2} {
		if p := l.get(ids[i]).Progress.Position; p != want {
			t.Errorf("batch %d has position %d, want %d", i, p, want)
		}
	}
	if n := l.m.Counts(); n[InProgress] != 2 || n[Validating] != 2 {
		t.Errorf("%v", n)
	}
	g.release <- nil
	<-g.entered // the third
	g.release <- nil
	g.release <- nil
	g.pass(1)
	for _, id := range ids {
		l.wait(id)
	}
}

func TestJSON(t *testing.T) {
	l := newLab(t, Options{Now: func() time.Time { return time.Unix(77, 0) }})
	b := l.wait(l.submit("a.jsonl", manyFilms(2), Spec{Metadata: map[string]string{"a": "b"}}).ID)
	b.Progress = Progress{Saving: 1}
	got, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"id":%q,"object":"batch","endpoint":"/v1/collections/films/search","errors":null,"input_file_id":%q,`+
		`"completion_window":"24h","status":"completed","output_file_id":%q,"error_file_id":null,"created_at":77,"in_progress_at":77,`+
		`"expires_at":86477,"finalizing_at":77,"completed_at":77,"failed_at":null,"expired_at":null,"cancelling_at":null,"cancelled_at":null,`+
		`"request_counts":{"total":2,"completed":2,"failed":0},"metadata":{"a":"b"},"collections":[{"name":"films","version":10}],`+
		`"progress":{"position":0,"queries":0,"queries_per_second":0,"pulls":0,"dense_pulls":0,"saving":1,"seconds_left":null}}`,
		b.ID, b.InputFileID, *b.OutputFileID)
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

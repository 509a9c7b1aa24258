package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/service/files"
	"thresher/service/files/spool"
	"thresher/service/problem"
)

// turnstile has the searches of a collection wait one by one.
type turnstile struct {
	entered chan struct{} // one each when a search begins
	release chan error    // what it fails with, or nil
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

// pass lets n searches through.
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

func TestSpecs(t *testing.T) {
	l := newLab(t, Options{Window: time.Hour})
	lines, matrix := l.upload("a.jsonl", manyLines(1)), l.upload("a.fvecs", fvecs(vectors(1, 2)))
	zipped, nameless := l.upload("a.jsonl.gz", "x"), l.upload("a", manyLines(1))
	long := strings.Repeat("é", 65)
	spec := func(file, rest string) string {
		return fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q%s}`, file, films, rest)
	}
	for _, c := range []struct {
		body, field string
		kind        problem.Kind // "" is good
	}{
		{spec(lines, ""), "", ""},
		{spec(nameless, `,"completion_window":"59m","metadata":{"a":"b"}`), "", ""},
		{spec(lines, `,"search":null`), "", ""},
		{spec(matrix, `,"search":{"k":2},"output_format":"npz"`), "", ""},
		{spec(matrix, `,"search":{"min_score":2}`), "", ""},
		{spec(matrix, ""), "", ""},
		{"", "", problem.Malformed},
		{"[]", "", problem.Malformed},
		{spec(lines, "") + "x", "", problem.Malformed},
		{spec(lines, `,"else":1`), "else", problem.UnknownField},
		{spec(lines, `,"completion_window":24`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"metadata":{"a":1}`), "metadata", problem.InvalidValue},
		{spec("", ""), "input_file_id", problem.InvalidValue},
		{spec("file-none", ""), "input_file_id", problem.UnknownFile},
		{`{"input_file_id":"` + lines + `"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/chat/completions"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/a/b/search"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/%zz/search"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/none/search"}`, "", problem.UnknownCollection},
		{spec(lines, `,"completion_window":"soon"`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"completion_window":"61m"`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"completion_window":"-1h"`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"output_format":"csv"`), "output_format", problem.InvalidValue},
		{spec(lines, `,"search":[]`), "search", problem.InvalidValue},
		{spec(lines, `,"metadata":{"`+long+`":"b"}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{"a":"`+strings.Repeat("é", 513)+`"}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{`+manyMembers(17)+`}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{`+manyMembers(16)+`}`), "", ""},
		{spec(zipped, ""), "input_file_id", problem.UnsupportedMedia},
		{spec(matrix, `,"search":{"k":0}`), "search.k", problem.InvalidValue},
		{spec(matrix, `,"search":{"k":201}`), "search.k", problem.OverLimit},
		{spec(matrix, `,"search":{"queries":[[1]]}`), "search.queries", problem.UnknownField},
		{spec(matrix, `,"search":{"speed":1}`), "search.speed", problem.UnknownField},
		{spec(matrix, `,"search":{"min_score":2},"output_format":"npz"`), "output_format", problem.InvalidValue},
		{strings.Replace(spec(matrix, `,"search":{"k":2},"output_format":"npz"`), "films", "names", 1), "output_format", problem.InvalidValue},
	} {
		s, err := DecodeSpec([]byte(c.body))
		var b Batch
		if err == nil {
			b, err = l.m.Create(context.Background(), s, "")
		}
		var p *problem.Problem
		switch {
		case c.kind == "" && err != nil:
			t.Errorf("%s: %v", c.body, err)
		case c.kind == "":
			if l.wait(b.ID).Status != Completed {
				t.Errorf("%s: %+v", c.body, l.get(b.ID))
			}
		case !errors.As(err, &p) || p.Kind != c.kind || p.Field != c.field && c.field != "input_file_id":
			t.Errorf("%s: error %v, want %s in %q", c.body, err, c.kind, c.field)
		}
	}
	if len(l.atlas.pins) > 0 {
		t.Errorf("refused batches have left pins: %v", l.atlas.pins)
	}
	if holders, err := l.files.Owners(idPrefix); err != nil || len(holders) > 0 {
		t.Errorf("refused batches have left holds: %v, %v", holders, err)
	}
}

func manyMembers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"m%d":"v"`, i))
	}
	return strings.Join(all, ",")
}

// TestIdempotency: one key makes one batch, also after a restart and once it is final.
func TestIdempotency(t *testing.T) {
	l := newLab(t, Options{})
	g := block(l.atlas.shelf["films"])
	spec := Spec{InputFileID: l.upload("a.fvecs", fvecs(vectors(1, 2))), Endpoint: films}
	create := func() Batch {
		t.Helper()
		b, err := l.m.Create(context.Background(), spec, "key")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() { ids[i] = create().ID })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("batches %v", ids)
		}
	}
	l.reopen()
	if b := create(); b.ID != ids[0] {
		t.Errorf("batch %s after a restart", b.ID)
	}
	other := spec
	other.Metadata = map[string]string{"a": "b"}
	if _, err := l.m.Create(context.Background(), other, "key"); kindOf(err) != problem.KeyReused {
		t.Errorf("another request: %v", err)
	}
	g.pass(1)
	if b := l.wait(ids[0]); b.Status != Completed {
		t.Errorf("%+v", b)
	}
	if b := create(); b.ID != ids[0] || b.Status != Completed {
		t.Errorf("%+v", b)
	}
	if b, err := l.m.Create(context.Background(), spec, "other key"); err != nil || b.ID == ids[0] {
		t.Errorf("%+v, %v", b, err)
	}
	g.pass(1)
	if page, err := l.m.List("", 0); err != nil || len(page.Data) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestListAndDelete(t *testing.T) {
	l := newLab(t, Options{Waiting: 10})
	g := block(l.atlas.shelf["films"])
	var ids []string
	for range 6 {
		ids = append(ids, l.submit("a.fvecs", fvecs(vectors(1, 1)), Spec{}).ID)
	}
	list := func(after string, limit int) (got []string, more bool) {
		t.Helper()
		page, err := l.m.List(after, limit)
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
		if _, err := l.m.List("", limit); kindOf(err) != problem.InvalidValue {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := l.m.List("none", 1); kindOf(err) != problem.UnknownBatch {
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
	if n := l.m.Counts(); n[Completed] != 5 || n[InProgress] != 0 || len(n) != len(Statuses()) {
		t.Errorf("%v", n)
	}
	l.reopen()
	if n := l.m.Counts(); n[Completed] != 5 {
		t.Errorf("after a restart %v", n)
	}
}

// TestMadeAgain: a batch that was deleted and is made again with its key, and so has
// its id, is answered anew.
func TestMadeAgain(t *testing.T) {
	l := newLab(t, Options{})
	spec := Spec{InputFileID: l.upload("a.jsonl", manyFilms(2)), Endpoint: films}
	var outputs []string
	for range 2 {
		b, err := l.m.Create(context.Background(), spec, "key")
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, *l.wait(b.ID).OutputFileID)
		if err := l.m.Delete(b.ID); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		delete(l.ended, b.ID)
		l.mu.Unlock()
	}
	if outputs[0] == outputs[1] {
		t.Error("the output of a deleted batch is handed over again")
	}
}

func TestTooManyWait(t *testing.T) {
	l := newLab(t, Options{Waiting: 1})
	g := block(l.atlas.shelf["films"])
	spec := Spec{InputFileID: l.upload("a.fvecs", fvecs(vectors(1, 1))), Endpoint: films}
	for i := range 3 {
		_, err := l.m.Create(context.Background(), spec, fmt.Sprint(i))
		var p *problem.Problem
		if i < 2 != (err == nil) || err != nil && (!errors.As(err, &p) || p.Kind != problem.QueueFull || p.RetryAfter == 0) {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	g.pass(2)
}

// TestCancel cancels at work, within a chunk, and while waiting; and what is final.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		answers             int64
	}{
		{"requests", "a.jsonl", manyFilms(40), Spec{}, 16},
		{"matrix", "a.fvecs", fvecs(vectors(1, 40)), Spec{}, 16},
		{"npz", "a.fvecs", fvecs(vectors(1, 40)), Spec{OutputFormat: "npz"}, 16},
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
			b = l.wait(first.ID) // the search at the turnstile is not let through
			if b.Status != Cancelled || b.RequestCounts != (Counts{40, c.answers, 0}) || b.ErrorFileID != nil || b.CompletedAt != nil {
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

// manyFilms are n requests of one query each.
func manyFilms(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(fmt.Sprint("id-", i), "films", body(i, 1, "")))
	}
	return b.String()
}

// TestExpire lets the completion window end in the middle of two batches.
func TestExpire(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		counts              Counts
	}{
		{"requests", "a.jsonl", manyFilms(40) + "nonsense\n", Spec{}, Counts{41, 16, 25}},
		{"matrix", "a.fvecs", fvecs(vectors(1, 40)), Spec{}, Counts{40, 16, 0}},
		{"parquet", "a.fvecs", fvecs(vectors(1, 40)), Spec{OutputFormat: "parquet"}, Counts{40, 16, 0}},
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

// clock is set by hand.
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

// TestRestart closes the Manager in the middle: the batch stays where it was, the next
// one goes on, and asks nothing twice.
func TestRestart(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	first := l.submit("a.jsonl", manyFilms(40), Spec{})
	second := l.submit("b.jsonl", manyFilms(1), Spec{})
	g.pass(2)
	<-g.entered
	l.reopen() // the search at the turnstile is stopped
	<-g.entered
	if b := l.get(first.ID); b.Status != InProgress || b.RequestCounts != (Counts{40, 16, 0}) || b.Progress.Queries != 16 {
		t.Errorf("%+v", b)
	}
	if b := l.get(second.ID); b.Status != Validating || b.Progress.Position != 1 {
		t.Errorf("%+v", b)
	}
	g.release <- nil
	g.pass(3)
	b := l.wait(first.ID)
	if b.Status != Completed || b.RequestCounts != (Counts{40, 40, 0}) {
		t.Errorf("%+v", b)
	}
	for i, a := range answersOf(t, l.content(b.OutputFileID)) {
		if a.CustomID != fmt.Sprint("id-", i) {
			t.Errorf("answer %d is %q", i, a.CustomID)
		}
	}
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: first.InputFileID, Endpoint: films}, ""); err != nil {
		t.Error(err)
	}
	l.close()
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: first.InputFileID, Endpoint: films}, ""); err == nil {
		t.Error("a closed Manager makes batches")
	}
}

// TestBackendFails: what may pass is tried again, what does not fails the batch with
// what it came to.
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
	if b = l.wait(b.ID); b.Status != Completed || b.RequestCounts != (Counts{40, 40, 0}) || b.Errors != nil {
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
	if b.Status != Failed || b.FailedAt == nil || b.RequestCounts != (Counts{40, 16, 0}) || b.Errors == nil || b.Errors.Data[0].Code != "internal" {
		t.Errorf("%+v", b)
	}
	if strings.Contains(b.Errors.Data[0].Message, "fire") {
		t.Errorf("clients are told: %s", b.Errors.Data[0].Message)
	}
	if n := rowsOf(t, l, &b); n != 16 {
		t.Errorf("%d answers", n)
	}
}

// failingStore fails to take files over, so many times.
type failingStore struct {
	*files.Store
	mu   sync.Mutex
	left int
}

func (f *failingStore) Adopt(ctx context.Context, path, name, purpose, key string) (files.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left >= 0 {
		return files.File{}, errors.New("no room")
	}
	return f.Store.Adopt(ctx, path, name, purpose, key)
}

// TestDeliveryFails: what is answered is handed over sooner or later.
func TestDeliveryFails(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{1}})
	l.m.store = &failingStore{Store: l.files, left: 5}
	b := l.wait(l.submit("a.fvecs", fvecs(vectors(1, 9)), Spec{OutputFormat: "parquet"}).ID)
	if b.Status != Completed || b.Errors != nil {
		t.Errorf("%+v", b)
	}
	if n := rowsOf(t, l, &b); n != 9 {
		t.Errorf("%d answers", n)
	}
}

// linkingStore takes files over as a store does that dies before it removes their first
// name, once.
type linkingStore struct {
	*files.Store
	t     *testing.T
	taken string // the second name
}

func (f *linkingStore) Adopt(ctx context.Context, path, name, purpose, key string) (files.File, error) {
	if _, err := os.Stat(f.taken); err != nil {
		return files.File{}, errors.Join(os.Link(path, f.taken), errors.New("dead"))
	}
	one, err := os.Stat(path)
	other, err2 := os.Stat(f.taken)
	if err != nil || err2 != nil || os.SameFile(one, other) {
		f.t.Errorf("what was handed over is written again: %v, %v", err, err2)
	}
	return f.Store.Adopt(ctx, path, name, purpose, key)
}

// TestDeliveredFileIsNotTouched: an output that may have been taken over is not opened
// for writing.
func TestDeliveredFileIsNotTouched(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{1}})
	l.m.store = &linkingStore{Store: l.files, t: t, taken: filepath.Join(l.dir, "taken")}
	b := l.wait(l.submit("a.fvecs", fvecs(vectors(1, 9)), Spec{OutputFormat: "npz"}).ID)
	if n := rowsOf(t, l, &b); b.Status != Completed || n != 9 {
		t.Errorf("%d answers, %+v", n, b)
	}
}

// TestCancelAtTheEnd cancels a batch when all is answered and nothing recorded of it:
// a client that was told cancelling sees it cancelled.
func TestCancelAtTheEnd(t *testing.T) {
	l := newLab(t, Options{})
	l.m.mu.Lock()
	l.m.running++ // nothing begins
	l.m.mu.Unlock()
	id := l.submit("a.jsonl", manyFilms(1), Spec{}).ID
	j, _ := l.m.job(id)
	if err := errors.Join(j.cancel(), j.sealAt(Completed, nil, tally{})); err != nil {
		t.Fatal(err)
	}
	if b := l.get(id); b.Status != Cancelling {
		t.Errorf("%+v", b)
	}
	l.m.mu.Lock()
	l.m.conclude(j)
	l.m.mu.Unlock()
	if b := l.wait(id); b.Status != Cancelled || b.CancelledAt == nil || b.CompletedAt != nil {
		t.Errorf("%+v", b)
	}
}

// TestOutputsAreDamaged: a batch whose outputs were cut while the server was down says
// so and hands nothing over.
func TestOutputsAreDamaged(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	b := l.submit("a.jsonl", manyFilms(40), Spec{})
	g.pass(2)
	<-g.entered
	l.close()
	if err := os.Truncate(filepath.Join(l.dir, "batches", b.ID, "output.jsonl"), 100); err != nil {
		t.Fatal(err)
	}
	l.open()
	if b = l.wait(b.ID); b.Status != Failed || b.OutputFileID != nil || b.Errors == nil || b.RequestCounts.Completed != 0 {
		t.Errorf("%+v", b)
	}
}

// TestPinsFail: a batch whose collections cannot be pinned is not made, or fails.
func TestPinsFail(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{}})
	file := l.upload("a.jsonl", manyLines(10))
	l.atlas.broken = errors.New("disk full")
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: file, Endpoint: films}, "k"); !errors.Is(err, l.atlas.broken) {
		t.Errorf("error %v", err)
	}
	if err := l.files.Delete(file); err != nil {
		t.Errorf("still held: %v", err)
	}
}

// TestPinsWait: a batch that names a collection which is still loaded waits for it.
func TestPinsWait(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{}})
	l.atlas.loading = "numbers"
	if b := l.wait(l.submit("a.jsonl", manyLines(10), Spec{}).ID); b.Status != Completed || b.RequestCounts.Failed != 0 {
		t.Errorf("%+v", b)
	}
}

// TestWithoutLinks: where a file has one name only, the input is copied, as a whole.
func TestWithoutLinks(t *testing.T) {
	var written []string
	l := newLab(t, Options{Retry: []time.Duration{}, disk: spool.Disk{Step: func(step, path string) error {
		switch step {
		case "link":
			return syscall.EXDEV
		case "write":
			written = append(written, filepath.Base(path))
		}
		return nil
	}}})
	dir := filepath.Join(l.dir, "batches", idOf("key"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "input.part"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := l.m.Create(context.Background(), Spec{InputFileID: l.upload("a.jsonl", manyLines(10)), Endpoint: films}, "key")
	if err != nil {
		t.Fatal(err)
	}
	if b = l.wait(b.ID); b.Status != Completed || b.RequestCounts != (Counts{10, 10, 0}) {
		t.Errorf("%+v", b)
	}
	if len(written) == 0 || slices.Contains(written, "input") {
		t.Errorf("written: %q", written)
	}
}

// TestSweep: what a crash has left of batches that never came to be goes.
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
}

// TestConcurrency: so many batches are at work, the others wait in order.
func TestConcurrency(t *testing.T) {
	l := newLab(t, Options{Concurrency: 2})
	g := block(l.atlas.shelf["films"])
	var ids []string
	for range 4 {
		ids = append(ids, l.submit("a.fvecs", fvecs(vectors(1, 1)), Spec{}).ID)
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

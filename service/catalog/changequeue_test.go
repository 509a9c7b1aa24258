package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"thresher/dataset"
	"thresher/service/problem"
)

// TestChangesWaitForTheirTurn: concurrent changes are all made, each on top of the previous
// one.
func TestChangesWaitForTheirTurn(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{Patience: time.Minute})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
	const n = 8
	versions := make([]int64, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var made Info
			var err error
			switch i % 4 {
			case 0:
				made, err = f.c.Remove(ctx, "a", *ints(int64(i / 4)), fmt.Sprint("key ", i))
			default:
				made, err = f.c.Append(ctx, "a", rowsOf(10*i, 1, 2, nil), fmt.Sprint("key ", i))
			}
			if err != nil {
				t.Error(i, err)
			}
			versions[i] = max(made.Version, made.Next)
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for _, v := range versions {
		seen[v] = true
	}
	i, err := f.c.Wait(ctx, "a", 0)
	if err != nil || len(seen) != n || i.Version != n+1 || i.Count != 3+6-2 {
		t.Error(i, err, versions)
	}
	if len(f.c.queues.lines) != 0 {
		t.Error("lines that nobody waits in are kept")
	}
}

// TestImpatience: a change that waits too long is asked to retry, and so is one that may not
// wait.
func TestImpatience(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open, Patience: time.Nanosecond})
	i, err := f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	conflict := func(err error) {
		t.Helper()
		if kindOf(err) != problem.Conflict {
			t.Error(err)
		}
	}
	_, err = f.c.Append(ctx, "a", rowsOf(0, 1, 2, nil), "")
	if conflict(err); problem.Of(err).RetryAfter <= 0 {
		t.Error(err)
	}
	f.c.o.Patience = time.Hour
	_, err = f.c.Append(OnlyOn(ctx, 1, nil), "a", rowsOf(0, 1, 2, nil), "") // which is being built
	conflict(err)
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.c.Remove(short, "a", *ints(1), ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g.pass <- nil
	f.ready(i, nil)
	_, err = f.c.Append(OnlyOn(ctx, 2, nil), "a", rowsOf(0, 1, 2, nil), "")
	conflict(err)
	_, err = f.c.Remove(OnlyOn(ctx, 2, nil), "a", *ints(1), "")
	conflict(err)
	i, err = f.c.Append(OnlyOn(ctx, 1, nil), "a", rowsOf(0, 1, 2, nil), "")
	<-g.arrived
	waits := make(chan error, 1)
	go func() {
		_, err := f.c.Append(ctx, "a", rowsOf(0, 1, 2, nil), "")
		waits <- err
	}()
	go func() { g.pass <- nil }()
	f.ready(i, err)
	<-g.arrived // its build runs
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// TestCloseEndsWaits: changes that wait when the catalog closes are refused.
func TestCloseEndsWaits(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open, Patience: time.Hour})
	if _, err := f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""); err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	waits := make(chan error, 2)
	c := f.c
	for range 2 {
		go func() {
			_, err := c.Append(ctx, "a", rowsOf(0, 1, 2, nil), "")
			waits <- err
		}()
	}
	for waiting := 0; waiting < 2; runtime.Gosched() { // close also closes the database
		c.mu.Lock()
		if q := c.queues.lines["a"]; q != nil {
			waiting = q.waiting
		}
		c.mu.Unlock()
	}
	f.close()
	for range 2 {
		if err := <-waits; kindOf(err) != problem.Draining {
			t.Error(err)
		}
	}
	f.o.Open = processor(t)
	f.open()
}

// TestTakenIDsAreRefusedAtOnce: rows whose ids exist are refused without a build; ids of
// large files are checked by the build before anything is written.
func TestTakenIDsAreRefusedAtOnce(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}})
	f.ready(f.c.Create(ctx, "n", rowsOf(0, 3, 1, ints(4, 6, 9)), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "s", rowsOf(0, 3, 1, names("a", "b", "6")), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "r", rowsOf(0, 3, 1, nil), CreateOptions{Metric: "ip"}, ""))
	lines := `{"id":"x","v":[1]}` + "\n" + `{"id":"6","v":[2]}` + "\n"
	if err := os.WriteFile(filepath.Join(root, "rows.jsonl"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	files := len(f.files())
	refused := func(row int, text string, i Info, err error) {
		t.Helper()
		want{problem.InvalidValue, "ids", row, text}.check(t, err)
		if now := f.files(); len(now) != files || i.Version != 0 {
			t.Error(now, i)
		}
	}
	body := func(text string) Source {
		return Source{Body: strings.NewReader(text), Format: dataset.JSONL, IDColumn: "id"}
	}
	i, err := f.c.Append(ctx, "n", rowsOf(0, 2, 1, ints(1, 6)), "")
	refused(1, "row 1 has the id 6, which the collection has already, at row 1", i, err)
	i, err = f.c.Append(ctx, "s", rowsOf(0, 1, 1, names("b")), "")
	refused(0, `row 0 has the id "b", which the collection has already, at row 1`, i, err)
	i, err = f.c.Append(ctx, "r", rowsOf(0, 2, 1, ints(7, 2)), "")
	refused(1, "row 1 has the id 2, which the collection has already, at row 2", i, err)
	i, err = f.c.Append(ctx, "s", body(lines), "")
	refused(1, `row 1 has the id "6"`, i, err)
	i, err = f.c.Append(ctx, "n", body(`{"id":1,"v":[1]}`+"\n"+`{"id":9,"v":[2]}`+"\n"), "")
	refused(1, "row 1 has the id 9", i, err)

	wrote := 0
	f.c.o.disk.Step = func(step, path string) error {
		if step == "build" {
			wrote++
		}
		return nil
	}
	p := f.failed(f.c.Append(ctx, "s", Source{Path: "rows.jsonl", IDColumn: "id"}, ""))
	want{problem.InvalidValue, "ids", 1, `row 1 has the id "6", which the collection has already, at row 2`}.check(t, p)
	if wrote > 0 {
		t.Error("the collection was written before the ids were looked at")
	}
}

// readerOf is an io.Reader that calls do before the text is read.
type readerOf struct {
	do   func()
	text *strings.Reader
}

func (r *readerOf) Read(p []byte) (int, error) {
	if r.do != nil {
		r.do()
		r.do = nil
	}
	return r.text.Read(p)
}

// TestIDsIgnoredMeanwhile: the ids of rows are not read where those of the collection are row numbers. If they no longer
// are once the rows have arrived, rows with ids are sent again, and rows without are added.
func TestIDsIgnoredMeanwhile(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	for name, x := range map[string]struct {
		line string
		kind problem.Kind
	}{"named": {`{"id":70,"v":[1,2]}`, problem.Conflict}, "bare": {`{"v":[1,2]}`, ""}} {
		f.ready(f.c.Create(ctx, name, rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
		body := &readerOf{func() { f.ready(f.c.Remove(ctx, name, *ints(0), "")) }, strings.NewReader(x.line)}
		i, err := f.c.Append(ctx, name, Source{Body: body, Format: dataset.JSONL}, "")
		if x.kind != "" {
			if kindOf(err) != x.kind {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
			continue
		}
		f.ready(i, err)
		if i, err = f.c.Wait(ctx, name, 0); err != nil || i.Count != 3 || i.IDs != Integers {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}

// TestWhatIsDoneWins: of a wait that has ended and a context that has ended, both may be seen at once.
func TestWhatIsDoneWins(t *testing.T) {
	f := newFolder(t, Options{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan struct{})
	if err := await(over, done); !errors.Is(err, context.Canceled) {
		t.Errorf("while nothing is done: %v", err)
	}
	close(done)
	places := make(chan struct{}, 100)
	for range cap(places) {
		if err := await(over, done); err != nil {
			t.Fatal(err)
		}
		if err := f.c.occupy(over, places); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.c.occupy(over, places); !errors.Is(err, context.Canceled) {
		t.Errorf("while there is no place: %v", err)
	}
}

package catalog

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/problem"
)

// TestFailedBuilds: each of these is accepted and fails later with the right problem; a
// collection that exists continues to answer.
func TestFailedBuilds(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}, MaxRows: 6})
	f.ready(f.c.Create(ctx, "n", rowsOf(0, 3, 2, ints(5, 6, math.MaxInt64)), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "s", rowsOf(0, 2, 2, names("a", "b")), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "l", rowsOf(0, 2, 2, nil), CreateOptions{Metric: "l2"}, ""))
	nan := npy(t, 3, 2, []float32{1, 2, 3, 4, 5, float32(math.NaN())})
	jsonl := func(lines ...string) Source { return Source{Body: strings.NewReader(strings.Join(lines, "\n"))} }
	ids := func(lines ...string) Source {
		s := jsonl(lines...)
		s.IDColumn, s.Column = "id", "v"
		return s
	}
	foreign := write(t, filepath.Join(root, "x.thresher"), []byte("THRESHER and nothing more at all"))
	for name, tc := range map[string]struct {
		do func(c *Catalog) (Info, error)
		want
	}{
		"NaN":           {create("a", Source{Body: strings.NewReader(string(nan))}, CreateOptions{Metric: "ip"}), want{problem.NotFinite, "rows", 2, "the body: row 2, column 1"}},
		"ragged":        {create("a", jsonl("[1,2]", "[1,2,3]"), CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", 1, "the body: row 1"}},
		"many":          {create("a", jsonl("[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]"), CreateOptions{Metric: "ip"}), want{problem.OverLimit, "rows", -1, "more than 6 rows"}},
		"same ids":      {create("a", ids(`{"id":3,"v":[1]}`, `{"id":4,"v":[1]}`, `{"id":3,"v":[1]}`), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", 2, "rows 0 and 2 have the same id 3"}},
		"an id missing": {create("a", ids(`{"id":3,"v":[1]}`, `{"v":[1]}`), CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", 1, `"id"`}},
		"not integers":  {create("a", ids(`{"id":3,"v":[1]}`, `{"id":"x","v":[1]}`), CreateOptions{Metric: "ip", IDs: Integers}), want{problem.InvalidValue, "ids", 1, `row 1 has the id "x"`}},
		"no id left":    {add("n", rowsOf(0, 1, 2, nil)), want{problem.InvalidValue, "rows", 0, "no integer left"}},
		"far away":      {add("l", Source{Rows: []float32{0, 0, 1e30, 0}, Dim: 2}), want{problem.InvalidValue, "rows", 3, "the rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			files, list := f.files(), f.c.List()
			i, err := tc.do(f.c)
			if p := f.failed(i, err); p != nil {
				tc.check(t, p)
			}
			now, err := f.c.Get(i.Name)
			if err != nil || now.Failure == nil || now.Error != now.Failure.Detail {
				t.Fatal(now, err)
			}
			if i.Name == "a" {
				if now.State != Failed {
					t.Error(now)
				}
				_, err := f.c.Use("a", 0)
				if kindOf(err) != problem.Conflict {
					t.Error(err)
				}
				before := now
				f.close()
				f.open() // the failure is still known
				if now, err = f.c.Get("a"); err != nil || cmp.Diff(before, now) != "" {
					t.Error(now, err)
				}
				f.ready(f.c.Create(ctx, "a", rowsOf(0, 1, 2, nil), CreateOptions{Metric: "ip"}, "")) // the name is free
				if err := f.c.Delete("a"); err != nil {
					t.Error(err)
				}
			} else {
				if now.State != Ready {
					t.Error(now)
				}
				contents(t, f.c, i.Name, 0)
				f.ready(f.c.Create(ctx, "b", rowsOf(0, 1, 2, nil), CreateOptions{Metric: "ip"}, "")) // others are unharmed
				if err := f.c.Delete("b"); err != nil {
					t.Error(err)
				}
			}
			if d := cmp.Diff(files, f.files()); d != "" {
				t.Error("files:", d)
			}
			if now := f.c.List(); len(now) != len(list) {
				t.Error(now)
			}
		})
	}
	f.t = t
	f.ready(f.c.Append(ctx, "n", rowsOf(0, 1, 2, ints(0)), ""))
	if i, err := f.c.Get("n"); err != nil || i.Error != "" {
		t.Error("a change that went well forgets the failure:", i, err)
	}
	_, err := f.c.Create(ctx, "a", Source{Path: filepath.Base(foreign)}, CreateOptions{Metric: "ip"}, "")
	want{problem.Malformed, "source", -1, "x.thresher: "}.check(t, err)
}

// gate is an Opener that waits until it is released.
type gate struct {
	open    Opener
	arrived chan string
	pass    chan error
}

func newGate(t *testing.T) *gate {
	return &gate{open: processor(t), arrived: make(chan string, 16), pass: make(chan error)}
}

func (g *gate) Open(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
	g.arrived <- name
	select {
	case err := <-g.pass:
		if err != nil {
			return nil, err
		}
		return g.open(ctx, name, c)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestWhileOneIsMade(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open, MaxCollections: 2})
	i, err := f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, "")
	if err != nil || i.State != Building || i.Version != 1 || i.Count != 3 {
		t.Fatal(i, err)
	}
	<-g.arrived
	if i, err = f.c.Get("a"); err != nil || i.State != Building || i.Progress != 1 {
		t.Fatal(i, err)
	}
	busy := func(err error, kind problem.Kind) {
		t.Helper()
		p := problem.Of(err)
		if p.Kind != kind || kind != problem.NameTaken && p.RetryAfter <= 0 {
			t.Error(p.Kind, p, p.RetryAfter)
		}
	}
	_, err = f.c.Use("a", 0)
	busy(err, problem.NotReady)
	_, err = f.c.Use("a", 1)
	busy(err, problem.NotReady)
	_, err = f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, "")
	busy(err, problem.NameTaken)
	_, err = f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip", Replace: true}, "")
	busy(err, problem.Conflict)
	_, err = f.c.Append(ctx, "a", rowsOf(0, 3, 2, nil), "")
	busy(err, problem.Conflict)
	_, err = f.c.Remove(ctx, "a", *ints(1), "")
	busy(err, problem.Conflict)
	g.pass <- nil
	f.ready(i, nil)

	// a replacement is announced next to the current version, which stays if the replacement
	// fails
	if i, err = f.c.Create(ctx, "a", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip", Replace: true}, ""); err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	if now, err := f.c.Get("a"); err != nil || now.Version != 1 || now.State != Ready || now.Next != 2 {
		t.Error(now, err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.c.Wait(short, "a", 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g.pass <- errors.New("device lost")
	want{problem.Internal, "", -1, "the server's log has the details"}.check(t, f.failed(i, nil))
	if now, err := f.c.Get("a"); err != nil || now.Version != 1 || now.State != Ready || now.Next != 0 || now.Error == "" {
		t.Error(now, err)
	}

	// a deleted collection's build is stopped and leaves nothing
	if i, err = f.c.Create(ctx, "b", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip"}, ""); err != nil {
		t.Fatal(err)
	}
	_, err = f.c.Create(ctx, "c", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip"}, "")
	want{problem.OverLimit, "name", -1, "2 collections, at most 2"}.check(t, err)
	<-g.arrived
	waited := make(chan error, 1)
	f.c.mu.Lock()
	b := f.c.entries["b"].build
	f.c.mu.Unlock()
	go func() {
		_, err := f.c.Wait(ctx, "b", i.Version)
		waited <- err
	}()
	if err := f.c.Delete("b"); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; kindOf(err) != problem.UnknownCollection {
		t.Error(err)
	}
	<-b.done
	if got := f.files(); len(got) != 1 {
		t.Error(got)
	}

	// a build that Close stopped continues at the next start
	if i, err = f.c.Append(ctx, "a", rowsOf(3, 4, 2, nil), ""); err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	f.close()
	f.o.Open = processor(t)
	f.open()
	i = f.ready(i, nil)
	if ids, _ := contents(t, f.c, "a", 0); len(ids) != 7 || i.Version != 3 {
		t.Error(i, ids)
	}
}

func TestCloseWaits(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
	v, err := f.c.Use("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- f.c.Close() }()
	for { // refused as soon as closing has begun
		w, err := f.c.Use("a", 0)
		if err == nil {
			w.Release()
			continue
		}
		if kindOf(err) != problem.Draining {
			t.Error(err)
		}
		break
	}
	if got := search(t, v, []float32{1, 0}, 1); got[0] != 2 {
		t.Error(got)
	}
	select {
	case <-closed:
		t.Error("closed under a search")
	default:
	}
	v.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"create": second(f.c.Create(ctx, "b", rowsOf(0, 1, 1, nil), CreateOptions{Metric: "ip"}, "")),
		"append": second(f.c.Append(ctx, "a", rowsOf(0, 1, 2, nil), "")),
		"delete": f.c.Delete("a"), "pin": f.c.Pin("a", 1, "o"), "unpin": f.c.Unpin("o"),
	} {
		if kindOf(err) != problem.Draining {
			t.Error(name, err)
		}
	}
}

func second(_ Info, err error) error { return err }

func TestBodyThatBreaksOff(t *testing.T) {
	f := newFolder(t, Options{})
	broken := io.MultiReader(strings.NewReader("[1,2]\n"), &failing{io.ErrUnexpectedEOF})
	_, err := f.c.Create(context.Background(), "a", Source{Body: broken}, CreateOptions{Metric: "ip"}, "")
	want{problem.Malformed, "", -1, "ends before it is complete"}.check(t, err)
	if got := f.files(); len(got) != 0 || len(f.c.List()) != 0 {
		t.Error(got)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestFileInRootChanges changes a file between the request and the build.
func TestFileInRootChanges(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	matrix, then := npy(t, 3, 2, vectors(0, 3, 2)), time.Unix(1_700_000_000, 0)
	put := func(name string, content []byte, at time.Time) string {
		t.Helper()
		path := write(t, filepath.Join(root, name), content)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("other.npy", matrix, then)
	link := filepath.Join(root, "m.npy")
	for name, change := range map[string]func(path string){
		"touched":   func(string) { put("was.npy", matrix, then.Add(1)) },
		"longer":    func(string) { put("was.npy", append(matrix, 0), then) },
		"elsewhere": func(string) { os.Remove(link); os.Symlink("other.npy", link) },
		"gone":      func(path string) { os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			f := newFolder(t, Options{Open: g.Open, Roots: []string{root}})
			if _, err := f.c.Create(ctx, "first", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""); err != nil {
				t.Fatal(err)
			}
			<-g.arrived // the next build must wait
			path := put("was.npy", matrix, then)
			os.Remove(link)
			if err := os.Symlink("was.npy", link); err != nil {
				t.Fatal(err)
			}
			i, err := f.c.Create(ctx, "a", Source{Path: "m.npy"}, CreateOptions{Metric: "ip"}, "")
			if err != nil {
				t.Fatal(err)
			}
			change(path)
			g.pass <- nil
			w := want{problem.Conflict, "source.path", -1, "m.npy: the file has changed"}
			if name == "gone" {
				w = want{problem.InvalidValue, "source.path", -1, "there is no file"}
			}
			w.check(t, f.failed(i, nil))
		})
	}
}

// TestFileInRootChangesWhileItIsRead changes a file between opening it and the end of reading
// or copying.
func TestFileInRootChangesWhileItIsRead(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}})
	write(t, filepath.Join(root, "m.npy"), npy(t, 3, 2, vectors(0, 3, 2)))
	col, err := collection.Create(ctx, filepath.Join(root, "c.thresher"), &memorySource{data: vectors(0, 3, 2), dim: 2}, false, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	if err := col.Close(); err != nil {
		t.Error(err)
	}
	for name, at := range map[string]string{"m.npy": "build", "c.thresher": "write"} {
		changed := false
		f.c.o.disk.Step = func(step, _ string) error {
			if step != at || changed {
				return nil
			}
			changed = true
			then := time.Unix(1_700_000_000, 0)
			return os.Chtimes(filepath.Join(root, name), then, then)
		}
		p := f.failed(f.c.Create(ctx, "a", Source{Path: name}, CreateOptions{Metric: "ip"}, ""))
		want{problem.Conflict, "source.path", -1, name + ": the file has changed"}.check(t, p)
		if got := f.files(); !changed || len(got) != 0 || f.c.memory.used != 0 {
			t.Error(name, changed, got, f.c.memory.used)
		}
		f.c.o.disk.Step = nil
	}
}

// TestFullDisk fills the disk at each step in turn.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	failed := 0
	for at := 0; ; at++ {
		left := at
		var stepped string
		full := false
		f := newFolder(t, Options{})
		f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, ints(1, 2, 3)), CreateOptions{Metric: "ip"}, ""))
		f.c.o.disk.Step = func(step, path string) error {
			if step == "remove" {
				return nil // needs no space
			}
			if left--; left < 0 && !full {
				full, stepped = true, step
				return &os.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
			}
			return nil
		}
		files := f.files()
		i, err := f.c.Append(ctx, "a", rowsOf(3, 2, 2, ints(8, 9)), "key")
		if err == nil {
			i, err = f.c.Wait(ctx, "a", i.Version)
			if i.Failure != nil {
				err = i.Failure
			}
		}
		f.c.o.disk.Step = nil
		if err == nil {
			f.close()
			break
		}
		failed++
		if p := problem.Of(err); p.Kind != problem.DiskFull {
			t.Errorf("step %d, %s: %s: %v", at, stepped, p.Kind, err)
		}
		for range 2 {
			if d := cmp.Diff(files, f.files()); d != "" {
				t.Errorf("step %d, %s: files: %s", at, stepped, d)
			}
			if ids, _ := contents(t, f.c, "a", 0); cmp.Diff([]string{"1", "2", "3"}, ids) != "" {
				t.Errorf("step %d, %s: %v", at, stepped, ids)
			}
			f.close()
			f.open()
		}
		f.ready(f.c.Append(ctx, "a", rowsOf(3, 2, 2, ints(8, 9)), ""))
		f.close()
	}
	if failed < 12 {
		t.Errorf("only %d steps", failed)
	}
}

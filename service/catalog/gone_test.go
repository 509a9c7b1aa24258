package catalog

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// register records the names that a Catalog reports as removed.
type register struct {
	mu   sync.Mutex
	told []string
}

func (r *register) tell(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, what)
}

// since returns what was reported since the last call.
func (r *register) since() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := strings.Join(r.told, ", ")
	r.told = nil
	return told
}

// TestGone: a name is reported as removed when nothing is left under it, and not before.
func TestGone(t *testing.T) {
	var r register
	open := processor(t)
	var meanwhile func()
	var broken error
	f := newFolder(t, Options{
		Open: func(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
			if meanwhile != nil {
				meanwhile()
			}
			if broken != nil {
				return nil, broken
			}
			return open(ctx, name, c)
		},
		Runs:      func(name string) batch.RunObserver { r.tell(name); return nil },
		OnRemoved: func(name string) { r.tell("no " + name) },
	})
	ctx := context.Background()
	create := func(name string) {
		f.ready(f.c.Create(ctx, name, rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip"}, ""))
	}
	do := func(err error, want string) {
		t.Helper()
		if got := r.since(); err != nil || got != want {
			t.Errorf("%v, told %q, want %q", err, got, want)
		}
	}
	create("a")
	create("aa")
	do(f.c.Pin("a", 0, "owner"), "a, aa")
	f.ready(f.c.Append(ctx, "a", rowsOf(5, 1, 4, nil), ""))
	do(f.c.Delete("aa"), "a, no aa")
	v, err := f.c.Use("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	do(f.c.Delete("a"), "") // version 1 is pinned and version 2 in use
	v.Release()
	do(nil, "")
	f.close()
	f.open()
	do(f.c.Unpin("owner"), "a, no a")

	create("a")
	do(f.c.Pin("a", 0, "owner"), "a")
	do(f.c.Delete("a"), "")
	done := make(chan error, 1)
	meanwhile = func() { done <- f.c.Unpin("owner") }
	create("a") // another name
	do(<-done, "a")
	do(f.c.Delete("a"), "no a")
	meanwhile = nil

	broken = errors.New("broken on purpose")
	f.failed(f.c.Create(ctx, "b", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip"}, ""))
	do(f.c.Delete("b"), "no b")
	broken = nil

	meanwhile = func() { done <- f.c.Delete("c") }
	made, err := f.c.Create(ctx, "c", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.c.Wait(ctx, "c", made.Version)
	f.close() // after the build has ended
	f.open()
	do(nil, "no c, c, no c")
}

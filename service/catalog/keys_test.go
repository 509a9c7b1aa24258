package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

// TestKeysFindTheFirstAnswer sends every change twice under one key, before and after a
// restart.
func TestKeysFindTheFirstAnswer(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	lines := func() Source { return Source{Body: strings.NewReader("[1,2]\n[3,4]\n")} }
	steps := []func() (Info, error){
		func() (Info, error) { return f.c.Create(ctx, "a", lines(), CreateOptions{Metric: "ip"}, "k0") },
		func() (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 3, 2, ints(7, 8, 9)), "k1") },
		func() (Info, error) { return f.c.Remove(ctx, "a", *ints(7, 0), "k2") },
		func() (Info, error) {
			return f.c.Create(ctx, "a", lines(), CreateOptions{Metric: "ip", Replace: true}, "k3")
		},
	}
	var first []Info
	for _, step := range steps {
		i, err := step()
		if again, err := step(); err != nil || again.Version != i.Version || again.Name != "a" {
			t.Error(again, err)
		}
		first = append(first, f.ready(i, err))
	}
	for range 2 {
		for n, step := range steps {
			i, err := step()
			if err != nil || i.Version != first[n].Version || i.CreatedAt != first[n].CreatedAt {
				t.Errorf("step %d again: %+v, %v", n, i, err)
			}
		}
		if got := f.c.List(); len(got) != 1 || got[0].Version != 4 || got[0].Next != 0 {
			t.Error(got)
		}
		if got := f.files(); len(got) != 1 {
			t.Error(got)
		}
		f.close()
		f.open()
	}
	for name, err := range map[string]error{
		"other rows":    second(f.c.Create(ctx, "a", Source{Body: strings.NewReader("[1,2]\n[3,5]\n")}, CreateOptions{Metric: "ip"}, "k0")),
		"other name":    second(f.c.Create(ctx, "b", lines(), CreateOptions{Metric: "ip"}, "k0")),
		"other options": second(f.c.Create(ctx, "a", lines(), CreateOptions{Metric: "l2"}, "k0")),
		"other verb":    second(f.c.Append(ctx, "a", lines(), "k0")),
		"other ids":     second(f.c.Append(ctx, "a", rowsOf(0, 3, 2, ints(7, 8, 6)), "k1")),
		"fewer ids":     second(f.c.Remove(ctx, "a", *ints(7), "k2")),
	} {
		if kindOf(err) != problem.KeyReused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := f.files(); len(got) != 1 {
		t.Error(got)
	}
	if err := f.c.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if i, err := steps[0](); err != nil || i.Version != 1 {
		t.Error("the answer outlives what it names:", i, err)
	}
}

// TestKeyAtOnce sends the same change from many goroutines.
func TestKeyAtOnce(t *testing.T) {
	f := newFolder(t, Options{})
	var wg sync.WaitGroup
	got := make([]int64, 8)
	for n := range got {
		wg.Go(func() {
			i, err := f.c.Create(context.Background(), "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, "k")
			if err != nil {
				t.Error(err)
			}
			got[n] = i.Version
		})
	}
	wg.Wait()
	f.ready(f.c.Get("a"))
	if d := cmp.Diff(slices.Repeat([]int64{1}, len(got)), got); d != "" || len(f.files()) != 1 {
		t.Error(d, f.files())
	}
}

func TestPins(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
	pin := func(version int64, owner string) {
		t.Helper()
		if err := f.c.Pin("a", version, owner); err != nil {
			t.Error(err)
		}
	}
	unpin := func(owner string) {
		t.Helper()
		if err := f.c.Unpin(owner); err != nil {
			t.Error(err)
		}
	}
	pin(0, "batch 1")
	pin(1, "batch 1") // again
	pin(1, "batch 2")
	replace := func(n int) {
		t.Helper()
		f.ready(f.c.Create(ctx, "a", rowsOf(0, n, 2, nil), CreateOptions{Metric: "ip", Replace: true}, ""))
	}
	replace(4)
	pin(2, "batch 2")
	pin(2, "batch 20")
	v, err := f.c.Use("a", 2)
	if err != nil {
		t.Fatal(err)
	}
	replace(5)
	pin(2, "late") // no longer the newest, but in use
	v.Release()
	if err := f.c.Delete("a"); err != nil {
		t.Fatal(err)
	}
	has := func(version int64, rows int) {
		t.Helper()
		v, err := f.c.Use("a", version)
		if rows == 0 {
			if kindOf(err) != problem.UnknownCollection {
				t.Error(version, err)
			}
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		defer v.Release()
		if v.Len() != rows || len(search(t, v, []float32{1, 1}, 9)) != rows {
			t.Error(version, v.Len())
		}
	}
	for range 2 {
		has(0, 0)
		has(1, 3)
		has(2, 4)
		has(3, 0)
		if got := f.files(); len(got) != 2 || len(f.c.List()) != 0 {
			t.Error(got)
		}
		if owners, err := f.c.Owners("batch 2"); err != nil || !slices.Equal(owners, []string{"batch 2", "batch 20"}) {
			t.Error(owners, err)
		}
		f.close()
		f.open()
	}
	unpin("batch 2")
	unpin("batch 2")
	unpin("nobody")
	has(1, 3)
	has(2, 4)
	unpin("batch 1")
	has(1, 0)
	unpin("late")
	f.close()
	f.open()
	has(1, 0)
	has(2, 4)
	unpin("batch 20")
	has(2, 0)
	if got := f.files(); len(got) != 0 {
		t.Error(got)
	}
	for _, err := range []error{f.c.Pin("a", 0, "o"), f.c.Pin("a", 2, "o")} {
		if kindOf(err) != problem.UnknownCollection {
			t.Error(err)
		}
	}
	if err := f.c.Pin("a", 2, ""); kindOf(err) != problem.InvalidValue {
		t.Error(err)
	}
}

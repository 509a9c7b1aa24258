package catalog

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/cpu"
	"thresher/internal/crashtest"
	"thresher/service/problem"
)

// lastDeed is the number of deeds. Every process runs the same deeds, each with its own key;
// a deed whose result is unknown is repeated.
const lastDeed = 20

// deed executes the next deed and returns when it is acknowledged. After the last
// acknowledgement of a change, finish waits for its build.
func deed(ctx context.Context, c *Catalog, n int) (Info, error) {
	key := fmt.Sprint("key ", n)
	first := 100 * n
	switch n % 10 {
	case 0, 9:
		return c.Create(ctx, "a", rowsOf(first, 20, 4, counted(first, 20)), CreateOptions{Metric: "ip", Replace: true}, key)
	case 1:
		return c.Append(ctx, "a", rowsOf(first, 5, 4, counted(first, 5)), key)
	case 2:
		return Info{}, c.Pin("a", 0, "owner")
	case 3:
		return c.Remove(ctx, "a", *ints(int64(first-200), int64(first-201+5)), key)
	case 4:
		body := strings.Repeat("[1,2,3]\n", 40)
		return c.Create(ctx, "b", Source{Body: strings.NewReader(body)}, CreateOptions{Metric: "ip", Replace: true}, key)
	case 5:
		return c.Create(ctx, "a", rowsOf(first, 30, 5, nil), CreateOptions{Metric: "ip", Replace: true}, key)
	case 6:
		return Info{}, c.Unpin("owner")
	case 7:
		return c.Append(ctx, "b", rowsOf(first, 7, 3, nil), key)
	}
	err := c.Delete("a")
	if kindOf(err) == problem.UnknownCollection && err != nil {
		err = nil // done by an earlier process
	}
	return Info{}, err
}

// counted returns n ids from first on.
func counted(first, n int) *Keys {
	k := &Keys{}
	for id := range n {
		k.Ints = append(k.Ints, int64(first+id))
	}
	return k
}

// after returns the expected state after so many deeds: the ids of each collection, and those
// of the version that is pinned under "pinned".
func after(deeds int) map[string][]int64 {
	all := map[string][]int64{}
	for n := range deeds {
		first := int64(100 * n)
		switch n % 10 {
		case 0, 9:
			all["a"] = counted(int(first), 20).Ints
		case 1:
			all["a"] = append(slices.Clone(all["a"]), counted(int(first), 5).Ints...)
		case 2:
			all["pinned"] = all["a"]
		case 3:
			all["a"] = slices.DeleteFunc(slices.Clone(all["a"]), func(id int64) bool { return id == first-200 || id == first-201+5 })
		case 4:
			all["b"] = counted(0, 40).Ints
		case 5:
			all["a"] = counted(0, 30).Ints
		case 6:
			delete(all, "pinned")
		case 7:
			all["b"] = counted(0, 47).Ints
		case 8:
			delete(all, "a")
		}
	}
	return all
}

// childhood runs deeds until all are done or the process is killed. It prints a line before
// every step, and after every acknowledgement.
func childhood(child *crashtest.Child) error {
	dir := child.Args[0]
	first, err := strconv.Atoi(child.Args[1])
	if err != nil {
		return err
	}
	if len(child.Args) > 2 && (child.Args[2] == byRows || child.Args[2] == byRows64) {
		return writeByRows(child, child.Args[2] == byRows64, dir, first)
	}
	if len(child.Args) > 2 {
		return limited(dir, child.Args[2])
	}
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	db, err := openDatabase(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	o := Options{Open: opener(b)}
	o.disk.Step = func(step, _ string) error { child.Print(step); return nil } // builds run concurrently
	ctx := context.Background()
	c, err := Open(ctx, filepath.Join(dir, "collections"), db, &o)
	if err != nil {
		return err
	}
	<-c.Ready()
	for _, i := range c.List() {
		if _, err := c.Wait(ctx, i.Name, 0); err != nil {
			return err
		}
	}
	for n := first; n < lastDeed; n++ {
		i, err := deed(ctx, c, n)
		if err != nil {
			return fmt.Errorf("deed %d: %w", n, err)
		}
		child.Print(fmt.Sprint(crashtest.StepDone, n))
		if i.Name == "" {
			continue
		}
		if i, err = c.Wait(ctx, i.Name, i.Version); err != nil || i.State != Ready {
			return fmt.Errorf("deed %d: %+v, %w", n, i, err)
		}
	}
	return c.Close()
}

// TestKill kills a process again and again at random steps of changes, half of the time at an
// exact step and half of the time at full speed. Afterwards everything acknowledged exists,
// the last change may or may not, and nothing else does.
func TestKill(t *testing.T) {
	seeds, most := uint64(4), 100
	if testing.Short() {
		seeds, most = 1, 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { killAndLook(t, seed, most) })
	}
}

func killAndLook(t *testing.T, seed uint64, most int) {
	r := rand.New(rand.NewPCG(5, seed))
	dir := t.TempDir()
	at := map[string]int{}
	kills := 0
	open := processor(t)
	for did := 0; did < lastDeed && kills < most; kills++ {
		before := did
		lines := 1 + r.IntN([]int{12, 40}[r.IntN(2)])
		life := crashtest.Run(t, lines, r.IntN(2) == 0, dir, fmt.Sprint(before))
		did = life.NextStep(before)
		at[life.Last()]++
		if r.IntN(3) == 0 {
			continue // the next process finds what this one left
		}
		f := &fixture{t: t, dir: dir, o: Options{Open: open}}
		f.open()
		for _, i := range f.c.List() {
			if i, err := f.c.Wait(context.Background(), i.Name, 0); err != nil || i.State != Ready {
				t.Fatal(i, err)
			}
		}
		got := f.ids()
		if d := cmp.Diff(after(did), got); d != "" && cmp.Diff(after(did+1), got) != "" {
			t.Fatalf("killed at %q after %d deeds: %s", life.Last(), did, d)
		}
		f.exact()
		f.close()
	}
	t.Logf("%d kills, at %v", kills, at)
}

// ids returns those of all collections, and of the pinned version.
func (f *fixture) ids() map[string][]int64 {
	all := map[string][]int64{}
	for r, o := range f.c.versions {
		name := r.name
		if o.pins > 0 {
			for row := range int64(o.ids.n) {
				all["pinned"] = append(all["pinned"], o.ids.Int(row))
			}
		}
		if o.retired {
			continue
		}
		for row := range int64(o.ids.n) {
			all[name] = append(all[name], o.ids.Int(row))
		}
	}
	return all
}

// exact checks that the folder holds what the versions need, and nothing else.
func (f *fixture) exact() {
	f.t.Helper()
	needed := map[string]bool{}
	var bases []string
	for _, o := range f.c.versions {
		needed[o.change.data()] = true
		bases = append(bases, o.change.Base)
		if o.change.IDs != RowNumbers {
			needed[o.change.ids()] = true
		}
	}
	want := slices.Sorted(maps.Keys(needed))
	if d := cmp.Diff(want, slices.Sorted(slices.Values(f.files()))); d != "" {
		f.t.Error("files:", d)
	}
	slices.Sort(bases)
	if d := cmp.Diff(bases, f.notes()); d != "" {
		f.t.Error("manifests:", d)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "lost+found")); err == nil {
		f.t.Error("something was moved to lost+found")
	}
}

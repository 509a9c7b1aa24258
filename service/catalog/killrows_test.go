package catalog

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/cpu"
	"thresher/internal/crashtest"
)

// byRows is the argument of children that write rows, lastWrite the number of their deeds.
const (
	byRows    = "rows"
	byRows64  = "rows of float64"
	lastWrite = 24
)

// drawn are rows of the deeds: of float64, if wide, that are equal once they are rounded to float32.
func drawn(wide bool, first, n int, ids *Keys) Source {
	src := rowsOf(first, n, 4, ids)
	if wide {
		src.Rows64 = make([]float64, len(src.Rows))
		for i, x := range src.Rows {
			src.Rows64[i] = 1e9 + float64(x)/64
		}
		src.Rows = nil
	}
	return src
}

// rowDeed does deed n: each puts, appends, deletes, pins or replaces, and may be repeated when its result is unknown.
func rowDeed(ctx context.Context, c *Catalog, wide bool, n int) error {
	id := int64(100 * (n + 1))
	one := func(_ Info, err error) error { return err }
	switch {
	case n%12 == 0:
		o := CreateOptions{Metric: "l2", Replace: true}
		if wide {
			o.DType = "float64"
		}
		i, err := c.Create(ctx, "a", drawn(wide, n, 10, nil), o, fmt.Sprint("key ", n))
		if err == nil {
			i, err = c.Wait(ctx, "a", i.Version)
		}
		return one(i, err)
	case n%12 == 5: // which an earlier process may have done
		return one(c.Append(ctx, "a", drawn(wide, n, 2, nil), fmt.Sprint("key ", n)))
	case n%12 == 7:
		return one(c.Remove(ctx, "a", *ints(3, id-298), fmt.Sprint("key ", n)))
	case n%12 == 8:
		_, err := c.PinNow(ctx, "a", "owner")
		return err
	case n%12 == 10:
		return c.Unpin("owner")
	}
	return one(c.Put(ctx, "a", drawn(wide, n, 3, ints(1, id, id+1)), ""))
}

// rowsAfter returns the vectors by id after so many deeds.
func rowsAfter(wide bool, deeds int) map[string][]float64 {
	all := map[string][]float64{}
	write := func(n int, ids ...int) {
		for i, id := range ids {
			src := drawn(wide, n, i+1, nil)
			all[fmt.Sprint(id)] = slices.Clone(src.given()[4*i:])
		}
	}
	for n := range deeds {
		id := 100 * (n + 1)
		switch n % 12 {
		case 0:
			clear(all)
			write(n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		case 5:
			write(n, id-98, id-97)
		case 7:
			delete(all, "3")
			delete(all, fmt.Sprint(id-298))
		case 8, 10:
		default:
			write(n, 1, id, id+1)
		}
	}
	return all
}

// writeByRows does deeds until all are done, or it is killed.
func writeByRows(child *crashtest.Child, wide bool, dir string, first int) error {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	db, err := openDatabase(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	o := Options{Open: opener(b), Place: placedOn(b)}
	o.disk.Step = func(step, _ string) error { child.Print(step); return nil }
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
	for n := first; n < lastWrite; n++ {
		if err := rowDeed(ctx, c, wide, n); err != nil {
			return fmt.Errorf("deed %d: %w", n, err)
		}
		child.Print(fmt.Sprint(crashtest.StepDone, n))
	}
	return c.Close()
}

// TestKillOfWriters kills a process again and again that changes a collection by rows: what was acknowledged is there, the last change may be or
// not, and nothing else is, nor any file that nothing needs.
func TestKillOfWriters(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	open, place := processor(t), placer(t)
	for seed := range seeds {
		r, dir := rand.New(rand.NewPCG(9, seed)), t.TempDir()
		wide, deeds := seed%2 == 1, byRows
		if wide {
			deeds = byRows64
		}
		at := map[string]int{}
		for did, kills := 0, 0; did < lastWrite && kills < 60; kills++ {
			before := did
			life := crashtest.Run(t, 1+r.IntN([]int{10, 30}[r.IntN(2)]), r.IntN(2) == 0, dir, fmt.Sprint(before), deeds)
			did = life.NextStep(before)
			at[life.Last()]++
			f := &fixture{t: t, dir: dir, o: Options{Open: open, Place: place}}
			f.open()
			for _, i := range f.c.List() {
				if i, err := f.c.Wait(context.Background(), i.Name, 0); err != nil || i.State != Ready {
					t.Fatal(i, err)
				}
			}
			got := map[string][]float64{}
			if len(f.c.List()) > 0 {
				v := f.use("a", 0)
				got = held(t, v)
				v.Release()
			}
			if d := cmp.Diff(rowsAfter(wide, did), got); d != "" && cmp.Diff(rowsAfter(wide, did+1), got) != "" {
				t.Fatalf("seed %d: killed at %q after %d deeds: %s", seed, life.Last(), did, d)
			}
			f.noneLeft()
			f.close()
		}
		t.Logf("seed %d: killed at %v", seed, at)
	}
}

// noneLeft fails if there is a file that no version needs.
func (f *fixture) noneLeft() {
	f.t.Helper()
	needed := map[string]bool{}
	for _, o := range f.c.versions {
		for _, name := range o.change.files() {
			needed[name] = true
		}
	}
	entries, err := os.ReadDir(filepath.Join(f.dir, "collections"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		if !needed[e.Name()] {
			f.t.Errorf("%s is left, and needed are %v", e.Name(), slices.Sorted(maps.Keys(needed)))
		}
	}
	if moved, err := os.ReadDir(filepath.Join(f.dir, "lost+found")); err == nil && len(moved) > 0 {
		list, _ := os.ReadFile(filepath.Join(f.dir, "lost+found", "list.jsonl"))
		f.t.Fatalf("moved to lost+found: %s", list)
	}
}

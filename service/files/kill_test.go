package files

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/internal/crashtest"
	"thresher/store"
)

const lastDeed = 20

// deed executes deed n, the same in every process; every third deletes the previous file.
func deed(s *Store, dir string, n int, say func(string)) error {
	ctx, name, key := context.Background(), fmt.Sprint("file ", n), fmt.Sprint("key ", n)
	switch n % 3 {
	case 0:
		_, err := s.Create(ctx, name, "", key, strings.NewReader(strings.Repeat(name, 1000)))
		return err
	case 1:
		path := filepath.Join(dir, "made")
		say("make")
		if _, err := os.Stat(path); err != nil {
			// A process that died after this left the complete file, or a record of the key.
			if err := os.WriteFile(path+"~", []byte(strings.Repeat(name, 1000)), 0o644); err != nil {
				return err
			}
			if err := os.Rename(path+"~", path); err != nil {
				return err
			}
		}
		_, err := s.Adopt(ctx, path, name, "", key, "")
		return err
	}
	list, _, err := s.List("", 1, "", nil)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Name != fmt.Sprint("file ", n-1) {
		return nil // done by an earlier process
	}
	return s.Delete(list[0].ID)
}

// after returns the expected names of the files after so many deeds, newest first.
func after(deeds int) []string {
	names := []string{}
	for n := range deeds {
		switch n % 3 {
		case 2:
			names = names[1:]
		default:
			names = append([]string{fmt.Sprint("file ", n)}, names...)
		}
	}
	return names
}

// childhood runs deeds until all are done or the process is killed, and prints a line before
// every step and after every deed.
func childhood(c *crashtest.Child) error {
	dir := c.Args[0]
	first, err := strconv.Atoi(c.Args[1])
	if err != nil {
		return err
	}
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o644, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := Open(filepath.Join(dir, "files"), db, &Options{disk: store.Disk{Step: func(step, _ string) error { c.Print(step); return nil }}})
	if err != nil {
		return err
	}
	for n := first; n < lastDeed; n++ {
		if err := deed(s, dir, n, c.Print); err != nil {
			return fmt.Errorf("deed %d: %w", n, err)
		}
		c.Print(fmt.Sprint(crashtest.StepDone, n))
	}
	return nil
}

// TestKill kills a process again and again at random steps, half of the time at an exact one.
// Afterwards everything acknowledged exists, the last deed may or may not, and nothing else
// does.
func TestKill(t *testing.T) {
	seeds, most := uint64(3), 100
	if testing.Short() {
		seeds, most = 1, 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { killAndLook(t, seed, most) })
	}
}

func killAndLook(t *testing.T, seed uint64, most int) {
	r := rand.New(rand.NewPCG(6, seed))
	dir := t.TempDir()
	at := map[string]int{}
	kills := 0
	for did := 0; did < lastDeed && kills < most; kills++ {
		life := crashtest.Run(t, 1+r.IntN(25), r.IntN(2) == 0, dir, fmt.Sprint(did))
		did = life.NextStep(did)
		at[life.Last()]++
		if r.IntN(3) == 0 {
			continue // the next process finds what this one left
		}
		f := &folder{t: t, dir: dir}
		f.open()
		got := []string{}
		bytes := int64(0)
		for _, file := range f.all() {
			got = append(got, file.Name)
			bytes += file.Bytes
			if f.content(file.ID) != strings.Repeat(file.Name, 1000) {
				t.Errorf("killed at %q: %s has another content", life.Last(), file.Name)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(after(did)) && fmt.Sprint(got) != fmt.Sprint(after(did+1)) {
			t.Fatalf("killed at %q after %d deeds: %v", life.Last(), did, got)
		}
		if there := f.there(); len(there) != len(got) || f.used.Load() != bytes {
			t.Errorf("killed at %q: %v", life.Last(), there)
		}
		f.close()
	}
	t.Logf("%d kills, at %v", kills, at)
}

package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/batch"
	"thresher/internal/crashtest"
	"thresher/service/files"
)

// steppingStore reports the calls of the files' methods, before and after.
type steppingStore struct {
	*files.Store
	c *crashtest.Child
}

func (f steppingStore) Hold(id, owner string) error {
	f.c.Print("hold")
	defer f.c.Print("held")
	return f.Store.Hold(id, owner)
}

func (f steppingStore) Release(owner string) error {
	f.c.Print("release")
	return f.Store.Release(owner)
}

func (f steppingStore) Adopt(ctx context.Context, path, name, purpose, key, maker string) (files.File, error) {
	f.c.Print("adopt")
	defer f.c.Print("adopted")
	return f.Store.Adopt(ctx, path, name, purpose, key, maker)
}

// childBatches returns the batches that a child submits, in every process again.
func childBatches() []struct {
	name, content string
	spec          Spec
	lists         *goalMatrix // of the spec; nil if it has none
} {
	goals := newGoalMatrix(30)
	return []struct {
		name, content string
		spec          Spec
		lists         *goalMatrix
	}{
		{"a.jsonl", "nonsense\n" + manyLines(70) + line("bad", "films", `{"queries":[[1]]}`), Spec{Endpoint: films}, nil},
		{"b.fvecs", fvecs(gaussian(3, 90)), Spec{Endpoint: films, OutputFormat: "npz", Search: json.RawMessage(`{"k":3}`)}, nil},
		{"c.fvecs", fvecs(gaussian(4, 30)), Spec{Endpoint: "/v1/collections/names/search", Search: json.RawMessage(`{"k":3,"include":["certificate"]}`)}, nil},
		{"d.jsonl", goals.rows, Spec{}, goals},
	}
}

// childhood runs a server: it submits its batches and ends when all are final.
func childhood(child *crashtest.Child) error {
	dir := child.Args[0]
	a, closeAtlas, err := buildAtlas()
	if err != nil {
		return err
	}
	defer closeAtlas()
	for _, c := range a.shelf {
		c.before = func(context.Context, batch.Request) error {
			child.Print("search")
			return nil
		}
	}
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := files.Open(filepath.Join(dir, "files"), db, nil)
	if err != nil {
		return err
	}
	ended := make(chan string, 10)
	o := Options{Chunk: 8, Slice: 5, Concurrency: 2, ended: func(id string) { ended <- id }}
	m, err := open(filepath.Join(dir, "batches"), db, a, steppingStore{store, child}, o)
	if err != nil {
		return err
	}
	defer m.Close(context.Background())
	left := map[string]bool{}
	for _, c := range childBatches() {
		upload := func(name, content string) (string, error) {
			f, err := store.Create(context.Background(), name, "batch", name, strings.NewReader(content))
			return f.ID, err
		}
		if c.lists != nil {
			exclude, err := upload("seen.jsonl", c.lists.exclusions)
			if err != nil {
				return err
			}
			candidates, err := upload("theirs.jsonl", c.lists.candidates)
			if err != nil {
				return err
			}
			c.spec = c.lists.spec(exclude, candidates)
			c.spec.Endpoint = films
		}
		if c.spec.InputFileID, err = upload(c.name, c.content); err != nil {
			return err
		}
		b, err := m.Create(context.Background(), c.spec, c.name, "")
		if err != nil {
			return err
		}
		child.Print("created")
		left[b.ID] = true
	}
	for id := range left { // final before this process, or while it created the others
		b, err := m.Get(id)
		if err != nil {
			return err
		}
		if b.Status.Final() {
			delete(left, id)
		}
	}
	for len(left) > 0 {
		delete(left, <-ended)
	}
	return nil
}

// live runs a child and kills it when it prints its last line, unless it has ended before.
// With step the child stops at that line.
func live(t *testing.T, dir string, lines int, step bool) (done bool, lastOp string) {
	t.Helper()
	life := crashtest.Run(t, max(lines, 0), step, dir)
	if n := len(life.Lines); n > 0 {
		lastOp = life.Lines[n-1]
	}
	return life.Done, lastOp
}

// outputs returns the contents that the child's batches delivered, by the names of the files.
func outputs(t *testing.T, dir string) map[string]string {
	t.Helper()
	l := &lab{t: t, dir: dir, atlas: newAtlas(t), ended: map[string]chan struct{}{}}
	l.open()
	defer l.close()
	page, err := l.m.List("", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, b := range page.Data {
		if b.Status != Completed {
			t.Errorf("%+v", b)
		}
		for _, id := range []*string{b.OutputFileID, b.ErrorFileID} {
			if id == nil {
				continue
			}
			f, err := l.files.Get(*id)
			if err != nil {
				t.Fatal(err)
			}
			all[f.Name] = l.content(id)
		}
		all[b.ID] = fmt.Sprint(b.RequestCounts, b.Progress.Queries, b.Progress.Pulls)
	}
	list, more, err := l.files.List("", 100, "batch_output", nil)
	if err != nil || more || len(list) != len(all)-len(page.Data) {
		t.Errorf("%d files are kept, %d belong to batches; %v", len(list), len(all)-len(page.Data), err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "batches"))
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), noteSuffix) })
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	holders, err := l.files.Owners(idPrefix)
	if err != nil || len(holders) > 0 {
		t.Errorf("files are held by %v, %v", holders, err)
	}
	return all
}

// TestKill kills servers again and again at random steps of four batches, half of the time
// while they stop at the step, and compares the delivered files with those of an undisturbed
// server.
func TestKill(t *testing.T) {
	t.Parallel()
	calm := t.TempDir()
	if done, op := live(t, calm, -1, false); !done {
		t.Fatalf("undisturbed, it ended at %q", op)
	}
	want := outputs(t, calm)
	if len(want) != 9 {
		t.Fatalf("%d outputs and batches", len(want))
	}
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			dir, r := t.TempDir(), rand.New(rand.NewPCG(4, seed))
			at := map[string]int{}
			kills := 0
			for done := false; !done; {
				if kills > 400 {
					t.Fatalf("no end: kills at %v", at)
				}
				var op string
				// Ever later, so that servers come through however much a start has to do.
				if done, op = live(t, dir, 1+r.IntN(14+kills/10), r.IntN(2) == 0); !done {
					at[op]++
					kills++
				}
			}
			t.Logf("%d kills, at %v", kills, at)
			if kills < 8 {
				t.Errorf("only %d kills", kills)
			}
			got := outputs(t, dir)
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s: %d bytes, want %d:\n%.500s", name, len(got[name]), len(text), got[name])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d outputs and batches, want %d", len(got), len(want))
			}
		})
	}
}

package catalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/crashtest"
	_ "thresher/internal/draws"
	"thresher/service/files"
	"thresher/service/problem"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}

// processor opens engines on one backend.
func processor(t testing.TB) Opener {
	b := cpu.New(cpu.Options{Threads: 1})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return opener(b)
}

func opener(b *cpu.Backend) Opener {
	return func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
		return batch.Open(ctx, c, b, nil)
	}
}

// fixture is the folder of a test's catalog, which may be reopened.
type fixture struct {
	t   testing.TB
	dir string
	o   Options
	db  *bbolt.DB
	c   *Catalog

	store *files.Store
}

// newFolder opens a catalog in a new folder.
func newFolder(t testing.TB, o Options) *fixture {
	f := &fixture{t: t, dir: t.TempDir(), o: o}
	if o.Open == nil {
		f.o.Open = processor(t)
	}
	f.open()
	t.Cleanup(f.close)
	return f
}

func openDatabase(dir string) (*bbolt.DB, error) {
	return bbolt.Open(filepath.Join(dir, "meta.db"), 0o644, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
}

func (f *fixture) open() {
	f.t.Helper()
	f.begin()
	<-f.c.Ready()
}

// begin opens the catalog without waiting until it is loaded.
func (f *fixture) begin() {
	f.t.Helper()
	var err error
	if f.db, err = openDatabase(f.dir); err != nil {
		f.t.Fatal(err)
	}
	if f.store, err = files.Open(filepath.Join(f.dir, "files"), f.db, nil); err != nil {
		f.t.Fatal(err)
	}
	f.o.Files = f.store
	if f.c, err = Open(context.Background(), filepath.Join(f.dir, "collections"), f.db, &f.o); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) close() {
	f.t.Helper()
	if f.c == nil {
		return
	}
	if err := f.c.Close(); err != nil {
		f.t.Error(err)
	}
	if err := f.db.Close(); err != nil {
		f.t.Error(err)
	}
	f.c = nil
}

// files lists the catalog's folder without manifests.
func (f *fixture) files() []string {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "collections"))
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".version" && ext != ".gone" {
			names = append(names, e.Name())
		}
	}
	return names
}

// notes lists the bases that have a manifest, including one marked as deleted.
func (f *fixture) notes() (bases []string) {
	f.t.Helper()
	for _, ext := range []string{".version", ".gone"} {
		paths, err := filepath.Glob(filepath.Join(f.dir, "collections", "*"+ext))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, path := range paths {
			bases = append(bases, strings.TrimSuffix(filepath.Base(path), ext))
		}
	}
	slices.Sort(bases)
	return bases
}

// ready waits for an accepted change, which must succeed.
func (f *fixture) ready(i Info, err error) Info {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	if i, err = f.c.Wait(context.Background(), i.Name, i.Version); err != nil || i.State != Ready {
		f.t.Fatalf("%+v, %v", i, err)
	}
	return i
}

// failed waits for an accepted change, which must fail.
func (f *fixture) failed(i Info, err error) *problem.Problem {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	if i, err = f.c.Wait(context.Background(), i.Name, i.Version); err != nil || i.State != Failed {
		f.t.Fatalf("%+v, %v", i, err)
	}
	return i.Failure
}

// vectors returns n different rows of dim columns: row i has i+1+first in column
// (i+first)%dim and small values elsewhere.
func vectors(first, n, dim int) []float32 {
	v := make([]float32, n*dim)
	for i := range n {
		for j := range dim {
			v[i*dim+j] = float32((i+first)*(j+3)%7) / 16
		}
		v[i*dim+(i+first)%dim] = float32(i + first + 1)
	}
	return v
}

// rowsOf returns a source of rows in memory.
func rowsOf(first, n, dim int, ids *Keys) Source {
	return Source{Rows: vectors(first, n, dim), Dim: dim, IDs: ids}
}

func ints(ids ...int64) *Keys       { return &Keys{Ints: ids} }
func names(ids ...string) *Keys     { return &Keys{Names: ids} }
func kindOf(err error) problem.Kind { return problem.Of(err).Kind }

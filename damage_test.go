package thresher_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher"
	"thresher/columns"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

const damagedRows, damagedDim = 700, 200

// onDisk is an index that was saved with ids and columns, and searches of it.
type onDisk struct {
	t       *testing.T
	path    string
	queries []float32
}

// saveIndex saves an index of vectors of a seed.
func saveIndex(t *testing.T, path string, seed uint64) *onDisk {
	t.Helper()
	ctx := context.Background()
	random := vectors.Rand(seed)
	rows, names, years := vectors.Embeddings(random, damagedRows, damagedDim), make([]string, damagedRows), make([]int, damagedRows)
	for i := range names {
		names[i], years[i] = fmt.Sprintf("row %d of %d", i, seed), 1990+i%30
	}
	c, err := columns.New(columns.Of("year", years))
	if err != nil {
		t.Fatal(err)
	}
	x, err := thresher.New(ctx, rows, damagedDim, thresher.Options{Metric: thresher.Cosine, IDs: thresher.IDsOf(names), Columns: c, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(x.Save(ctx, path, true), x.Close()); err != nil {
		t.Fatal(err)
	}
	return &onDisk{t: t, path: path, queries: vectors.Embeddings(vectors.Rand(99), 6, damagedDim)}
}

// files are the index's files.
func (d *onDisk) files() []string {
	d.t.Helper()
	files, err := filepath.Glob(d.path + "*")
	if err != nil || len(files) != 3 {
		d.t.Fatal(files, err)
	}
	return files
}

// found is what searches answer, without how long they took.
func (d *onDisk) found(x *thresher.Index) ([]thresher.Answer, error) {
	var all []thresher.Answer
	rows, err := x.Filter("year >= 2000")
	if err != nil {
		return nil, err
	}
	for _, req := range []thresher.Request{{Method: thresher.Exact}, {Method: thresher.Certain}, {Method: thresher.Adaptive}, {Method: thresher.Exact, Filter: rows}} {
		req.Queries, req.K = d.queries, 5
		found, err := x.Search(context.Background(), req)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Answers...)
	}
	return all, nil
}

// opened opens the index and searches it.
func (d *onDisk) opened() ([]thresher.Answer, error) {
	x, err := thresher.Open(context.Background(), d.path, thresher.Options{Threads: 2})
	if err != nil {
		return nil, err
	}
	found, err := d.found(x)
	return found, errors.Join(err, x.Close())
}

// TestDamagedFiles: whichever byte of a saved index, of its ids or its columns is another than was written, its answers are as before, or
// there are none and the error names the file.
func TestDamagedFiles(t *testing.T) {
	d := saveIndex(t, filepath.Join(t.TempDir(), "films.thresher"), 1)
	want, err := d.opened()
	if err != nil {
		t.Fatal(err)
	}
	r, refused := draws.Rand(7), 0
	files := d.files()
	const tried = 60
	for i := range tried {
		file := files[i%len(files)]
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at, b := r.IntN(len(whole)), slices.Clone(whole)
		if r.IntN(4) == 0 {
			at = r.IntN(min(1<<14, len(whole))) // in the header, or the gap after it
		}
		b[at] ^= byte(1 + r.IntN(255))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := d.opened()
		if err != nil {
			refused++
		}
		if err != nil && !strings.Contains(err.Error(), filepath.Base(d.path)) {
			t.Errorf("byte %d of %s: %v", at, file, err)
		} else if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("byte %d of %s: other answers: %s", at, file, diff)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if draws.Usual() && refused < tried/2 {
		t.Errorf("%d of %d were refused: the test sees too little", refused, tried)
	}
}

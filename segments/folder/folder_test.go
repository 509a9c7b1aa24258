package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// TestManyWriters: writers and searches go on side by side with seals and merges; nothing is lost, and a failed condition writes nothing.
func TestManyWriters(t *testing.T) {
	const writers, each, dim = 8, 40, 20
	b, path, ctx := newBackend(t), created(t, collection.Cosine, 20), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 32, Threads: 1})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			row := make([]float32, dim)
			for i := range each {
				row[0], row[1] = float32(w+1), float32(i)
				if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{uint64(w*each + i)}), row); err != nil {
					t.Error(err)
				}
				if i%8 == 7 {
					if got, err := f.Delete(ctx, dataset.IDsOf([]uint64{uint64(w*each + i - 7), 99999})); err != nil || got.Deleted != 1 {
						t.Error(got, err)
					}
				}
				if i%5 == 0 {
					now := f.Snapshot()
					if _, err := now.Search(ctx, batch.Request{Queries: row, K: 3}); err != nil {
						t.Error(err)
					}
					now.Release()
				}
			}
		})
	}
	all.Wait()
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	version := uint64(0)
	for range 2 {
		now := f.Snapshot()
		if want := writers * (each - each/8); now.Len() != want || now.Version() != writers*(each+each/8) {
			t.Errorf("%d vectors, want %d; version %d", now.Len(), want, now.Version())
		}
		for w := range writers {
			for i := range each {
				v := now.Vector(int64(w*each + i))
				if deleted := i%8 == 0; deleted != (v == nil) || v != nil && (v[0] != float32(w+1) || v[1] != float32(i)) {
					t.Errorf("vector %d is %v", w*each+i, v)
				}
			}
		}
		version = now.Version()
		now.Release()
		closed(t, f)
		f = opened(t, path, Options{Backend: b, ByHand: true})
	}
	stale := version - 1
	if _, err := f.Apply(ctx, Change{IDs: dataset.IDsOf([]uint64{1}), If: &stale}); !errors.Is(err, ErrChanged) {
		t.Errorf("a write for another version: %v", err)
	}
	if got, err := f.Apply(ctx, Change{IDs: dataset.IDsOf([]uint64{1}), If: &version}); err != nil || got.Deleted != 1 || got.Version != version+1 {
		t.Error(got, err)
	}
	closed(t, f)
}

// TestOneWriter: one process writes; others read what there is when they open.
func TestOneWriter(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, ByHand: true})
	if _, err := Open(ctx, path, Options{Backend: b}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second writer: %v", err)
	}
	write := func(id uint64) {
		if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{id}), []float32{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	write(7)
	beside := opened(t, path, Options{Backend: b, ReadOnly: true})
	write(8)
	now := beside.Snapshot()
	if now.Len() != 1 || now.Version() != 1 {
		t.Errorf("beside a writer: %d vectors, version %d", now.Len(), now.Version())
	}
	now.Release()
	if _, err := beside.Delete(ctx, dataset.IDsOf([]uint64{7})); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a reader wrote: %v", err)
	}
	if err := beside.Maintain(ctx); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a reader merged: %v", err)
	}
	closed(t, beside)
	closed(t, f)
	if _, err := f.Delete(ctx, dataset.IDsOf([]uint64{7})); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed folder was written: %v", err)
	}
}

// TestBadInput: what is wrong is named, and nothing is written.
func TestBadInput(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.Cosine, 2), context.Background()
	f := opened(t, path, Options{Backend: b, ByHand: true})
	nan := float32(0)
	nan /= nan
	numbers := func(ids ...uint64) *dataset.IDs { return dataset.IDsOf(ids) }
	for want, c := range map[string]Change{
		"3 values for 1 ids of 2 dimensions":         {IDs: numbers(1), Rows: []float32{1, 2, 3}},
		`row 1 (0-based): has the id "4", which row`: {IDs: numbers(4, 4), Rows: []float32{1, 2, 3, 4}},
		"row 1, column 0: ":                          {IDs: numbers(4, 5), Rows: []float32{1, 2, nan, 4}},
		"row 0 (0-based): id is empty":               {IDs: dataset.IDsOf([]string{""}), Rows: []float32{1, 0}},
	} {
		if _, err := f.Apply(ctx, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := f.Upsert(ctx, numbers(3), []float32{1, 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Upsert(ctx, dataset.IDsOf([]string{"x"}), []float32{1, 1}); err == nil || !strings.Contains(err.Error(), `id "x" is a text`) {
		t.Errorf("a text among numbers: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := f.Upsert(ended, numbers(9), []float32{1, 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	now := f.Snapshot()
	if now.Len() != 1 || now.Version() != 1 {
		t.Errorf("%d vectors, version %d", now.Len(), now.Version())
	}
	now.Release()
	if _, err := f.Copy(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("copied over itself: %v", err)
	}
	closed(t, f)
	for want, open := range map[string]func() error{
		"not a folder of vectors": func() error { _, err := Open(ctx, t.TempDir(), Options{Backend: b}); return err },
		"file exists":             func() error { return Create(path, Form{Metric: collection.Cosine, Dim: 2}) },
		"0 dimensions":            func() error { return Create(filepath.Join(path, "a"), Form{Metric: collection.Cosine}) },
		"no metric":               func() error { return Create(filepath.Join(path, "a"), Form{Dim: 2}) },
	} {
		if err := open(); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "is exists", ""), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestInfo: what a folder says of itself adds up.
func TestInfo(t *testing.T) {
	path, _, _ := writtenFolder(t, 3)
	f := opened(t, path, Options{Backend: newBackend(t), ReadOnly: true})
	defer closed(t, f)
	info := f.Info()
	total := info.Unsealed
	for _, s := range info.Segments {
		if st, err := os.Stat(filepath.Join(path, s.File)); err != nil || st.Size() != s.Bytes {
			t.Errorf("%+v: %v", s, err)
		}
		total += s.Rows - s.Deleted
	}
	if info.Unsealed < 1 || len(info.Segments) < 1 || total != info.Vectors || info.Version != 20 || fmt.Sprint(info.Elem) != "float32" || info.Texts {
		t.Errorf("%+v", info)
	}
}

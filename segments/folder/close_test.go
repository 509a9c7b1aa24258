package folder

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// upserted writes rows 1, 2, ... of two dimensions under ids.
func upserted(t fataler, f *Folder, ids *dataset.IDs) {
	t.Helper()
	rows := make([]float32, 2*ids.Len())
	for i := range rows {
		rows[i] = float32(1 + i)
	}
	if _, err := f.Upsert(context.Background(), ids, rows); err != nil {
		t.Fatal(err)
	}
}

// idsFrom returns n ids from first on.
func idsFrom(first uint64, n int) *dataset.IDs {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = first + uint64(i)
	}
	return dataset.IDsOf(ids)
}

// slow is a disk whose segments are not done before their context ends.
type slow struct {
	files
	begun, release chan struct{}
	ended          func() // a segment was given up
}

func (d *slow) build(ctx context.Context, _ string, _ collection.Source, _ *collection.Options) (*collection.Collection, error) {
	close(d.begun)
	select {
	case <-ctx.Done():
		d.ended()
		return nil, ctx.Err()
	case <-d.release:
		return nil, errors.New("it was not ended")
	}
}

// TestCloseEndsMaintain: Close ends what a user's Maintain does before another process may write.
func TestCloseEndsMaintain(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	b, path := newBackend(t), created(t, collection.InnerProduct, 2)
	d := &slow{begun: make(chan struct{}), release: make(chan struct{})}
	locked := make(chan error, 1)
	d.ended = func() {
		lock, err := lockFolder(path)
		locked <- errors.Join(err, closeLock(lock))
	}
	f, err := open(ctx, path, Options{Backend: b, SealRows: 4, ByHand: true}, d)
	if err != nil {
		t.Fatal(err)
	}
	upserted(t, f, idsFrom(1, 8))
	maintained := make(chan error, 1)
	go func() { maintained <- f.Maintain(ctx) }()
	select {
	case <-d.begun:
	case err := <-maintained:
		t.Fatal("no segment was begun: ", err)
	}
	closed(t, f)
	select {
	case err := <-locked:
		if !errors.Is(err, ErrInUse) {
			t.Errorf("the folder was let go of while a segment was made: %v", err)
		}
	default:
		t.Error("Close did not wait for the segment")
	}
	close(d.release)
	if err := <-maintained; !errors.Is(err, ErrClosed) {
		t.Errorf("Maintain ended with %v", err)
	}
	f = opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	if n := f.Info().Vectors; n != 8 {
		t.Errorf("%d vectors, want 8", n)
	}
}

// TestAfterClose: a folder that was closed holds nothing, writes nothing, and leaves snapshots in use alone.
func TestAfterClose(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	upserted(t, f, idsFrom(1, 8))
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	used := f.Snapshot()
	closed(t, f)
	closed(t, f)
	for range 2 {
		late := f.Snapshot()
		if late.Len() != 0 || len(late.Holdings()) != 0 {
			t.Errorf("after Close: %d vectors", late.Len())
		}
		if err := late.Release(); err != nil {
			t.Error(err)
		}
	}
	if info := f.Info(); info.Vectors != 0 || info.Version != 1 {
		t.Errorf("after Close: %+v", info)
	}
	if _, err := f.Copy(t.TempDir() + "/copy"); !errors.Is(err, ErrClosed) {
		t.Errorf("copied: %v", err)
	}
	if err := f.Maintain(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("maintained: %v", err)
	}
	for _, c := range []Change{{}, {IDs: dataset.IDsOf([]uint64{}), Rows: []float32{}}, {IDs: idsFrom(1, 1)}} {
		if got, err := f.Apply(ctx, c); !errors.Is(err, ErrClosed) {
			t.Errorf("written: %+v, %v", got, err)
		}
	}
	got, err := used.Search(ctx, batch.Request{Queries: []float32{1, 1}, K: 1, Method: batch.Exact})
	if err != nil || fmt.Sprint(got.Answers[0].IDs) != "[8]" {
		t.Errorf("the snapshot in use: %+v, %v", got, err)
	}
	if err := used.Release(); err != nil {
		t.Error(err)
	}
	f = opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	if n := f.Info().Vectors; n != 8 {
		t.Errorf("%d vectors, want 8", n)
	}
}

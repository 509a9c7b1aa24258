package folder

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/dataset"
)

// gate is a backend that, once it is shut, keeps whoever loads a collection waiting until it is opened.
type gate struct {
	backend.Backend
	shut    atomic.Bool
	waiting chan struct{} // gets one for each that waits
	open    chan struct{} // closed when it is opened
}

func newGate(b backend.Backend) *gate {
	return &gate{Backend: b, waiting: make(chan struct{}, 8), open: make(chan struct{})}
}

func (g *gate) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	if g.shut.Load() {
		g.waiting <- struct{}{}
		<-g.open
	}
	return g.Backend.Load(ctx, c)
}

// TestSnapshotDuringWrite: a snapshot does not wait for a write that is on its way, and has nothing of it.
func TestSnapshotDuringWrite(t *testing.T) {
	const dim = 4
	g, path, ctx := newGate(newBackend(t)), created(t, collection.InnerProduct, dim), context.Background()
	f := opened(t, path, Options{Backend: g, ByHand: true})
	defer closed(t, f)
	if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{7}), make([]float32, dim)); err != nil {
		t.Fatal(err)
	}
	g.shut.Store(true)
	var writer sync.WaitGroup
	writer.Go(func() { // so many that a segment is made of them before they are seen
		ids := make([]uint64, 200)
		for i := range ids {
			ids[i] = uint64(100 + i)
		}
		if _, err := f.Upsert(ctx, dataset.IDsOf(ids), make([]float32, dim*len(ids))); err != nil {
			t.Error(err)
		}
	})
	<-g.waiting
	now := f.Snapshot() // the test ends by its time limit if this waits
	if now.Len() != 1 || now.Version() != 1 || now.Textual() || f.Greatest() != 299 {
		t.Errorf("%d vectors, version %d, greatest %d", now.Len(), now.Version(), f.Greatest())
	}
	close(g.open)
	writer.Wait()
	if err := now.Release(); err != nil {
		t.Error(err)
	}
	now = f.Snapshot()
	defer now.Release()
	if now.Len() != 201 || now.Version() != 2 {
		t.Errorf("%d vectors, version %d", now.Len(), now.Version())
	}
}

// TestSnapshotVersion: a snapshot has the writes that its version says, also while others write, and those that change nothing count.
func TestSnapshotVersion(t *testing.T) {
	const dim, each = 4, 150
	path, ctx := created(t, collection.InnerProduct, dim), context.Background()
	f := opened(t, path, Options{Backend: newBackend(t), SealRows: 32, Threads: 1})
	defer closed(t, f)
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range each {
				if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{uint64(w*each + i)}), make([]float32, dim)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); writers.Wait() }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		now := f.Snapshot()
		if uint64(now.Len()) != now.Version() {
			t.Fatalf("%d vectors by %d writes", now.Len(), now.Version())
		}
		if err := now.Release(); err != nil {
			t.Error(err)
		}
	}
	for _, ids := range [][]uint64{{99999}, {}} {
		if got, err := f.Apply(ctx, Change{IDs: dataset.IDsOf(ids), If: new(uint64)}); err == nil {
			t.Errorf("at version 0: %+v", got)
		}
		version := f.version
		got, err := f.Apply(ctx, Change{IDs: dataset.IDsOf(ids), If: &version})
		now := f.Snapshot()
		if err != nil || got.Version != version+1 || now.Version() != got.Version || now.Len() != 2*each {
			t.Errorf("%+v, %v; snapshot of version %d", got, err, now.Version())
		}
		now.Release()
	}
}

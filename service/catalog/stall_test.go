package catalog

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
)

// loadGate is a backend that, once it is shut, keeps whoever loads a collection waiting until it is opened.
type loadGate struct {
	backend.Backend
	shut    atomic.Bool
	waiting chan struct{} // gets one for each that waits
	open    chan struct{} // closed when it is opened
}

func (g *loadGate) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	if g.shut.Load() {
		g.waiting <- struct{}{}
		<-g.open
	}
	return g.Backend.Load(ctx, c)
}

// TestUseDuringWrite: while rows of one collection become visible, whatever time that takes, it and others are used and described.
func TestUseDuringWrite(t *testing.T) {
	const dim = 4
	b := cpu.New(cpu.Options{Threads: 1})
	t.Cleanup(func() { b.Close() })
	g := &loadGate{Backend: b, waiting: make(chan struct{}, 8), open: make(chan struct{})}
	f, ctx := newFolder(t, Options{Place: func(string) (backend.Backend, *batch.Options, error) { return g, &batch.Options{}, nil }}), context.Background()
	for _, name := range []string{"a", "b"} {
		f.ready(f.c.Create(ctx, name, rowsOf(0, 3, dim, ints(1, 2, 3)), CreateOptions{Metric: "ip"}, ""))
		if _, err := f.c.Put(ctx, name, rowsOf(5, 1, dim, ints(4)), ""); err != nil {
			t.Fatal(err)
		}
	}
	g.shut.Store(true)
	var writer sync.WaitGroup
	writer.Go(func() {
		many := Keys{}
		for i := range int64(200) { // of which a segment is made before they are seen
			many.Ints = append(many.Ints, 100+i)
		}
		if _, err := f.c.Put(ctx, "a", rowsOf(0, 200, dim, &many), ""); err != nil {
			t.Error(err)
		}
	})
	<-g.waiting
	for _, name := range []string{"b", "a"} { // the test ends by its time limit if one of these waits
		i, err := f.c.Get(name)
		if err != nil || i.Count != 4 || *i.Writes != 1 {
			t.Errorf("%+v, %v", i, err)
		}
		v := f.use(name, 0)
		if v.Len() != 4 || v.Info().Count != 4 {
			t.Errorf("%s: %d rows", name, v.Len())
		}
		if rows, err := v.IDs().Rows(ints(4), "ids"); err != nil || len(rows) != 1 {
			t.Error(rows, err)
		}
		v.Release()
	}
	if all := f.c.List(); len(all) != 2 {
		t.Errorf("%+v", all)
	}
	close(g.open)
	writer.Wait()
	if i, err := f.c.Get("a"); err != nil || i.Count != 204 || *i.Writes != 2 || i.DType != dataset.ElemFloat32.String() {
		t.Errorf("%+v, %v", i, err)
	}
}

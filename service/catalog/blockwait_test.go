package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"thresher/service/problem"
)

// TestBlockWaits: one block of a collection is made at a time, and who waits for it, to use it or to make the next, does so no longer than its context.
func TestBlockWaits(t *testing.T) {
	g, ctx := newGate(t), context.Background()
	f := newFolder(t, Options{Open: g.Open, Place: placer(t)})
	i, err := f.c.Create(ctx, "a", rowsOf(0, 3, 4, ints(1, 2, 3)), CreateOptions{Metric: "ip"}, "")
	<-g.arrived
	g.pass <- nil
	f.ready(i, err)
	var uses []*Version
	for n := range 2 {
		if _, err := f.c.Put(ctx, "a", rowsOf(n, 1, 4, ints(4)), ""); err != nil {
			t.Fatal(err)
		}
		uses = append(uses, f.use("a", 0))
		defer uses[n].Release()
	}
	var maker sync.WaitGroup
	maker.Go(func() {
		whole, err := f.c.Whole(ctx, uses[0])
		if err != nil {
			t.Error(err)
			return
		}
		whole.Release()
	})
	<-g.arrived
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for n, v := range uses {
		if whole, err := f.c.Whole(ended, v); !errors.Is(err, context.Canceled) || whole != nil || v.Stands() {
			t.Errorf("use %d, whose request has ended: %v, stands %v", n, err, v.Stands())
		}
	}
	g.pass <- nil
	maker.Wait()
	if !uses[0].Stands() || uses[1].Stands() {
		t.Errorf("they stand: %v, %v", uses[0].Stands(), uses[1].Stands())
	}
	maker.Go(func() { <-g.arrived; g.pass <- nil })
	whole, err := f.c.Whole(ctx, uses[1])
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	maker.Wait()
	if whole.Len() != 4 || !uses[1].Stands() || uses[0].Stands() {
		t.Errorf("%d rows", whole.Len())
	}
}

// TestMemoryOfUpkeep: the budget counts what a collection takes once its rows were sealed, without another write.
func TestMemoryOfUpkeep(t *testing.T) {
	const n, dim = 4100, 4
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, dim, ints(1, 2, 3)), CreateOptions{Metric: "ip"}, ""))
	many := Keys{}
	for i := range int64(n) {
		many.Ints = append(many.Ints, 100+i)
	}
	if _, err := f.c.Put(ctx, "a", rowsOf(0, n, dim, &many), ""); err != nil {
		t.Fatal(err)
	}
	v := f.use("a", 0)
	defer v.Release()
	if err := v.o.changing.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	i, err := f.c.Get("a")
	if err != nil || i.Unsealed != 0 || f.c.Memory() != i.Bytes {
		t.Errorf("%d bytes are counted, and the collection takes %d; %d rows wait; %v", f.c.Memory(), i.Bytes, i.Unsealed, err)
	}
}

// TestFirstPutOfUnordered: a collection whose ids do not ascend is coded again before it changes by rows: beside no build, and within the
// budget.
func TestFirstPutOfUnordered(t *testing.T) {
	const dim = 64
	ids := Keys{}
	for i := range int64(500) {
		ids.Ints = append(ids.Ints, 1000-i)
	}
	src := rowsOf(0, 500, dim, &ids)
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", src, CreateOptions{Metric: "ip"}, ""))
	f.c.buildSlot <- struct{}{} // as a build does
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.c.Put(ended, "a", rowsOf(0, 1, dim, ints(7)), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("beside a build: %v", err)
	}
	<-f.c.buildSlot
	used := f.c.Memory()
	f.close()
	f.o.Memory = used + used/2
	f.open()
	_, err := f.c.Put(ctx, "a", rowsOf(0, 1, dim, ints(7)), "")
	want{problem.OutOfMemory, "", -1, fmt.Sprintf("500 rows of %d columns, put into the order of their ids to be changed, need about", dim)}.check(t, err)
	if f.c.Memory() != used || len(f.c.buildSlot) != 0 {
		t.Errorf("%d bytes stay reserved, of %d", f.c.Memory(), used)
	}
	f.close()
	f.o.Memory = 4 * used
	f.open()
	if i, err := f.c.Put(ctx, "a", rowsOf(0, 1, dim, ints(7)), ""); err != nil || i.Count != 501 {
		t.Errorf("%+v, %v", i, err)
	}
}

package offline

import (
	"context"
	"testing"
	"time"

	"thresher/batch"
)

func TestGate(t *testing.T) {
	var g gate
	ctx, cancel := context.WithCancel(context.Background())
	g.pass(ctx, time.Hour) // no search is running

	first := g.enter()
	idle := g.idle
	second := g.enter()
	if g.idle != idle {
		t.Error("who waits since the first search does not learn when the last is done")
	}
	g.pass(ctx, 0)
	g.pass(ctx, 1) // returns after 1 ns
	passed := make(chan struct{})
	go func() {
		g.pass(ctx, time.Hour)
		close(passed)
	}()
	first()
	first() // counts once
	select {
	case <-passed:
		t.Error("passes an interactive search")
	default:
	}
	second()
	<-passed

	defer g.enter()()
	cancel()
	g.pass(ctx, time.Hour)
}

// TestInteractiveFirst: a batch waits for an interactive search between two of its own, and
// its client sees no progress meanwhile.
func TestInteractiveFirst(t *testing.T) {
	l := newLab(t, Options{Slice: 2})
	done := l.m.Interactive()
	var order []string
	l.atlas.shelf["films"].before = func(context.Context, batch.Request) error {
		order = append(order, "batch")
		if len(order) == 1 {
			// For the batch, its previous search took an hour.
			time.AfterFunc(0, func() {
				order = append(order, "interactive")
				done()
			})
		}
		return nil
	}
	a := asker{gate: &l.m.gate, slice: 2}
	if _, err := a.ask(context.Background(), l.atlas.shelf["films"], batch.Request{K: 1}, []part{{queries: gaussian(1, 2)}}); err != nil {
		t.Fatal(err)
	}
	a.took = time.Hour
	if _, err := a.ask(context.Background(), l.atlas.shelf["films"], batch.Request{K: 1}, []part{{queries: gaussian(1, 2)}}); err != nil {
		t.Fatal(err)
	}
	if len(order) != 3 || order[1] != "interactive" {
		t.Errorf("order %v", order)
	}
}

package service

import (
	"context"
	"errors"
	"testing"
)

// TestGateGivesBack: who gives up, wherever it waits, keeps nothing.
func TestGateGivesBack(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, x := range []struct {
		name     string
		searches int
		waiting  int
	}{
		{"waits for a search", 1, 1},
		{"waits for bytes", 2, 1},
		{"may not wait for a search", 1, 0},
		{"may not wait for bytes", 2, 0},
	} {
		g := newGate(x.searches, x.waiting, 10)
		leave, err := g.enter(context.Background(), 8)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.enter(ended, 3); err == nil || errors.Is(err, context.Canceled) != (x.waiting > 0) {
			t.Errorf("%s: %v", x.name, err)
		}
		leave()
		if !g.searches.TryAcquire(int64(x.searches)) || !g.bytes.TryAcquire(10) || g.waiting != 0 {
			t.Errorf("%s: not all that was taken is back", x.name)
		}
	}
}

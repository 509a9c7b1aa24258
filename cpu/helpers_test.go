package cpu

import (
	"testing"
	"time"
)

// TestHelperWaitsForExpectedRun requires a helper to outlast its patience while a run that called it prepares
// its query, and to end once no run is expected.
func TestHelperWaitsForExpectedRun(t *testing.T) {
	h := newHelpers(2)
	if h.cores < 2 {
		t.Skip("one core")
	}
	h.busy.Add(1) // the run's
	h.expected.Add(1)
	h.call()
	for begun := time.Now(); time.Since(begun) < 4*patience; {
	}
	// A helper that missed its core for a while ends, and keeps others away: then nothing can be said.
	if n := h.busy.Load(); n != 2 && !h.rests() {
		t.Errorf("%d goroutines compute while a run is expected, not the run and its helper", n)
	}
	h.expected.Add(-1)
	h.close()
	if n := h.busy.Load(); n != 1 {
		t.Errorf("%d goroutines compute after the helpers' end, not the run alone", n)
	}
}

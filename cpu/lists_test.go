package cpu_test

import (
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/cpu"
	"thresher/simd"
)

// TestLists: every set of kernels produces the same lists; with -short only the best one is run. Other
// processors and devices must have the same digests.
func TestLists(t *testing.T) {
	sets := simd.Available()
	if testing.Short() {
		sets = sets[len(sets)-1:]
	}
	for _, l := range sets {
		t.Run(l.String(), func(t *testing.T) {
			backendtest.Lists(t, func() backend.Backend { return cpu.New(cpu.Options{Threads: 2, Kernels: &l}) })
		})
	}
}

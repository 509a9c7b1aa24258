package cpu_test

import (
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/cpu"
	"thresher/simd"
)

// TestLists: every set of kernels produces the same lists. Other processors and devices
// must have the same digests.
func TestLists(t *testing.T) {
	for _, l := range simd.Available() {
		t.Run(l.String(), func(t *testing.T) {
			backendtest.Lists(t, func() backend.Backend { return cpu.New(cpu.Options{Threads: 2, Kernels: &l}) })
		})
	}
}

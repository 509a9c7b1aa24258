//go:build cuda && cgo

package gpu

import (
	"os"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
)

// TestLists: the device's lists and scores equal those of the other backends.
func TestLists(t *testing.T) {
	if !myTurn(1) {
		t.Skip("another order of threads has it")
	}
	backendtest.Lists(t, func() backend.Backend { return open(t, Options{}) })
}

// TestListsOfShards: so do those of a collection distributed over devices.
func TestListsOfShards(t *testing.T) {
	if !myTurn(2) {
		t.Skip("another order of threads has it")
	}
	b := several(t)
	backendtest.Lists(t, func() backend.Backend { return b })
}

// TestGoalsOfShards: every field of a goal is divided among devices. With a seed, TestShards has a few such
// goals; `make goals-cuda` runs this test.
func TestGoalsOfShards(t *testing.T) {
	if _, seeded := os.LookupEnv("EMU_SEED"); seeded {
		t.Skip("takes minutes")
	}
	b := several(t)
	backendtest.Goals(t, func() backend.Backend { return b }, backendtest.Part{I: 0, Of: 10}) // a set of two strips
}

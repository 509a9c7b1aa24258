//go:build cuda && cgo

package gpu

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/gpu/device"
)

// testMachine opens the first device with its kernels, or skips the test if there is none.
func testMachine(t testing.TB, o Options) *machine {
	t.Helper()
	if err := device.Driver(); err != nil {
		t.Skip(err)
	}
	m, err := openMachine(0, &o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// open opens the backend on the first device.
func open(t testing.TB, o Options) backend.Backend {
	t.Helper()
	if err := device.Driver(); err != nil {
		t.Skip(err)
	}
	o.Devices = []int{0}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	waitForMixed(b)
	return b
}

// waitForMixed has first looks wait for their mixed codes, so that figures do not depend on when these are ready.
func waitForMixed(b backend.Backend) {
	for _, m := range b.(*Backend).machines {
		m.awaitMixed = await
	}
}

// await waits until done is closed or ctx ends.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// part is the part of the conformance suite to run: on the emulator, which is slow, one for each
// seed; `make suite-cuda` runs all.
func part() backendtest.Part {
	seed, err := strconv.Atoi(os.Getenv("EMU_SEED"))
	switch {
	case err != nil:
		return backendtest.Part{}
	case testing.Short():
		return backendtest.Part{I: seed, Of: 9}
	}
	return backendtest.Part{I: seed, Of: 3}
}

// myTurn reports whether to run the k-th case of a test: on the emulator a third with each of the
// seeds 0 to 2, otherwise all. It is for cases that do not depend on the order of threads.
func myTurn(k int) bool {
	seed, err := strconv.Atoi(os.Getenv("EMU_SEED"))
	return err != nil || k%3 == seed%3
}

// TestBackend is the conformance suite.
func TestBackend(t *testing.T) {
	backendtest.RunPart(t, func() backend.Backend { return open(t, Options{}) }, part())
}

// goalsPart is the part of the checks of goals to run: on the emulator, one collection of a small set with
// each seed, on which every ladder is searched for every goal; `make goals-cuda` runs all, which takes minutes.
func goalsPart() backendtest.Part {
	seed, err := strconv.Atoi(os.Getenv("EMU_SEED"))
	if err != nil {
		return backendtest.Part{}
	}
	return backendtest.Part{I: []int{6, 2, 0}[seed%3], Of: 10}
}

// TestGoals: goals with ceilings, lists of atoms, first atoms and candidates.
func TestGoals(t *testing.T) {
	backendtest.Goals(t, func() backend.Backend { return open(t, Options{}) }, goalsPart())
}

//go:build cuda && cgo

package gpu

import (
	"log/slog"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
)

// testMachine opens the first device with its kernels, or skips the test where
// there is none.
func testMachine(t testing.TB, o Options) *machine {
	t.Helper()
	if err := Driver(); err != nil {
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
	if err := Driver(); err != nil {
		t.Skip(err)
	}
	o.Devices = []int{0}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBackend is the conformance suite.
func TestBackend(t *testing.T) {
	backendtest.Run(t, func() backend.Backend { return open(t, Options{}) })
}

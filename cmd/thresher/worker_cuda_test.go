//go:build cuda && cgo

package main

import (
	"log/slog"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/config"
	"thresher/internal/cli"
	"thresher/worker"
)

// TestBackendOfWorker: a worker's auto is a card that can be used, if it is predicted to be faster. Otherwise it
// is the CPU, and the worker says why, of each collection and of what there is to ask for.
func TestBackendOfWorker(t *testing.T) {
	needEmulator(t)
	c, err := collection.Build(t.Context(), gaussian(1, 3000*128), 128, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		name, variable, value, backend string
		said                           []string // of a collection
		listed                         bool     // what there is to ask for says the same without a try
	}{
		{"usable", "EMU_DEVICES", "1", "cuda", nil, false},
		{"old", "EMU_CC", "75", "cpu", []string{"device 0 (", "7.5 is below 8.0", "a newer GPU"}, true},
		{"full", "EMU_FAIL", "cuDevicePrimaryCtxRetain:1+:2", "cpu", []string{"device 0 (", "OUT_OF_MEMORY", "free memory"}, false},
		{"too small", "EMU_MEM", "67373056", "cpu", []string{"loading 3000 vectors", "free memory"}, false},
		{"none", "EMU_DEVICES", "0", "cpu", nil, false},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Setenv(f.variable, f.value)
			a := &app{App: &cli.App{Config: &config.Config{Backend: backendAuto, Kernels: "auto", Costs: costsBuiltin, Threads: 1}, Log: slog.New(slog.DiscardHandler)}}
			d := &devices{app: a, open: map[string]*worker.Device{}}
			v, err := d.device(t.Context(), backendAuto, 0, c)
			if err != nil {
				t.Fatal(err)
			}
			e, err := batch.Open(t.Context(), c, v.Backend, v.Engine)
			if err != nil {
				t.Fatal(err)
			}
			said := cardFault{said: f.said}
			if unused := v.Unused(e.Instead()); e.Backend() != f.backend || len(unused) != min(1, len(f.said)) || !said.of(strings.Join(unused, "")) {
				t.Errorf("on %s, %q", e.Backend(), unused)
			}
			known, tried := d.list(false)[1], d.list(true)[1]
			usable := f.name == "usable" || f.name == "too small"
			if (tried.Missing == "") != usable || (tried.Device != "") != usable {
				t.Errorf("tried: %+v", tried)
			}
			if f.name != "too small" && (len(tried.GPUUnused) != min(1, len(f.said)) || !said.of(strings.Join(tried.GPUUnused, ""))) {
				t.Errorf("tried: %q", tried.GPUUnused)
			}
			if (len(known.GPUUnused) > 0) != f.listed {
				t.Errorf("known: %+v", known)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/config"
	"thresher/cpu"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// measured is a backend that counts the measurements of its costs.
type measured struct {
	backend.Backend
	times int
	err   error
}

func (m *measured) Describe() backend.Description { return backend.Describe(m.Backend) }

func (m *measured) Measure(context.Context) (backend.Costs, error) {
	m.times++
	c := backend.Portable()
	c.Visit = float64(100 + m.times)
	return c, m.err
}

// costsApp returns an app whose cache is a folder of the test, and its log.
func costsApp(t *testing.T, setting string) (*app, string, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // of all systems
		t.Setenv(name, dir)
	}
	path, err := costsCache()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	return &app{App: &cli.App{Config: &config.Config{Costs: setting}, Log: slog.New(slog.NewTextHandler(&log, nil))}}, path, &log
}

func newMeasured() *measured { return &measured{Backend: cpu.New(cpu.Options{Threads: 1})} }

func visit(t *testing.T, a *app, b backend.Backend) float64 {
	t.Helper()
	c, err := a.costs(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return 0
	}
	return c.Visit
}

func TestCostsAreMeasuredOnce(t *testing.T) {
	a, path, log := costsApp(t, costsAuto)
	b := newMeasured()
	for range 3 {
		if v := visit(t, a, b); v != 101 {
			t.Errorf("visit costs %g ns, measured 101", v)
		}
	}
	if b.times != 1 || strings.Contains(log.String(), "WARN") {
		t.Errorf("measured %d times; log %s", b.times, log)
	}
	var kept []machineCosts
	if err := json.Unmarshal(clitest.ReadFile(t, path), &kept); err != nil || len(kept) != 1 {
		t.Fatalf("cache %s: %v", clitest.ReadFile(t, path), err)
	}
	if m := kept[0]; m.Format != costsFormat || m.CPU == "" || m.Backend != "cpu" || m.Costs.Visit != 101 {
		t.Errorf("kept %+v", m)
	}
	// Entries of other machines that share the home, and of future formats, do not match.
	for name, change := range map[string]func(m *machineCosts){
		"processor": func(m *machineCosts) { m.CPU += "!" },
		"kernels":   func(m *machineCosts) { m.Kernels += "!" },
		"backend":   func(m *machineCosts) { m.Backend += "!" },
		"format":    func(m *machineCosts) { m.Format++; m.Costs = backend.Costs{} },
		"revision":  func(m *machineCosts) { m.Revision-- },
	} {
		other := kept[0]
		change(&other)
		text, err := json.Marshal([]machineCosts{other})
		if err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, filepath.Dir(path), filepath.Base(path), text)
		b := newMeasured()
		if v := visit(t, a, b); v != 101 || b.times != 1 || strings.Contains(log.String(), "WARN") {
			t.Errorf("other %s: visit costs %g, measured %d times; log %s", name, v, b.times, log)
		}
		if all, err := readCache(path); err != nil || len(all) != 2 && name != "format" && name != "revision" {
			t.Errorf("other %s: kept %+v, %v", name, all, err)
		}
	}
}

// TestCostsOfBefore: cached costs from before the cost of gathering existed are measured
// again, and those in a named file are used unchanged.
func TestCostsOfBefore(t *testing.T) {
	a, path, log := costsApp(t, costsAuto)
	former := thisMachine(newMeasured())
	former.Costs = backend.Portable()
	former.Costs.Visit = 7
	text, err := json.Marshal(former)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `"gather":0.8,`, "", 1))
	if strings.Contains(string(text), "gather") {
		t.Fatalf("costs %s", text)
	}
	mkdir(t, filepath.Dir(path))
	clitest.WriteFile(t, filepath.Dir(path), filepath.Base(path), slices.Concat([]byte("["), text, []byte("]")))
	b := newMeasured()
	for range 2 {
		if v := visit(t, a, b); v != 101 || b.times != 1 || strings.Contains(log.String(), "WARN") {
			t.Errorf("visit costs %g, measured %d times; log %s", v, b.times, log)
		}
	}
	if all, err := readCache(path); err != nil || len(all) != 1 || all[0].Costs.Gather == 0 {
		t.Errorf("kept %+v, %v", all, err)
	}
	a.Config.Costs = clitest.WriteFile(t, t.TempDir(), "pinned.json", text)
	if v := visit(t, a, b); v != 7 || b.times != 1 {
		t.Errorf("pinned: visit costs %g, measured %d times", v, b.times)
	}
}

// TestCostsWithoutCache: a fault of the cache causes a warning and a measurement, never a
// failure.
func TestCostsWithoutCache(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"no JSON": func(t *testing.T, path string) {
			clitest.WriteFile(t, filepath.Dir(path), "costs.json", []byte("costs!"))
		},
		"other JSON": func(t *testing.T, path string) {
			clitest.WriteFile(t, filepath.Dir(path), "costs.json", []byte(`{"a": 1}`))
		},
		"cut": func(t *testing.T, path string) {
			clitest.WriteFile(t, filepath.Dir(path), "costs.json", fmt.Appendf(nil, `[{"format": 1, "revision": %d, "cpu": "x"`, costsRevision))
		},
		"no costs in it": func(t *testing.T, path string) {
			clitest.WriteFile(t, filepath.Dir(path), "costs.json", fmt.Appendf(nil, `[{"format": 1, "revision": %d, "cpu": "x"}]`, costsRevision))
		},
		"a folder": func(t *testing.T, path string) { mkdir(t, filepath.Join(path, "full")) },
	} {
		t.Run(name, func(t *testing.T) {
			a, path, log := costsApp(t, costsAuto)
			mkdir(t, filepath.Dir(path))
			spoil(t, path)
			b := newMeasured()
			if v := visit(t, a, b); v != 101 || !strings.Contains(log.String(), "WARN") || !strings.Contains(log.String(), "costs.json") {
				t.Errorf("visit costs %g; log %s", v, log)
			}
			again := visit(t, a, b)
			if mended := name != "a folder"; mended != (again == 101) {
				t.Errorf("measured %d times; log %s", b.times, log)
			}
		})
	}
	t.Run("no folder can be made", func(t *testing.T) {
		a, path, log := costsApp(t, costsAuto)
		dir := filepath.Dir(filepath.Dir(path))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, filepath.Dir(dir), filepath.Base(dir), nil)
		if v := visit(t, a, newMeasured()); v != 101 || !strings.Contains(log.String(), "WARN") {
			t.Errorf("visit costs %g; log %s", v, log)
		}
	})
	t.Run("nothing can be measured", func(t *testing.T) {
		a, path, log := costsApp(t, costsAuto)
		b := newMeasured()
		b.err = errors.New("no clock")
		if v := visit(t, a, b); v != 0 || !strings.Contains(log.String(), "no clock") || clitest.Exists(path) {
			t.Errorf("visit costs %g; log %s", v, log)
		}
	})
}

func TestCostsOfASetting(t *testing.T) {
	a, path, _ := costsApp(t, costsBuiltin)
	b := newMeasured()
	if v := visit(t, a, b); v != 0 || b.times != 0 || clitest.Exists(path) {
		t.Errorf("builtin: visit costs %g, measured %d times", v, b.times)
	}
	// a backend that cannot measure
	a.Config.Costs = costsAuto
	if v := visit(t, a, struct{ backend.Backend }{b}); v != 0 {
		t.Errorf("no costs to measure: visit costs %g", v)
	}

	dir := t.TempDir()
	pinned := machineCosts{Format: costsFormat, CPU: "elsewhere", Costs: backend.Portable()}
	pinned.Costs.Visit = 7
	text, err := json.Marshal(pinned)
	if err != nil {
		t.Fatal(err)
	}
	a.Config.Costs = clitest.WriteFile(t, dir, "pinned.json", text)
	if v := visit(t, a, b); v != 7 || b.times != 0 || clitest.Exists(path) {
		t.Errorf("pinned: visit costs %g, measured %d times", v, b.times)
	}
	for name, x := range map[string]struct{ text, want string }{
		"empty.json":   {"", "EOF"},
		"format.json":  {strings.Replace(string(text), `"format":1`, `"format":2`, 1), "format 2"},
		"unknown.json": {strings.Replace(string(text), `"cpu"`, `"cpus"`, 1), "cpus"},
		"bad.json":     {strings.Replace(string(text), `"visit":7`, `"visit":-7`, 1), "visit: -7"},
		"lacks.json":   {strings.Replace(string(text), `"visit":7,`, ``, 1), "visit: 0"},
		"costs.yaml":   {"delta: 0.1\n", "not what bench --calibrate --json prints: invalid character 'd'"},
		"two.json":     {string(text) + string(text), "more than one"},
	} {
		a.Config.Costs = clitest.WriteFile(t, dir, name, []byte(x.text))
		if _, err := a.costs(t.Context(), b); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.Config.Costs = filepath.Join(dir, "none.json")
	if _, err := a.costs(t.Context(), b); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestCalibrate measures this machine, which takes some hundred milliseconds of a core, and
// reads the printed costs from a file.
func TestCalibrate(t *testing.T) {
	_, path, _ := costsApp(t, costsAuto)
	dir := t.TempDir()
	r := thresher(t, "bench", "--calibrate", "--json")
	r.WantCode(t, cli.ExitOK)
	file := clitest.WriteFile(t, dir, "costs.json", []byte(r.Out))
	c, err := readCosts(file)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readCache(path)
	if err != nil || len(kept) != 1 || kept[0].Costs != *c {
		t.Errorf("kept %+v, %v; printed %+v", kept, err, c)
	}
	if testing.Short() {
		return
	}
	r = thresher(t, "bench", "--calibrate")
	r.WantCode(t, cli.ExitOK)
	for _, part := range []string{"BUILT IN", "BEFORE", "NOW", "dense_one", "a code of the first look"} {
		if !strings.Contains(r.Out, part) {
			t.Errorf("table lacks %q:\n%s", part, r.Out)
		}
	}
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 100, 40), vectorFile(t, dir, "q.npy", 2, 3, 40)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--costs", file).WantCode(t, cli.ExitOK)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--costs", filepath.Join(dir, "none.json")).WantError(t, "costs", "none.json")
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/klauspost/cpuid/v2"

	"thresher/backend"
	"thresher/internal/atomicfile"
)

// Values of the setting costs other than the name of a file.
const (
	costsAuto    = "auto"    // measured once on each machine and cached
	costsBuiltin = "builtin" // the backend's built-in costs, equal on every machine
)

// costsFormat is the version of the cost figures; costs of another format are measured
// again.
const costsFormat = 1

// costsRevision counts the changes of how costs are measured. Cached costs of another revision are
// measured again; files that the setting names may be of any.
const costsRevision = 5

// costsLimit bounds the size of a cost file in bytes.
const costsLimit = 1 << 20

// machineCosts are costs and the machine they were measured on.
type machineCosts struct {
	Format   int           `json:"format"`
	Revision int           `json:"revision,omitempty"`
	CPU      string        `json:"cpu"`
	Backend  string        `json:"backend"`
	Kernels  string        `json:"kernels"`
	Costs    backend.Costs `json:"costs"`
}

// thisMachine describes the machine that b runs on, without costs.
func thisMachine(b backend.Backend) machineCosts {
	return machineCosts{
		Format: costsFormat, Revision: costsRevision, CPU: cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH),
		Backend: b.Name(), Kernels: backend.Describe(b).Device,
	}
}

// of reports whether m was measured on machine x.
func (m machineCosts) of(x machineCosts) bool {
	m.Costs = x.Costs
	return m == x
}

// costs returns the cost table chosen by the setting; nil means the backend's own. Failures of the
// cache, and figures that cannot be, are only logged, because guarantees do not depend on costs; that a device
// could not work is an error.
func (a *app) costs(ctx context.Context, b backend.Backend) (*backend.Costs, error) {
	describer, ok := b.(backend.Describer)
	switch setting := a.Config.Costs; {
	case setting == costsBuiltin:
		return nil, nil
	case setting != costsAuto:
		return readCosts(setting)
	case !ok:
		return nil, nil
	}
	path, err := costsCache()
	var kept []machineCosts
	if err == nil {
		kept, err = readCache(path)
	}
	if err != nil {
		a.Log.Warn("cached costs of this machine cannot be read; they are measured again", "error", err)
	}
	machine := thisMachine(b)
	// costs cached before gather existed are measured again
	if i := slices.IndexFunc(kept, machine.of); i >= 0 && (kept[i].Costs.Gather > 0 || describer.Describe().Costs.Gather == 0) {
		return &kept[i].Costs, nil
	}
	if machine.Costs, err = describer.Measure(ctx); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case b.Name() != backendCPU && machine.Costs == backend.Costs{}: // a device that fails here fails in searches
			return nil, a.unmeasured(err)
		}
		a.Log.Warn("costs cannot be measured; the built-in ones are used", "error", err)
		return nil, nil
	}
	a.Log.Info("costs measured", "cpu", machine.CPU, "kernels", machine.Kernels)
	a.keepCosts(path, kept, machine)
	return &machine.Costs, nil
}

// unmeasured returns the error of a device that failed while costs were measured.
func (a *app) unmeasured(err error) error {
	if a.Config.Backend == backendCUDA {
		return cudaUnusable(err)
	}
	return err
}

// keepCosts stores the costs of a machine in the cache.
func (a *app) keepCosts(path string, kept []machineCosts, machine machineCosts) {
	if path == "" {
		return // already logged
	}
	kept = append(slices.DeleteFunc(kept, machine.of), machine)
	if err := writeCache(path, kept); err != nil {
		a.Log.Warn("costs measured on this machine cannot be cached; the next run measures them again", "error", err)
	}
}

// costsCache returns the path of the cache file, shared by machines with the same home.
func costsCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "thresher", "costs.json"), nil
}

// readCache returns the cached costs of the current format and revision, none if there is no file. For
// other content it returns an error.
func readCache(path string) ([]machineCosts, error) {
	text, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var kept []machineCosts
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	kept = slices.DeleteFunc(kept, func(m machineCosts) bool { return m.Format != costsFormat || m.Revision != costsRevision })
	for i := range kept {
		if err := kept[i].Costs.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return kept, nil
}

// writeCache replaces the cache atomically.
func writeCache(path string, kept []machineCosts) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(append(text, '\n')); err != nil {
		return err
	}
	return f.Commit(true)
}

// readCosts reads a cost file, as printed by bench --calibrate --json, of any machine.
func readCosts(path string) (*backend.Costs, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, fmt.Errorf("costs: %w", err)
	}
	var m machineCosts
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&m); err != nil {
		err = fmt.Errorf("not what bench --calibrate --json prints: %w", err)
	} else if d.More() {
		err = errors.New("more than one value")
	}
	if err == nil && m.Format != costsFormat {
		err = fmt.Errorf("format %d; this version reads %d", m.Format, costsFormat)
	}
	if err == nil {
		err = m.Costs.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("costs: %s: %w", path, err)
	}
	return &m.Costs, nil
}

// readSmall reads a file of at most costsLimit bytes.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, costsLimit))
}

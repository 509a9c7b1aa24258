//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"

	"thresher/gpu/device"
	"thresher/kernels"
)

// machine is a device with its kernels, a stream, and the memory of finished runs. Everything but
// d must be used within Do.
type machine struct {
	d           *device.Device
	log         *slog.Logger
	modules     []*device.Module
	functions   map[string]*device.Function
	stream      *device.Stream
	chunkEvents [2]*device.Event
	pool        device.Pool
	packed      []uint64 // words of the structures that the next kernel gets by value
	maxHost     int64    // most bytes of page-locked memory for a collection
	// Tests make these small: the most entries of a list, the most lists in memory at once (0 is no
	// limit for both), and the most pairs of an atom and a query in one launch of the scan.
	maxListRoom, maxLists, maxPairs int
	// startAtoms and startLeast are the constants of these names. Tests make them small.
	startAtoms, startLeast int
	// awaitMixed, if not nil, is how looks wait for their mixed codes, which are computed until done is closed, for tests and benchmarks.
	awaitMixed func(ctx context.Context, done <-chan struct{}) error
	// graphQueries is the constant of this name. Tests and benchmarks make it 0.
	graphQueries  int
	graphsRefused bool // and that was logged
	// pieceValues is the number of coordinates of queries that a goroutine copies at a time, and half of
	// those for which a second goroutine is worth its start. Tests make it small.
	pieceValues int
	// onLaunch, if not nil, is called before and after each launch; benchmarks record events there.
	onLaunch func(q *queue, kernel string) error
	// onPhase, if not nil, is called when a phase of the host's work for a batch begins; benchmarks
	// measure how long it takes.
	onPhase func(p hostPhase)
}

// graphQueries is the most queries of a batch whose kernels are enqueued together, by CUDA graphs if an earlier
// batch enqueued the same. It is not measured: for more, a device should begin while the host enqueues.
const graphQueries = 64

// hostPhase is a phase of the host's work for a batch.
type hostPhase string

// The phases of a search: the check of the request and its plan; copying the queries to page-locked
// memory; enqueuing work, with all that belongs to no other phase; waiting for the device; and making
// reports and answers of what it has found.
const (
	phaseCheck   hostPhase = "check"
	phaseCopy    hostPhase = "copy"
	phaseEnqueue hostPhase = "enqueue"
	phaseWait    hostPhase = "wait"
	phaseAnswers hostPhase = "answers"
)

// beginPhase ends one phase and begins another.
func (m *machine) beginPhase(p hostPhase) {
	if m.onPhase != nil {
		m.onPhase(p)
	}
}

// testModules are modules that only tests and benchmarks load.
var testModules = [...]string{"ceiling", "copy", "fragments"}

// openMachine opens a device and loads the modules.
func openMachine(index int, o *Options, log *slog.Logger) (*machine, error) {
	d, err := device.Open(index, device.Options{Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	m := &machine{d: d, log: log, functions: make(map[string]*device.Function), maxHost: o.Host, maxPairs: scanPairs, pieceValues: copiedValues,
		startAtoms: startAtoms, startLeast: startLeast, graphQueries: graphQueries}
	switch {
	case o.Host == 0:
		m.maxHost = math.MaxInt64
	case o.Host < 0:
		m.maxHost = 0
	}
	if err := m.onThread(context.Background(), m.loadKernels); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *machine) loadKernels(t *device.Thread) (err error) {
	for _, name := range kernels.Names() {
		if slices.Contains(testModules[:], name) {
			continue
		}
		if err := m.loadModule(t, name); err != nil {
			return err
		}
		m.log.Debug("kernels loaded", "module", name, "assembled", m.modules[len(m.modules)-1].Assembled)
	}
	if m.stream, err = t.NewStream("searches"); err != nil {
		return err
	}
	for i := range m.chunkEvents {
		if m.chunkEvents[i], err = t.NewEvent("chunks"); err != nil {
			return err
		}
	}
	return nil
}

// assembled reports whether no module had to be compiled by the driver.
func (m *machine) assembled() bool {
	return !slices.ContainsFunc(m.modules, func(module *device.Module) bool { return !module.Assembled })
}

// refusedCubin reports whether the driver did not take a module's assembled code.
func refusedCubin(module *device.Module) bool { return module.Refused != nil }

// loadModule loads a module and its kernels. The first whose assembled code the driver refuses is logged.
func (m *machine) loadModule(t *device.Thread, name string) error {
	ptx, err := kernels.PTX(name)
	if err != nil {
		return err
	}
	info := t.Device().Info()
	cubin, err := kernels.Cubin(name, info.Major, info.Minor)
	if err != nil {
		return err
	}
	module, err := t.Load(name, ptx, cubin)
	if err != nil {
		return err
	}
	if module.Refused != nil && !slices.ContainsFunc(m.modules, refusedCubin) {
		m.log.Info("assembled kernels refused, the driver compiles the PTX", "device", info.Index, "module", name, "error", module.Refused)
	}
	m.modules = append(m.modules, module)
	for _, entry := range module.Kernels() {
		if m.functions[entry], err = module.Function(t, entry); err != nil {
			return err
		}
	}
	return nil
}

// close releases everything. On a lost device there is nothing to release.
func (m *machine) close() error {
	err := m.onThread(context.Background(), func(t *device.Thread) error {
		errs := []error{m.pool.FreeAll(t), m.stream.Close(t)}
		for _, e := range m.chunkEvents {
			errs = append(errs, e.Close(t))
		}
		for _, module := range m.modules {
			errs = append(errs, module.Unload(t))
		}
		return errors.Join(errs...)
	})
	closed := m.d.Close()
	if errors.Is(err, device.ErrLost) || m.d.Lost() != nil {
		return nil
	}
	return errors.Join(err, closed)
}

// onThread is the device's Do, with errors of the contract.
func (m *machine) onThread(ctx context.Context, f func(*device.Thread) error) error {
	return inContract(m.d.Do(ctx, f))
}

// do calls f with a queue, within the device's Do.
func (m *machine) do(ctx context.Context, f func(*queue) error) error {
	return m.onThread(ctx, func(t *device.Thread) error {
		err := f(&queue{t: t, s: m.stream, machine: m})
		if reason := t.Graphs().Refused; reason != nil && !m.graphsRefused {
			m.graphsRefused = true
			m.log.Warn("the driver made no CUDA graph; kernels are enqueued one by one from now on", "error", reason)
		}
		return err
	})
}

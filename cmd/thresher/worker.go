package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"thresher/backend"
	"thresher/collection"
	"thresher/gpu"
	"thresher/gpu/device"
	"thresher/internal/cli"
	"thresher/worker"
)

func newWorkerCommand(a *app) *cobra.Command {
	var parent int
	cmd := &cobra.Command{
		Use:   "worker --parent PID",
		Short: "Search for the program that starts this one",
		Long: `Search for the program that starts this one, as the Python package does: standard input
is a socket, or standard input and output are pipes, over which it sends calls
(docs/worker.md). The worker ends when the connection or the parent does.`,
		Example: `  thresher worker --parent 4711`,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runWorker(cmd.Context(), parent) },
	}
	cmd.Flags().IntVar(&parent, "parent", 0, "process `id` of the program to serve")
	addSettings(cmd, "backend", "device", "threads", "dense_limit", "read_limit", "kernels", "costs")
	return cmd
}

// lastCalls bounds the time that cancelled calls have to remove their unfinished files.
const lastCalls = 5 * time.Second

// runWorker serves the parent until it ends.
func (a *app) runWorker(ctx context.Context, parent int) error {
	if parent < 1 {
		return errors.New("worker: --parent is the process that it serves; programs start workers, see docs/worker.md")
	}
	signal.Ignore(os.Interrupt) // a terminal's is for the parent, which cancels its calls
	d := &devices{app: a, open: map[string]*worker.Device{}}
	s, err := worker.New(os.Stdin, os.Stdout, worker.Options{
		Version: readBuildInfo().Version, Log: a.Log, Device: d.device, Costs: d.scanCosts, Devices: d.list, Spare: cli.SpareMemory, Threads: a.Config.Threads, DenseLimit: a.Config.DenseLimit, ReadLimit: a.Config.ReadLimit,
	})
	if err != nil {
		return fmt.Errorf("worker: standard input: %w", err)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() { // ends with the process at the latest
		if err := worker.WaitForParent(ctx, parent); err == nil {
			end(errParentEnded)
		} else if ctx.Err() == nil {
			a.Log.Warn("the parent's end cannot be waited for; the connection's ends the worker", "error", err)
		}
	}()
	err = s.Serve(ctx)
	if errors.Is(context.Cause(ctx), errParentEnded) {
		err = nil
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case closeErr := <-closed:
		return errors.Join(err, closeErr, d.close())
	case <-time.After(lastCalls):
		return err
	}
}

var errParentEnded = errors.New("the parent ended")

// devices opens the backends of a worker when they are first asked for.
type devices struct {
	*app
	mu   sync.Mutex
	open map[string]*worker.Device
	all  []*backends
	pool *pool // of collections for which no device is named; nil until there is one
}

// device returns the device of a name for a collection; auto is that of the setting backend. The CPU computes
// with so many threads; 0 is the setting's number.
func (d *devices) device(ctx context.Context, name string, threads int, c *collection.Collection) (*worker.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.named(ctx, name, c)
	if err != nil || threads == 0 || v.Backend.Name() != backendCPU || threads == backend.Describe(v.Backend).Threads {
		return v, err
	}
	key := fmt.Sprintf("%s/%d", backendCPU, threads)
	if own := d.open[key]; own != nil {
		return own, nil
	}
	b, err := d.openCPUOf(threads)
	if err != nil {
		return nil, err
	}
	d.all = append(d.all, &backends{first: b})
	d.open[key] = &worker.Device{Backend: b, Engine: v.Engine, Unused: v.Unused}
	return d.open[key], nil
}

// named is device with the setting's number of threads. The caller holds mu.
func (d *devices) named(ctx context.Context, name string, c *collection.Collection) (*worker.Device, error) {
	if name == "" || name == backendAuto {
		name = d.Config.Backend
	}
	if name == backendAuto {
		return d.chosen(ctx, c)
	}
	if v := d.open[name]; v != nil {
		return v, nil
	}
	b := &backends{}
	var err error
	switch name {
	case backendCPU:
		b.first, err = d.openCPU()
	case backendCUDA:
		if b.first, err = d.openGPUs(); err == nil {
			b.fallback, err = d.openCPU()
		}
	default:
		err = worker.UnknownDevice(name)
	}
	if err != nil {
		return nil, err
	}
	if b.costs, err = d.costs(ctx, b.first); err != nil {
		return nil, errors.Join(err, b.close())
	}
	v := &worker.Device{Backend: b.first, Engine: b.options(d.app), Unused: func(instead error) []string {
		return unusedGPUs(gpu.LeftOut(b.first), instead)
	}}
	d.open[name] = v
	d.all = append(d.all, b)
	return v, nil
}

// chosen returns a GPU if one can be used and is predicted to search c sooner, else the CPU. The caller holds
// mu.
func (d *devices) chosen(ctx context.Context, c *collection.Collection) (*worker.Device, error) {
	if err := d.startPool(ctx); err != nil {
		return nil, err
	}
	b, o, err := d.pool.place("", c)
	if err != nil {
		return nil, err
	}
	return &worker.Device{Backend: b, Engine: o, Unused: func(instead error) []string {
		if instead == nil && d.pool.card != nil && c.Float64() {
			instead = collection.ErrFloat64
		}
		return d.pool.unusedGPUs([]error{instead})
	}}, nil
}

// startPool opens the pool, unless it is open. The caller holds mu.
func (d *devices) startPool(ctx context.Context) error {
	if d.pool != nil {
		return nil
	}
	p, err := d.openPool(ctx)
	if err == nil {
		d.pool = p
	}
	return err
}

// scanCosts returns the costs of the CPU if a device of that name is it, or may be; nil if it is a GPU.
func (d *devices) scanCosts(ctx context.Context, name string) (*backend.Costs, error) {
	if name == "" || name == backendAuto {
		name = d.Config.Backend
	}
	switch name {
	case backendCUDA:
		return nil, nil
	case backendAuto:
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := d.startPool(ctx); err != nil {
			return nil, err
		}
		return costsOf(d.pool.cpu, d.pool.cpuCosts), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.named(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return costsOf(v.Backend, v.Engine.Costs), nil
}

// list lists the CPU and the GPUs, or says why none can be used. With probe it opens the GPUs, unless they
// are open.
func (d *devices) list(probe bool) []worker.Listed {
	names, unused := usableGPUs()
	if probe && len(names) > 0 {
		names, unused = d.tryGPUs()
	}
	cuda := worker.Listed{Name: backendCUDA, Device: strings.Join(names, "; "), GPUUnused: unusedGPUs(unused...)}
	if len(names) == 0 {
		cuda.Missing = errors.Join(unused...).Error()
	}
	here := worker.Listed{Name: backendCPU}
	if b, err := d.openCPU(); err != nil {
		here.Missing = err.Error()
	} else {
		x := b.Describe()
		here.Device, here.Threads = x.Device, x.Threads
		if err := b.Close(); err != nil {
			here.Missing = err.Error()
		}
	}
	return []worker.Listed{here, cuda}
}

// tryGPUs describes the GPUs that can be used now, and returns why others cannot.
func (d *devices) tryGPUs() ([]string, []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.gpusInUse()
	if b == nil {
		var err error
		if b, err = gpu.Open(gpu.Options{Names: d.Config.Device}); err != nil {
			return nil, []error{err}
		}
		defer d.closeUnused(b)
	}
	return describeGPUs(b.(interface{ Devices() []device.Info }).Devices()), []error{gpu.LeftOut(b)}
}

// gpusInUse returns the GPUs if they are open, otherwise nil. The caller holds mu.
func (d *devices) gpusInUse() backend.Backend {
	if v := d.open[backendCUDA]; v != nil {
		return v.Backend
	}
	if d.pool != nil && d.pool.card != nil {
		return d.pool.card.backend
	}
	return nil
}

// close closes the backends, whose collections are closed.
func (d *devices) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, b := range d.all {
		err = errors.Join(err, b.close())
	}
	if d.pool != nil {
		err = errors.Join(err, d.pool.close())
	}
	return err
}

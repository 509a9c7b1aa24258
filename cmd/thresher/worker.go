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

	"thresher/gpu"
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runWorker(cmd.Context(), parent) },
	}
	cmd.Flags().IntVar(&parent, "parent", 0, "process `id` of the program to serve")
	addSettings(cmd, "backend", "threads", "kernels", "costs")
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
		Version: readBuildInfo().Version, Log: a.log, Device: d.device, Devices: d.list, Spare: spareMemory, Threads: a.config.Threads,
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
			a.log.Warn("the parent's end cannot be waited for; the connection's ends the worker", "error", err)
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
}

// device returns the device of a name; auto is that of the setting backend.
func (d *devices) device(ctx context.Context, name string) (*worker.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == "" || name == backendAuto {
		name = d.config.Backend
	}
	if name == backendAuto {
		name = backendCPU
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
		if b.first, err = gpu.Open(gpu.Options{Log: d.log}); err == nil {
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
	v := &worker.Device{Backend: b.first, Engine: b.options(d.app)}
	d.open[name] = v
	d.all = append(d.all, b)
	return v, nil
}

// list lists the CPU and the GPUs, or says why there are none.
func (d *devices) list() []worker.Listed {
	cuda := worker.Listed{Name: backendCUDA}
	if names, err := gpuNames(); err != nil {
		cuda.Missing = err.Error()
	} else {
		cuda.Device = strings.Join(names, "; ")
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

// close closes the backends, whose collections are closed.
func (d *devices) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, b := range d.all {
		err = errors.Join(err, b.close())
	}
	return err
}

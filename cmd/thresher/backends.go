package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/gpu"
	"thresher/internal/cli"
	"thresher/internal/machine"
	"thresher/simd"
)

// Values of the setting backend.
const (
	backendAuto = "auto" // the one predicted to be faster; of demo and bench the CPU
	backendCPU  = "cpu"
	backendCUDA = "cuda"
)

// autoIsCPU is added to the help of --backend by commands that look for no GPU unless it is asked for.
const autoIsCPU = "; auto is the CPU"

// openBackend starts the configured backend, the CPU for auto; the caller closes it.
func (a *app) openBackend() (backend.Backend, error) {
	if a.Config.Backend != backendCUDA {
		return a.openCPU()
	}
	b, err := a.openGPUs()
	if err != nil {
		return nil, cudaUnusable(err)
	}
	return b, nil
}

// openGPUs opens the GPUs of the setting device.
func (a *app) openGPUs() (backend.Backend, error) {
	return gpu.Open(gpu.Options{Names: a.Config.Device, Log: a.Log})
}

// cudaUnusable is the error of backend cuda, which was asked for.
func cudaUnusable(err error) error {
	return cli.Exit(cli.ExitBackend, fmt.Errorf("--backend cuda: %w; --backend cpu needs no device", err))
}

func (a *app) openCPU() (*cpu.Backend, error) { return a.openCPUOf(a.Config.Threads) }

// openCPUOf opens the CPU with so many threads; 0 is one for each core.
func (a *app) openCPUOf(threads int) (*cpu.Backend, error) {
	kernels, err := simd.Parse(a.Config.Kernels)
	if err != nil {
		return nil, err
	}
	return cpu.New(cpu.Options{Threads: threads, Kernels: &kernels}), nil
}

// backends are the backends of a search.
type backends struct {
	first    backend.Backend
	costs    *backend.Costs // of first; nil means its own
	fallback *cpu.Backend   // nil when first is the CPU
	unused   error          // why no GPU of the setting auto can be used; nil if one can, or none was looked for
}

func (b *backends) close() error {
	err := b.first.Close()
	if b.fallback != nil {
		err = errors.Join(err, b.fallback.Close())
	}
	return err
}

// options returns the options of an engine on b.
func (b *backends) options(a *app) *batch.Options {
	o := &batch.Options{Costs: b.costs, Spare: machine.SpareFor}
	if b.fallback != nil {
		o.Fallback, o.Observer = b.fallback, fallbackLog{a}
	}
	return o
}

// fallbackLog logs when a backend could not answer.
type fallbackLog struct{ app *app }

func (fallbackLog) Searched(batch.Method, int, batch.Stats, time.Duration) {}

func (l fallbackLog) FellBack(from string, reason error) {
	l.app.Log.Warn("falling back to the CPU", "backend", from, "reason", reason)
}

// openBackends starts the backend named by --backend, before atoms are read. For auto it is
// the CPU, which choose may replace by a GPU.
func (a *app) openBackends(ctx context.Context) (b *backends, err error) {
	b = &backends{}
	if b.first, err = a.openBackend(); err != nil {
		return nil, err
	}
	if a.Config.Backend == backendCUDA {
		if b.fallback, err = a.openCPU(); err != nil {
			return nil, errors.Join(err, b.first.Close())
		}
	}
	if b.costs, err = a.costs(ctx, b.first); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// busBytes is a lower bound on the bytes a second of uploading a collection to a GPU.
const busBytes = 8e9

// choose makes a GPU the first backend if the setting is auto, there is one that can be used, and it is
// predicted to answer m queries like req sooner, including the upload of the collection.
func (b *backends) choose(ctx context.Context, a *app, c *collection.Collection, req batch.Request, m int64) error {
	if a.Config.Backend != backendAuto {
		return nil
	}
	card, unused, err := a.openCard(ctx)
	if card == nil {
		b.unused = unused
		return err
	}
	if c.Float64() {
		b.unused = collection.ErrFloat64
		a.closeUnused(card.backend)
		return nil
	}
	pairs := float64(c.N) * float64(m)
	there, err := expected(c, card.backend, card.costs, req, pairs)
	here, herr := expected(c, b.first, b.costs, req, pairs)
	if err = errors.Join(err, herr); err != nil {
		return errors.Join(err, card.backend.Close())
	}
	here /= float64(max(1, backend.Describe(b.first).Threads))
	there += float64(c.Bytes()) / busBytes
	a.Log.Info("predicted times", "cpu", here, "cuda", there)
	if here == 0 || there >= here { // 0: no prediction
		a.closeUnused(card.backend)
		return nil
	}
	b.fallback, _ = b.first.(*cpu.Backend)
	b.first, b.costs = card.backend, card.costs
	return nil
}

// costsOf returns costs, or those of b itself where there are none.
func costsOf(b backend.Backend, costs *backend.Costs) *backend.Costs {
	if costs == nil {
		known := backend.Describe(b).Costs
		costs = &known
	}
	return costs
}

// expected returns the predicted seconds on one core of a backend for a number of pairs of
// an atom and a query.
func expected(c *collection.Collection, b backend.Backend, costs *backend.Costs, req batch.Request, pairs float64) (float64, error) {
	ns, err := batch.Expect(c, costsOf(b, costs), backend.Describe(b).Capacity, req)
	return ns * pairs / 1e9, err
}

package main

import (
	"context"
	"errors"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/gpu"
	"thresher/internal/machine"
)

// pool holds the backends on which a server opens collections.
type pool struct {
	app *app
	cpu *cpu.Backend
	// card is nil if the setting or the machine has no GPU that can be used; unused is then why.
	card     *card
	unused   error
	cpuCosts *backend.Costs
	// runBytes bounds the memory of one run of a search, spare says what one may take whose looks drop nothing.
	runBytes int64
	spare    func(need int64) int64
}

// maxRunBytes is the greatest memory of one run of a search.
const maxRunBytes = 256 << 20

// openPool starts the backends of the setting --backend; for auto the CPU, and a GPU if there
// is one.
func (a *app) openPool(ctx context.Context) (*pool, error) {
	p := &pool{app: a, spare: machine.SpareFor}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pool) open(ctx context.Context) (err error) {
	if p.cpu, err = p.app.openCPU(); err != nil {
		return err
	}
	if p.cpuCosts, err = p.app.costs(ctx, p.cpu); err != nil {
		return err
	}
	switch p.app.Config.Backend {
	case backendCUDA:
		b, err := p.app.openBackend()
		if err != nil {
			return err
		}
		p.card = &card{backend: b}
		p.card.costs, err = p.app.costs(ctx, b)
		return err
	case backendAuto:
		p.card, p.unused, err = p.app.openCard(ctx)
	}
	return err
}

// unusedGPUs says of each GPU that is there and does not search why; instead are the reasons for which the CPU
// searches collections in its place.
func (p *pool) unusedGPUs(instead []error) []string {
	if p.card != nil {
		instead = append([]error{gpu.LeftOut(p.card.backend)}, instead...)
	}
	return unusedGPUs(append([]error{p.unused}, instead...)...)
}

func (p *pool) close() error {
	var err error
	if p.card != nil {
		err = p.card.backend.Close()
	}
	if p.cpu != nil {
		err = errors.Join(err, p.cpu.Close())
	}
	return err
}

// first returns the backend that searches unless a collection suits the CPU better.
func (p *pool) first() backend.Backend {
	if p.card != nil {
		return p.card.backend
	}
	return p.cpu
}

// typicalQueries is the number of queries in the search for which a backend is chosen.
const typicalQueries = 256

func typical() batch.Request { return batch.Request{K: 10, Delta: .01} }

// openEngine makes an engine for c where place says.
func (p *pool) openEngine(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
	b, o, err := p.place(name, c)
	if err != nil {
		return nil, err
	}
	return batch.Open(ctx, c, b, o)
}

// placeChanging returns the backend that searches the segments of collections that change by rows, and the options of their engines: the CPU
// unless the setting says otherwise. Segments come and go with writes, which would all have to be loaded on a GPU.
func (p *pool) placeChanging(string) (backend.Backend, *batch.Options, error) {
	if p.card != nil && p.app.Config.Backend == backendCUDA {
		return p.card.backend, &batch.Options{Costs: p.card.costs, Fallback: p.cpu, Observer: fallbackLog{p.app}, RunBytes: p.runBytes, Spare: p.spare}, nil
	}
	return p.cpu, &batch.Options{Costs: p.cpuCosts, Observer: fallbackLog{p.app}, RunBytes: p.runBytes, Spare: p.spare}, nil
}

// place returns the backend that c is searched on and the options of its engine: the GPU, with the CPU as
// fallback, if the setting says so or, for auto, if it is predicted to be faster.
func (p *pool) place(name string, c *collection.Collection) (backend.Backend, *batch.Options, error) {
	onCPU := &batch.Options{Costs: p.cpuCosts, Observer: fallbackLog{p.app}, RunBytes: p.runBytes, Spare: p.spare}
	if p.card == nil {
		return p.cpu, onCPU, nil
	}
	if p.app.Config.Backend == backendAuto && c.Float64() {
		p.app.Log.Info("searched on the cpu", "collection", name, "reason", collection.ErrFloat64)
		return p.cpu, onCPU, nil
	}
	if p.app.Config.Backend == backendAuto {
		pairs := float64(c.N) * typicalQueries
		there, err := expected(c, p.card.backend, p.card.costs, typical(), pairs)
		here, herr := expected(c, p.cpu, p.cpuCosts, typical(), pairs)
		if err = errors.Join(err, herr); err != nil {
			return nil, nil, err
		}
		here /= float64(max(1, backend.Describe(p.cpu).Threads))
		p.app.Log.Info("predicted times", "collection", name, "cpu", here, p.card.backend.Name(), there)
		if here == 0 || there >= here { // 0: no prediction
			return p.cpu, onCPU, nil
		}
	}
	return p.card.backend, &batch.Options{Costs: p.card.costs, Fallback: p.cpu, Observer: fallbackLog{p.app}, RunBytes: p.runBytes, Spare: p.spare}, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/gpu"
)

// pool holds the backends on which a server opens collections.
type pool struct {
	app *app
	cpu *cpu.Backend
	// card is nil if the setting or the machine has no GPU.
	card                backend.Backend
	cpuCosts, cardCosts *backend.Costs
}

// openPool starts the backends of the setting --backend; for auto the CPU, and a GPU if there
// is one.
func (a *app) openPool(ctx context.Context) (p *pool, err error) {
	p = &pool{app: a}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.cpu, err = a.openCPU(); err != nil {
		return nil, err
	}
	if p.cpuCosts, err = a.costs(ctx, p.cpu); err != nil {
		return nil, err
	}
	switch a.config.Backend {
	case backendCUDA:
		p.card, err = a.openBackend()
	case backendAuto:
		card, gerr := gpu.Open(gpu.Options{Log: a.log})
		if gerr != nil {
			a.log.Debug("no GPU", "reason", gerr)
			return p, nil
		}
		p.card = card
	default:
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.cardCosts, err = a.costs(ctx, p.card)
	return p, err
}

func (p *pool) close() error {
	var err error
	if p.card != nil {
		err = p.card.Close()
	}
	if p.cpu != nil {
		err = errors.Join(err, p.cpu.Close())
	}
	return err
}

// first returns the backend that searches unless a collection suits the CPU better.
func (p *pool) first() backend.Backend {
	if p.card != nil {
		return p.card
	}
	return p.cpu
}

// typicalQueries is the number of queries in the search for which a backend is chosen.
const typicalQueries = 256

func typical() batch.Request { return batch.Request{K: 10, Delta: .01} }

// openEngine makes an engine for c: on the GPU, with the CPU as fallback, if the setting says so
// or, for auto, if it is predicted to be faster.
func (p *pool) openEngine(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
	onCPU := &batch.Options{Costs: p.cpuCosts, Observer: fallbackLog{p.app}}
	if p.card == nil {
		return batch.Open(ctx, c, p.cpu, onCPU)
	}
	if p.app.config.Backend == backendAuto {
		pairs := float64(c.N) * typicalQueries
		there, err := expected(c, p.card, p.cardCosts, typical(), pairs)
		here, herr := expected(c, p.cpu, p.cpuCosts, typical(), pairs)
		if err = errors.Join(err, herr); err != nil {
			return nil, err
		}
		here /= float64(max(1, backend.Describe(p.cpu).Threads))
		p.app.log.Info("predicted times", "collection", name, "cpu", here, p.card.Name(), there)
		if here == 0 || there >= here { // 0: no prediction
			return batch.Open(ctx, c, p.cpu, onCPU)
		}
	}
	return batch.Open(ctx, c, p.card, &batch.Options{Costs: p.cardCosts, Fallback: p.cpu, Observer: fallbackLog{p.app}})
}

// machineMemory returns the memory that this process may use: that of the machine, or of its
// control group if that is less; 0 if unknown.
func machineMemory() int64 {
	least := int64(math.MaxInt64)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			var kib int64
			if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
				least = kib << 10
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if group, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			least = min(least, group)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"thresher/backend"
	"thresher/collection"
	"thresher/device"
)

// Backend runs searches on one or more GPUs.
type Backend struct {
	machines []*machine
	log      *slog.Logger
	mu       sync.Mutex
	closed   bool
}

// Open opens the devices and loads the kernels, which the driver compiles for them unless there is
// assembled code. The error wraps
// backend.ErrUnavailable if there is no usable device.
func Open(o Options) (backend.Backend, error) {
	b := &Backend{log: o.Log}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	which, err := choose(o.Devices)
	if err != nil {
		return nil, inContract(err)
	}
	for _, index := range which {
		m, err := openMachine(index, &o, b.log)
		if err != nil {
			return nil, inContract(errors.Join(err, b.Close()))
		}
		b.machines = append(b.machines, m)
		b.log.Info("GPU opened", "device", m.d.Info().String(), "memory", device.FormatBytes(m.d.Usage().Budget), "assembled", m.assembled())
	}
	return b, nil
}

// choose lists the devices to open: the requested ones, or all usable ones.
func choose(asked []int) ([]int, error) {
	if len(asked) > 0 {
		return asked, nil
	}
	infos, err := device.Devices()
	if err != nil {
		return nil, err
	}
	var which []int
	var why error
	for _, i := range infos {
		if err := i.Usable(); err == nil {
			which = append(which, i.Index)
		} else if why == nil {
			why = err
		}
	}
	switch {
	case len(infos) == 0:
		return nil, fmt.Errorf("gpu: %w: the driver has no device", backend.ErrUnavailable)
	case len(which) == 0:
		return nil, why
	}
	return which, nil
}

// Name returns "cuda".
func (b *Backend) Name() string { return "cuda" }

// Devices describes the devices in use.
func (b *Backend) Devices() []device.Info {
	infos := make([]device.Info, len(b.machines))
	for i, m := range b.machines {
		infos[i] = m.d.Info()
	}
	return infos
}

// Describe names the devices in use as the driver does. The costs are EstimatedCosts.
func (b *Backend) Describe() backend.Description {
	names := make([]string, len(b.machines))
	for i, m := range b.machines {
		names[i] = m.d.Info().Name
	}
	return backend.Description{Device: strings.Join(names, ", "), Costs: EstimatedCosts()}
}

// Load copies c to the device, or distributes it over several.
func (b *Backend) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil, backend.ErrClosed
	}
	r, err := loadShards(ctx, b.machines, c)
	if err != nil {
		return nil, fmt.Errorf("loading %d atoms of dimension %d: %w", c.N, c.Dim, err)
	}
	return r, nil
}

// Close frees the devices. Every Resident must be closed before.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var errs []error
	for _, m := range b.machines {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

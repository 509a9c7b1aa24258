//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"thresher/backend"
	"thresher/collection"
	"thresher/gpu/device"
)

// Backend runs searches on one or more GPUs.
type Backend struct {
	machines []*machine
	log      *slog.Logger

	mu     sync.Mutex
	left   unusable // why other devices are not used
	closed bool
}

// Open opens the devices and loads the kernels, which the driver compiles for them unless there is
// assembled code. Devices that o does not name and that cannot be used are left out, with a warning; if none is
// left, the error has the reasons of all of them. It wraps backend.ErrUnavailable, and device.ErrAbsent if there is
// no device at all.
func Open(o Options) (backend.Backend, error) {
	b := &Backend{log: o.Log}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	c, err := o.choose()
	if err != nil {
		return nil, inContract(err)
	}
	for _, index := range c.which {
		if len(b.machines) == c.most {
			break
		}
		if err := b.openDevice(index, &o); err != nil && c.named {
			return nil, unavailable(errors.Join(err, b.Close()))
		} else if err != nil {
			b.left = append(b.left, inContract(err))
		}
	}
	if len(b.machines) == 0 {
		return nil, unavailable(b.left)
	}
	for _, err := range b.left {
		b.log.Warn("a GPU is left out", "reason", err)
	}
	return b, nil
}

func (b *Backend) openDevice(index int, o *Options) error {
	m, err := openMachine(index, o, b.log)
	if err != nil {
		return err
	}
	b.machines = append(b.machines, m)
	b.log.Info("GPU opened", "device", m.d.Info().String(), "memory", device.FormatBytes(m.d.Usage().Budget), "assembled", m.assembled())
	return nil
}

// leftOut returns why devices are not used, or nil.
func (b *Backend) leftOut() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) == 0 {
		return nil
	}
	return slices.Clone(b.left)
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

// Describe names the devices in use as the driver does. The costs are EstimatedCosts, the limits those of
// the kernels.
func (b *Backend) Describe() backend.Description {
	names := make([]string, len(b.machines))
	for i, m := range b.machines {
		names[i] = m.d.Info().Name
	}
	return backend.Description{Device: strings.Join(names, ", "), Costs: EstimatedCosts(), Capacity: limits()}
}

// Load copies c to the device, or distributes it over several. Those that lack the memory for their part, or
// are lost, are left out for c, with a warning, as long as another one remains.
func (b *Backend) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil, backend.ErrClosed
	}
	if c.Float64() {
		return nil, fmt.Errorf("devices: %w", collection.ErrFloat64)
	}
	for machines := b.machines; ; {
		r, failed, err := loadShards(ctx, machines, c)
		if err == nil {
			return r, nil
		}
		rest, left := withoutFailed(machines, failed)
		if len(rest) == 0 || len(left) == 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("loading %d vectors of dimension %d: %w", c.N, c.Dim, err)
		}
		b.leaveOut(left)
		machines = rest
	}
}

// withoutFailed returns the machines but those that lack memory or are lost, and why these do; failed has the
// error of each of the first machines.
func withoutFailed(machines []*machine, failed []error) (rest []*machine, left unusable) {
	for k, m := range machines {
		if k < len(failed) && (errors.Is(failed[k], backend.ErrMemory) || errors.Is(failed[k], backend.ErrUnavailable)) {
			left = append(left, fmt.Errorf("device %d (%s): %w", m.d.Info().Index, m.d.Info().Name, failed[k]))
			continue
		}
		rest = append(rest, m)
	}
	return rest, left
}

// leaveOut notes why devices hold no part of a collection.
func (b *Backend) leaveOut(left unusable) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, why := range left {
		b.log.Warn("a GPU is left out for a collection", "reason", why)
		if !slices.ContainsFunc(b.left, func(err error) bool { return err.Error() == why.Error() }) {
			b.left = append(b.left, why)
		}
	}
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

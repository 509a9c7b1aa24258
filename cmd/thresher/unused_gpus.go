package main

import (
	"context"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/gpu"
	"thresher/gpu/device"
	"thresher/internal/cli"
)

// card is the GPUs of backend auto, if some of them can be used.
type card struct {
	backend backend.Backend
	costs   *backend.Costs // nil means the backend's own
}

// openCard opens the GPUs for backend auto and measures their costs. card is nil if none can be used: then
// unused is why, of a machine without GPUs too. The error is ctx's.
func (a *app) openCard(ctx context.Context) (c *card, unused, err error) {
	b, err := a.openGPUs()
	if err != nil {
		a.Log.Debug("no GPU", "reason", err)
		return nil, err, nil
	}
	costs, err := a.costs(ctx, b)
	if err == nil {
		return &card{b, costs}, nil, nil
	}
	err = fmt.Errorf("%s: %w", backend.Describe(b).Device, err)
	a.closeUnused(b)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return nil, err, nil
}

// closeUnused closes GPUs that nothing was loaded on. An error of theirs is logged: the CPU goes on.
func (a *app) closeUnused(b backend.Backend) {
	if err := b.Close(); err != nil {
		a.Log.Warn("a GPU was closed with an error", "error", err)
	}
}

// unusedGPUs says of each GPU that is there and does not search why, and what to do about it, by the errors
// for which it does not.
func unusedGPUs(reasons ...error) []string {
	var said []string
	for _, err := range reasons {
		for _, s := range gpu.Reasons(err) {
			if !slices.Contains(said, s) {
				said = append(said, s)
			}
		}
	}
	return said
}

// printUnusedGPUs adds the sentences of unusedGPUs to a summary.
func printUnusedGPUs(t *cli.Table, said []string) {
	for _, s := range said {
		t.Row("unused gpu", s)
	}
}

// usableGPUs describes the GPUs that the kernels can run on, and returns why others, or all, are not used. It
// opens none, so it does not know whether one is full or busy.
func usableGPUs() (names []string, unused []error) {
	infos, err := device.Devices()
	if err != nil {
		return nil, []error{err}
	}
	infos = slices.DeleteFunc(infos, func(i device.Info) bool {
		err := i.Usable()
		if err != nil {
			unused = append(unused, err)
		}
		return err != nil
	})
	return describeGPUs(infos), unused
}

// describeGPUs returns a line for each.
func describeGPUs(infos []device.Info) []string {
	lines := make([]string, len(infos))
	for k, i := range infos {
		lines[k] = i.String()
	}
	return lines
}

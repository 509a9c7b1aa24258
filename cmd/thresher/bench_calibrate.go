package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/internal/cli"
)

// calibrate measures the costs of this machine again, caches them and prints them next to the
// built-in and the previously cached ones.
func (a *app) calibrate(ctx context.Context, asJSON bool) error {
	b, err := a.openBackend()
	if err != nil {
		return err
	}
	defer b.Close()
	describer, ok := b.(backend.Describer)
	if !ok {
		return fmt.Errorf("bench: --calibrate: backend %s has no costs to measure", b.Name())
	}
	path, err := costsCache()
	var kept []machineCosts
	if err == nil {
		kept, err = readCache(path)
	}
	if err != nil {
		a.Log.Warn("cached costs of this machine cannot be read", "error", err)
	}
	machine := thisMachine(b)
	before := slices.IndexFunc(kept, machine.of)
	measured, err := describer.Measure(ctx)
	if err != nil && b.Name() != backendCPU {
		return cudaUnusable(err)
	}
	if err != nil {
		return err
	}
	var old *backend.Costs
	if before >= 0 {
		costs := kept[before].Costs
		old = &costs
	}
	machine.Costs = measured
	a.keepCosts(path, kept, machine)
	if asJSON {
		e := json.NewEncoder(a.Out)
		e.SetIndent("", "  ")
		return e.Encode(machine)
	}
	return a.printCosts(machine, describer.Describe().Costs, old)
}

// printCosts prints figures in ns.
func (a *app) printCosts(machine machineCosts, builtin backend.Costs, before *backend.Costs) error {
	fmt.Fprintf(a.Out, "%s, backend %s, kernels %s: ns of one core\n", machine.CPU, machine.Backend, machine.Kernels)
	t := cli.NewTable(a.Out)
	t.Row("COST", "BUILT IN", "BEFORE", "NOW", "OF")
	builtins, now := builtin.Table(), machine.Costs.Table()
	for i, x := range now {
		old := "-"
		if before != nil {
			old = fmt.Sprintf("%.3g", before.Table()[i].Value)
		}
		t.Row(x.Name, fmt.Sprintf("%.3g", builtins[i].Value), old, fmt.Sprintf("%.3g", x.Value), x.Meaning)
	}
	return t.Flush()
}

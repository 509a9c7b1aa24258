package backend

import "context"

// Describer is a Backend that describes its device, its costs and its limits. Function Describe accepts
// every Backend.
type Describer interface {
	Backend
	// Describe returns the same description at every call.
	Describe() Description
	// Measure times the kernels on this machine, which takes some hundred milliseconds of
	// one core. It fails if ctx ends before.
	Measure(ctx context.Context) (Costs, error)
}

// Description describes a backend's device.
type Description struct {
	// Device names the device: the instruction set of a CPU's kernels, or the names of
	// the GPUs. Costs measured on one device do not apply to another.
	Device string
	// Threads is how many goroutines compute at once; 0 for a GPU.
	Threads int
	// Costs are built-in costs, the same on every machine with this Device.
	Costs Costs
	// Capacity is the greatest sizes that the backend takes.
	Capacity Capacity
}

// Describe returns the description of b. If b is not a Describer, only Costs and Capacity are set, to
// Portable and PortableCapacity.
func Describe(b Backend) Description {
	if d, ok := b.(Describer); ok {
		return d.Describe()
	}
	return Description{Costs: Portable(), Capacity: PortableCapacity()}
}

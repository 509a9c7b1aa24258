package backend

import "context"

// Describer is a Backend that says what it computes with and what its work costs, for
// planners and for people. Describe serves those who have any Backend.
type Describer interface {
	Backend
	// Describe returns the same at every call.
	Describe() Description
	// Measure times the kernels on this machine; it takes some hundred milliseconds of
	// one core. It fails when ctx ends before.
	Measure(ctx context.Context) (Costs, error)
}

// Description is what a backend computes with.
type Description struct {
	// Device names it: the instruction set of a processor's kernels, or the graphics
	// cards as their driver calls them. Costs measured on one hold for no other.
	Device string
	// Threads is how many goroutines compute at once; 0 for a graphics card, which has
	// no such number.
	Threads int
	// Costs are figures kept with the program, the same on every machine with this
	// Device.
	Costs Costs
}

// Describe returns the description of b; of one that is no Describer nothing is known
// but Portable costs.
func Describe(b Backend) Description {
	if d, ok := b.(Describer); ok {
		return d.Describe()
	}
	return Description{Costs: Portable()}
}

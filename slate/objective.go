package slate

import "math"

// Objective is a family of d known functions f_1..f_d of lists of n items, each
// monotone, submodular and 0 for the empty list. It does not change and may be
// used by many goroutines at once.
type Objective interface {
	// Size is n.
	Size() int
	// Features is d.
	Features() int
	// Bound is the largest ||x(e|S)||_2 of any item and list, the paper's A. By
	// submodularity it is that of the empty list.
	Bound() float64
	// NewList returns an empty list.
	NewList() List
}

// List is a list in the making. It belongs to one goroutine.
type List interface {
	// Gains writes what item e would add to each f_i into dst, d numbers >= 0:
	// x(e|S) = (f_1(S+e)-f_1(S), .., f_d(S+e)-f_d(S)). It does not allocate.
	Gains(dst []float64, e int)
	// Append puts item e at the end.
	Append(e int)
	// Reset empties the list.
	Reset()
}

// Separable is an Objective whose gains are x(e|S) = x_e * r(S), coordinate by
// coordinate: an item's own vector and a residual of the list. Mean gains of all
// items are then one product of the matrix of vectors with theta * r(S).
type Separable interface {
	Objective
	// Vectors are the n*d numbers x_e, row-major; not to be changed.
	Vectors() []float64
	// Shrink turns r(S) into r(S+e). The residual of the empty list is all ones.
	Shrink(residual []float64, e int)
}

// widest is the largest norm of a gain of the empty list.
func widest(o Objective) float64 {
	l := o.NewList()
	x := make([]float64, o.Features())
	best := 0.0
	for e := range o.Size() {
		l.Gains(x, e)
		best = max(best, dot(x, x))
	}
	return math.Sqrt(best)
}

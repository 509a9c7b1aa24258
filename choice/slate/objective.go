package slate

import "math"

// Objective is a family of d known functions f_1..f_d of lists of n items, each monotone,
// submodular and 0 for the empty list. It is immutable and safe for concurrent use.
type Objective interface {
	// Size returns n.
	Size() int
	// Features returns d.
	Features() int
	// Bound returns the largest ||x(e|S)||_2 over items and lists, the paper's A. By
	// submodularity it is attained for the empty list.
	Bound() float64
	// NewList returns an empty list.
	NewList() List
}

// List is a list being built. It is not safe for concurrent use.
type List interface {
	// Gains writes what item e would add to each f_i to dst, d numbers >= 0:
	// x(e|S) = (f_1(S+e)-f_1(S), .., f_d(S+e)-f_d(S)). It does not allocate.
	Gains(dst []float64, e int)
	// Append appends item e.
	Append(e int)
	// Reset empties the list.
	Reset()
}

// Separable is an Objective with gains x(e|S) = x_e * r(S), coordinate by coordinate: the
// product of an item's vector and a residual of the list. The mean gains of all items are
// then one product of the matrix of vectors with theta * r(S).
type Separable interface {
	Objective
	// Vectors returns the n*d numbers x_e, row-major; they must not be changed.
	Vectors() []float64
	// Shrink turns r(S) into r(S+e). The residual of the empty list is all ones.
	Shrink(residual []float64, e int)
}

// widest returns the largest norm of a gain of the empty list.
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

package cpu

import (
	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// limits are those of every set of kernels. First looks sum the products of a row in int32, and so do
// looks at signs; wider rows of codes are summed in pieces (boundWideCodes).
func limits() backend.Capacity {
	l := backend.Capacity{Atoms: collection.MaxAtoms, Dim: collection.MaxDim}
	l.Read[backend.Panels], l.Read[backend.Mixed], l.Read[backend.Signs] = simd.MaxScan, simd.MaxScan, simd.MaxScan
	l.Read[backend.RowCodes], l.Read[backend.Float32] = backend.Unlimited, backend.Unlimited
	return l
}

// checkLook returns an error if a look at c is too wide.
func checkLook(l backend.Look, c *collection.Collection) error {
	most := limits()
	return most.CheckLook(l, c.R)
}

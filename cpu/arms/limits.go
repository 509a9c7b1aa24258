package arms

import (
	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// Limits are those of every set of kernels. First looks sum the products of a row in int32, and so do
// looks at signs; wider rows of codes are summed in pieces (revisit).
func Limits() backend.Capacity {
	l := backend.Capacity{Atoms: collection.MaxAtoms, Dim: collection.MaxDim}
	l.Read[backend.Panels], l.Read[backend.Mixed], l.Read[backend.Signs] = simd.MaxScan, simd.MaxScan, simd.MaxScan
	l.Read[backend.SignPanels] = simd.MaxSignPanel
	l.Read[backend.RowCodes], l.Read[backend.Float32] = backend.Unlimited, backend.Unlimited
	return l
}

// CheckLook returns an error if a look at c is too wide.
func CheckLook(l backend.Look, c *collection.Collection) error {
	limits := Limits()
	return limits.CheckLook(l, c.R)
}

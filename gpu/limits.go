//go:build cuda && cgo

package gpu

import (
	"thresher/backend"
	"thresher/collection"
)

// maxScanLook and maxRowLook are the greatest numbers of codes of an atom, those of the head included,
// whose products a first look and a later one sum in int32.
const maxScanLook, maxRowLook = 1 << 16, 1 << 20

// limits are those of the kernels. No kernel looks at float32 coordinates.
func limits() backend.Capacity {
	l := backend.Capacity{Atoms: collection.MaxAtoms, Dim: collection.MaxDim}
	l.Read[backend.Panels], l.Read[backend.Mixed] = maxScanLook, maxScanLook
	l.Read[backend.RowCodes], l.Read[backend.Signs] = maxRowLook, maxRowLook
	return l
}

//go:build (amd64 || arm64) && !noasm && !purego

package simd

import "unsafe"

// rowsAfter returns how far after a panel the 64 rows lie that follow those that it was made of, if
// a panel of them has as many bytes. Otherwise, or if there are none, it is 0.
func rowsAfter(panel, rows []uint8, stride int) int {
	if size := PanelLanes * stride; len(panel) == size && len(rows) > size {
		return int(uintptr(unsafe.Pointer(&rows[size])) - uintptr(unsafe.Pointer(&panel[0])))
	}
	return 0
}

//go:build (amd64 || arm64) && !noasm && !purego

package simd

import (
	"math"
	"unsafe"
)

// fetched is about how many bytes of rows are on their way to the caches while
// one is summed.
const fetched = 8192

// last is the greatest index of x that a uint32 holds; x is not empty.
func last(x []float32) uint32 { return uint32(min(len(x)-1, math.MaxUint32)) }

// fwhtVisit is the longest block the kernels transform.
const fwhtVisit = 256

func (l Level) fwhtScale(x, sign []float32, block int, f float32) {
	if l == Generic || block < 16 || len(x)%block != 0 {
		fwhtScale(x, sign, block, f)
		return
	}
	if block <= fwhtVisit {
		l.fwhtBlocks(x, unsafe.SliceData(sign), block, f)
		return
	}
	l.fwhtBlocks(x, unsafe.SliceData(sign), fwhtVisit, 1)
	for at := 0; at < len(x); at += block {
		stages(x[at:at+block], fwhtVisit)
	}
	scale(x, f)
}

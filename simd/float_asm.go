//go:build (amd64 || arm64) && !noasm && !purego

package simd

import (
	"math"
	"unsafe"
)

// fetched is roughly how many bytes of rows are prefetched ahead of the row being summed.
const fetched = 8192

// cachedRows is the size of all rows up to which they are assumed to be in a cache, where it takes
// longer to prefetch them than to wait for them.
const cachedRows = 8 << 20

// last returns the greatest index of x that fits a uint32; x is not empty.
func last(x []float32) uint32 { return uint32(min(len(x)-1, math.MaxUint32)) }

// fwhtVisit is the longest block the assembly transforms.
const fwhtVisit = 256

func (kern Kernels) fwhtScale(x, sign []float32, block int, f float32) {
	if kern == Generic || block < 16 || len(x)%block != 0 {
		fwhtScale(x, sign, block, f)
		return
	}
	if block <= fwhtVisit {
		kern.fwhtBlocks(x, unsafe.SliceData(sign), block, f)
		return
	}
	kern.fwhtBlocks(x, unsafe.SliceData(sign), fwhtVisit, 1)
	for at := 0; at < len(x); at += block {
		butterflies(x[at:at+block], fwhtVisit)
	}
	scale(x, f)
}

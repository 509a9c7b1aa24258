package simd

import (
	"fmt"
	"math"
	"math/bits"
)

// drainingQueries is the least number of queries for which the assembly is faster than the loop.
const drainingQueries = 4

// Drain appends the atoms that a Scan of a panel selected to one list per query. Query q's list
// is the first counts[q] entries of ids[q*stride:] and of bounds[q*stride:]. For each bit i that
// is set in masks[q], lowest first, Drain appends base + i to the ids and values[64 q + i] +
// add[q] to the bounds, and increments counts[q]. All instruction sets agree bit for bit.
//
// Every list must have room for 64 more entries before the call, however few are appended:
// Drain may overwrite all of them. It panics at the first list without that room, after
// completing the lists before it and before changing any later one.
func (kern Kernels) Drain(ids []uint32, bounds []float32, stride int, counts []int32, masks []uint64, values []float32,
	base uint32, add []float32) {
	n, room := len(masks), stride-PanelLanes
	ids, bounds, counts = ids[:n*stride], bounds[:n*stride], counts[:n]
	values, add = values[:PanelLanes*n], add[:n]
	from := 0
	if kern != Generic && n >= drainingQueries && room >= 0 {
		from = drainBlocks(ids, bounds, stride, counts, int32(min(room, math.MaxInt32)), masks, values, base, add)
	}
	for q := from; q < n; q++ {
		k, mask := int(counts[q]), masks[q]
		if k < 0 || k > room {
			panic(fmt.Sprintf("drain: list %d holds %d entries of %d, want room for %d more", q, k, stride, PanelLanes))
		}
		if mask == 0 {
			continue
		}
		toIDs, toBounds, panel := ids[q*stride:][:stride], bounds[q*stride:][:stride], values[PanelLanes*q:][:PanelLanes]
		for ; mask != 0; mask &= mask - 1 {
			i := bits.TrailingZeros64(mask)
			toIDs[k], toBounds[k] = base+uint32(i), panel[i]+add[q]
			k++
		}
		counts[q] = int32(k)
	}
}

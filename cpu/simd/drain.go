package simd

import (
	"fmt"
	"math"
	"math/bits"
)

// Drain appends what a Scan selected to lists, one a query: query q's list are
// the counts[q] entries of ids and of bounds from q*stride on. For each bit i of
// masks[q], lowest first, base + i goes to its ids, values[64 q + i] + add[q] to
// its bounds, and counts[q] goes up by one. All levels agree bit for bit.
//
// ids and bounds have stride entries a query, of which each list has 64 left
// before the call, whatever it gets: Drain may write to them all. It panics when
// a list has fewer.
func (l Level) Drain(ids []uint32, bounds []float32, stride int, counts []int32, masks []uint64, values []float32,
	base uint32, add []float32) {
	n, room := len(masks), stride-panelLanes
	if n == 0 {
		return
	}
	ids, bounds, counts = ids[:n*stride], bounds[:n*stride], counts[:n]
	values, add = values[:panelLanes*n], add[:n]
	done := 0
	if room >= 0 {
		done = l.drain(ids, bounds, stride, counts, int32(min(room, math.MaxInt32)), masks, values, base, add)
	}
	for q, c := range counts[done:] {
		if c < 0 || int(c) > room {
			panic(fmt.Sprintf("drain: list %d holds %d entries of %d, want room for %d more", done+q, c, stride, panelLanes))
		}
	}
}

// drainGeneric drains all lists, or none when one holds more than room entries;
// it returns how many.
func drainGeneric(ids []uint32, bounds []float32, stride int, counts []int32, room int32, masks []uint64, values []float32,
	base uint32, add []float32) int {
	for _, c := range counts {
		if c < 0 || c > room {
			return 0
		}
	}
	for q, mask := range masks {
		if mask == 0 {
			continue
		}
		n, from := counts[q], values[panelLanes*q:][:panelLanes]
		toIDs, toBounds := ids[q*stride:][:stride], bounds[q*stride:][:stride]
		for ; mask != 0; mask &= mask - 1 {
			i := bits.TrailingZeros64(mask)
			toIDs[n], toBounds[n] = base+uint32(i), from[i]+add[q]
			n++
		}
		counts[q] = n
	}
	return len(masks)
}

package simd

import (
	"fmt"
	"math"
	"math/bits"
)

// drainingQueries is the number of queries from which a kernel is worth its call.
const drainingQueries = 4

// Drain appends what a Scan selected to lists, one a query: query q's list are
// the counts[q] entries of ids and of bounds from q*stride on. For each bit i of
// masks[q], lowest first, base + i goes to its ids, values[64 q + i] + add[q] to
// its bounds, and counts[q] goes up by one. All levels agree bit for bit.
//
// ids and bounds have stride entries a query, of which each list has 64 left
// before the call, whatever it gets: Drain may write to them all. At a list that
// has fewer it panics, when those before have got theirs and no other has.
func (l Level) Drain(ids []uint32, bounds []float32, stride int, counts []int32, masks []uint64, values []float32,
	base uint32, add []float32) {
	n, room := len(masks), stride-panelLanes
	ids, bounds, counts = ids[:n*stride], bounds[:n*stride], counts[:n]
	values, add = values[:panelLanes*n], add[:n]
	from := 0
	if l != Generic && n >= drainingQueries && room >= 0 {
		from = drainBlocks(ids, bounds, stride, counts, int32(min(room, math.MaxInt32)), masks, values, base, add)
	}
	for q := from; q < n; q++ {
		k, mask := int(counts[q]), masks[q]
		if k < 0 || k > room {
			panic(fmt.Sprintf("drain: list %d holds %d entries of %d, want room for %d more", q, k, stride, panelLanes))
		}
		if mask == 0 {
			continue
		}
		toIDs, toBounds, of := ids[q*stride:][:stride], bounds[q*stride:][:stride], values[panelLanes*q:][:panelLanes]
		for ; mask != 0; mask &= mask - 1 {
			i := bits.TrailingZeros64(mask)
			toIDs[k], toBounds[k] = base+uint32(i), of[i]+add[q]
			k++
		}
		counts[q] = int32(k)
	}
}

package simd

import "fmt"

// Drain appends what a Scan selected to lists, one a query: entries q*stride to
// q*stride + counts[q] of ids and bounds are query q's list. For every bit i of
// masks[q], lowest first, base + i goes to its ids and values[64 q + i] + add[q]
// to its bounds, and counts[q] goes up by one. ids and bounds have stride
// entries a query, values 64. Each list has room for 64 entries before the call,
// counts[q] + 64 <= stride, which Drain may write whatever their number; it
// panics, with nothing written, when one has not.
func (l Level) Drain(ids []uint32, bounds []float32, stride int, counts []int32, masks []uint64, values []float32,
	base uint32, add []float32) {
	n := len(masks)
	if n == 0 {
		return
	}
	counts, add, values = counts[:n], add[:n], values[:panelLanes*n]
	ids, bounds = ids[:n*stride], bounds[:n*stride]
	checkRoom(counts, stride)
	drainGeneric(ids, bounds, stride, counts, masks, values, base, add)
}

// checkRoom panics unless every list has room for a panel's lanes.
func checkRoom(counts []int32, stride int) {
	room := stride - panelLanes
	wrong := 0 // negative once a count is, or room less a count
	for _, c := range counts {
		wrong |= int(c) | (room - int(c))
	}
	if wrong >= 0 {
		return
	}
	for q, c := range counts {
		if c < 0 || int(c) > room {
			panic(fmt.Sprintf("simd: Drain: list %d holds %d entries of %d, want room for %d", q, c, stride, panelLanes))
		}
	}
}

func drainGeneric(ids []uint32, bounds []float32, stride int, counts []int32, masks []uint64, values []float32,
	base uint32, add []float32) {
	for q, mask := range masks {
		if mask == 0 {
			continue
		}
		n := int(counts[q])
		n += collectGeneric(ids[q*stride+n:], bounds[q*stride+n:], mask, (*[panelLanes]float32)(values[panelLanes*q:]), base, add[q])
		counts[q] = int32(n)
	}
}

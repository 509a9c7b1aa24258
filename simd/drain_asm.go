//go:build (amd64 || arm64) && !noasm && !purego

package simd

// drainBlock is the most queries one call of the assembly takes.
const drainBlock = 256

// drainBlocks drains block after block and stops at the first block with a list of
// more than room entries. It returns the number of queries drained.
func drainBlocks(ids []uint32, bounds []float32, stride int, counts []int32, room int32, masks []uint64, values []float32,
	base uint32, add []float32) int {
	n := len(masks)
	for q := 0; q < n; q += drainBlock {
		if !drainLists(&ids[q*stride], &bounds[q*stride], stride, &counts[q], room, &masks[q], &values[PanelLanes*q], base, &add[q],
			min(n-q, drainBlock)) {
			return q
		}
	}
	return n
}

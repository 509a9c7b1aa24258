//go:build !noasm && !purego

package simd

// drainLists drains n queries, unless a list has more than room entries.
func drainLists(ids *uint32, bounds *float32, stride int, counts *int32, room int32, masks *uint64, values *float32,
	base uint32, add *float32, n int) bool {
	return drainAVX2(ids, bounds, stride, counts, room, masks, values, base, add, n)
}

//go:build !amd64 || noasm || purego

package simd

func (Level) drain(ids []uint32, bounds []float32, stride int, counts []int32, room int32, masks []uint64, values []float32,
	base uint32, add []float32) int {
	return drainGeneric(ids, bounds, stride, counts, room, masks, values, base, add)
}

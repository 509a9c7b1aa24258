//go:build (!amd64 && !arm64) || noasm || purego

package simd

// drainBlocks drains no queries: there is no assembly.
func drainBlocks([]uint32, []float32, int, []int32, int32, []uint64, []float32, uint32, []float32) int {
	return 0
}

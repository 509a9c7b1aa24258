//go:build (amd64 || arm64) && !noasm && !purego

package simd

// How far ahead rows are prefetched: a number of bytes, within limits in rows. On
// amd64, half or twice as much changes the rate of reading from memory hardly at all.
const (
	nearBytes, fewestNear, mostNear = 10 << 10, 4, 12
	farBytes, fewestFar, mostFar    = 40 << 10, 8, 48
	// cachedCodes is the size up to which codes are assumed to be in the level-2 cache,
	// where prefetching more than the next rows only costs time.
	cachedCodes = 1 << 20
)

// rowsAhead returns how many rows ahead of those being summed are prefetched to the
// level-1 and to the level-2 cache. codes is the bytes of all rows, size of one.
func rowsAhead(codes, size int) (near, far int) {
	if codes <= cachedCodes {
		return fewestNear, 0
	}
	return min(max(nearBytes/size, fewestNear), mostNear), min(max(farBytes/size, fewestFar), mostFar)
}

//go:build (amd64 || arm64) && !noasm && !purego

package simd

// What is fetched ahead, in bytes of rows and in rows: on amd64 the rate at which
// rows come from memory hardly changes from half of these to twice them.
const (
	nearBytes, fewestNear, mostNear = 10 << 10, 4, 12
	farBytes, fewestFar, mostFar    = 40 << 10, 8, 48
	// cachedCodes is the size up to which codes are taken to be in the second
	// cache, where fetching more than the next rows only takes time.
	cachedCodes = 1 << 20
)

// rowsAhead is how many rows ahead of those being summed rows of size codes are
// fetched to the first cache, and to the second.
func rowsAhead(codes, size int) (near, far int) {
	if codes <= cachedCodes {
		return fewestNear, 0
	}
	return min(max(nearBytes/size, fewestNear), mostNear), min(max(farBytes/size, fewestFar), mostFar)
}

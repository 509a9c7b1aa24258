package cpu

import (
	"math"

	"thresher/bandit"
	"thresher/simd"
)

const (
	// sampledBounds is the number of bounds of a list between which its k-th greatest is sought, and
	// up to which all are sorted.
	sampledBounds = 64
	// sampleReach is how many places of a sample are taken on either side of the place where the
	// k-th greatest is expected. The standard deviation is at most 4, for k in the middle.
	sampleReach = 8
	// spareReach is the same where some more than the k greatest may be taken.
	spareReach = 6
)

// sample are bounds of a list by their keys, ascending.
type sample [sampledBounds]int32

// floatKey returns an integer that grows with x, which is not NaN; both zeros have the same.
func floatKey(x float32) int32 {
	b := int32(math.Float32bits(x + 0)) // -0 + 0 is +0
	return b ^ int32(uint32(b>>31)>>1)
}

// keyFloat returns the number of a key.
func keyFloat(k int32) float32 { return math.Float32frombits(uint32(k ^ int32(uint32(k>>31)>>1))) }

// sort sorts keys by bitonic merges, whose comparisons do not depend on the keys: there is no
// branch to predict.
func (s *sample) sort() {
	for size := 2; size <= sampledBounds; size *= 2 {
		for gap := size / 2; gap > 0; gap /= 2 {
			for i := 0; i < sampledBounds; i += 2 * gap {
				for j := i; j < i+gap; j++ {
					k := j + gap
					if gap == size/2 { // the second half of a block mirrors the first
						k = 2*i + size - 1 - j
					}
					a, b := s[j&(sampledBounds-1)], s[k&(sampledBounds-1)]
					s[j&(sampledBounds-1)], s[k&(sampledBounds-1)] = min(a, b), max(a, b)
				}
			}
		}
	}
}

// take takes all of up to sampledBounds bounds, or as many as that from equal distances.
func (s *sample) take(bounds []float32) {
	n := len(bounds)
	if n <= sampledBounds {
		for k := range s {
			s[k] = math.MinInt32
		}
		for k, b := range bounds {
			s[k] = floatKey(b)
		}
	} else {
		for k := range s {
			s[k] = floatKey(bounds[(2*k+1)*n/(2*sampledBounds)])
		}
	}
	s.sort()
}

// kthBound returns the k-th greatest bound of list, 1 <= k <= len(list.ids). Bounds are finite.
func (w *scratch) kthBound(kern simd.Kernels, list survivors, k int) float32 {
	// The part of the list near the k-th greatest is in the two of w.parts by turns.
	for turn := 0; len(list.ids) > sampledBounds; turn ^= 1 {
		w.sample.take(list.bounds)
		at := sampledBounds - k*sampledBounds/len(list.ids) // its place in the sample, ascending
		lo, hi := float32(math.Inf(-1)), float32(math.Inf(1))
		if at > sampleReach {
			lo = keyFloat(w.sample[at-sampleReach-1])
		}
		if at+sampleReach < sampledBounds {
			hi = keyFloat(w.sample[at+sampleReach])
		}
		part := &w.parts[turn]
		part.truncate(0)
		part.appendSelected(kern, list, hi, float32(math.Inf(1)))
		above := len(part.ids)
		part.truncate(0)
		part.appendSelected(kern, list, lo, hi)
		if above >= k || above+len(part.ids) < k || len(part.ids) > len(list.ids)*3/4 {
			return w.kthByHistogram(list.bounds, k) // an unlikely sample, or many are equal
		}
		list, k = *part, k-above
	}
	w.sample.take(list.bounds)
	return keyFloat(w.sample[sampledBounds-k])
}

// kthByHistogram returns the k-th greatest of bounds, 1 <= k <= len(bounds), without NaN.
func (w *scratch) kthByHistogram(bounds []float32, k int) float32 {
	w.scores = grow(w.scores, len(bounds))
	for i, b := range bounds {
		w.scores[i] = float64(b)
	}
	return float32(bandit.KthLargest(w.scores, k))
}

// best returns the entries of list with the k greatest bounds, 1 <= k <= len(list.ids), and ties.
// Unless exactly is set there may be up to about a fifth of the list more. The scratch owns the
// result.
func (w *scratch) best(kern simd.Kernels, list survivors, k int, exactly bool) survivors {
	part := &w.parts[0]
	if !exactly && len(list.ids) > sampledBounds {
		w.sample.take(list.bounds)
		if at := sampledBounds - k*sampledBounds/len(list.ids) - spareReach - 1; at >= 0 {
			part.truncate(0)
			part.appendSelected(kern, list, keyFloat(w.sample[at]), float32(math.Inf(1)))
			if len(part.ids) >= k {
				return *part
			}
		}
	}
	least := w.kthBound(kern, list, k)
	part.truncate(0)
	part.appendSelected(kern, list, least, float32(math.Inf(1)))
	return *part
}

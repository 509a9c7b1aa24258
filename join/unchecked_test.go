package join

import (
	"context"
	"testing"

	"thresher/backend/backendtest"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestClustersCheckOften: finding the nearest centres ends within maxUnchecked pairs of the end of its
// context.
func TestClustersCheckOften(t *testing.T) {
	const r, centres, points = 8, maxClusters, 1000
	rng := vectors.Rand(4)
	b := &neighbourhoods{kern: simd.Best(), threads: 1, r: r, centres: vectors.Gaussian(rng, centres, r)}
	heads := vectors.Gaussian(rng, points, r)
	const unset = ^uint32(0)
	for checks := range 4 {
		of := make([]uint32, points)
		for i := range of {
			of[i] = unset
		}
		b.nearest(backendtest.NewCountdown(checks, context.Canceled), of, heads)
		done := 0
		for done < points && of[done] != unset {
			done++
		}
		if pairs := done * centres; pairs > checks*maxUnchecked || checks > 0 && done == 0 {
			t.Errorf("%d checks: %d pairs were compared, at most %d between two", checks, pairs, maxUnchecked)
		}
	}
}

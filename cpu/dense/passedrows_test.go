package dense

import (
	"math/rand/v2"
	"slices"
	"testing"
	"thresher/cpu/arms"
	_ "thresher/internal/draws"

	"pgregory.net/rapid"

	"thresher/cpu/topk"
	"thresher/internal/vectors"
	"thresher/simd"
)

func TestTransposeBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x [64]uint64
	for i := range x {
		x[i] = r.Uint64()
	}
	got := x
	transposeBits(&got)
	for i := range x {
		for j := range x {
			if got[i]>>j&1 != x[j]>>i&1 {
				t.Fatalf("bit %d of word %d is not bit %d of word %d before", j, i, i, j)
			}
		}
	}
}

// TestAddPassed: the rows that pass are listed with their bounds, in ascending order for each query,
// whether few or many pass, and whether all rows are read or those of a list.
func TestAddPassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kern := rapid.SampledFrom(simd.Available()).Draw(t, "kernels")
		n, m := rapid.IntRange(1, tileRows).Draw(t, "rows"), rapid.IntRange(1, maxQueries).Draw(t, "queries")
		width := (m + simd.PanelStep - 1) / simd.PanelStep * simd.PanelStep
		share := rapid.SampledFrom([]float64{0, .01, .1, 1}).Draw(t, "share")
		rng := vectors.Rand(rapid.Uint64().Draw(t, "seed"))
		s := &tests{dots: vectors.Gaussian(rng, n, width), masks: make([]uint64, n)}
		terms := vectors.Gaussian(rng, 3, n)
		scale, size, offset := terms[:n], terms[n:2*n], terms[2*n:]
		x, js := &Scans{queries: make([]Query, m)}, make([]int, m)
		for e := range js {
			js[e], x.queries[e].Query = e, &arms.Query{Kern: kern}
			s.margin[e], s.factor[e] = rng.Float32(), rng.Float32()
		}
		const lo = 1000
		d := &rowRange{pass: &pass{js: js}}
		if rapid.Bool().Draw(t, "gathered") {
			d.rows = make([]uint32, lo+n)
			for i := range d.rows {
				d.rows[i] = uint32(3*i + rng.IntN(3))
			}
		}
		s.packed, s.width = m, width
		want := make([]topk.Entries, m)
		for i := range s.masks {
			for e := range width { // bits of the padding may be set, too
				if rng.Float64() >= share {
					continue
				}
				s.masks[i] |= 1 << e
				if e < m {
					bound := float32(s.dots[i*width+e]*scale[i]) + float32(s.margin[e]*size[i]) + float32(offset[i]*s.factor[e])
					want[e].IDs, want[e].Bounds = append(want[e].IDs, uint32(d.rowAt(lo+i))), append(want[e].Bounds, bound)
				}
			}
		}
		d.addPassed(x, s, lo, scale, size, offset)
		for e := range js {
			if got := s.pending[e]; !slices.Equal(got.IDs, want[e].IDs) || !slices.Equal(got.Bounds, want[e].Bounds) {
				t.Fatalf("query %d of %d: %v, want %v", e, m, got, want[e])
			}
		}
	})
}

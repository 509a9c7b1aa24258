//go:build cuda && cgo

package gpu

import (
	"context"
	"math"
	"math/rand/v2"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/gpu/device"
)

// trialContent is what atoms and queries of a trial consist of, drawn by a fixed seed. Codes are those of normal
// coordinates, whose greatest of some hundred is about three and a half deviations; rows and queries have norms near 1.
type trialContent struct {
	rows       []float32
	codes      []uint8 // biased
	panels     []int8  // the same, unbiased, as in the slab
	mixedSlab  []uint8
	norms      []float32
	steps      []float32
	directions []float32 // of the head and of the rotation
	order      []uint32
	queries    []float32 // [m][trialDim]
	mixed      []int8    // [m][trialMixed + MixedTerms], packed
}

// trialTile is the most elements of an array that are drawn; longer arrays repeat them.
const trialTile = 1 << 20

// trialDeviation is the standard deviation of codes.
const trialDeviation = looks.MaxCode8 / 3.5

// minTerm is the least magnitude of a code of a term. The products of terms are then at most -32 minTerm^2 together, which is
// eight standard deviations of what the other codes add: every sum is negative.
const minTerm = 64

func newTrialContent(size trialSize) trialContent {
	r := rand.New(rand.NewPCG(25, 1))
	n, m := size.atoms, size.m
	c := trialContent{
		rows: normals(r, min(n*trialDim, trialTile), 1/math.Sqrt(trialDim)), directions: normals(r, trialDim*trialDim, 1/math.Sqrt(trialDim)),
		queries: normals(r, m*trialDim, 1/math.Sqrt(trialDim)), codes: make([]uint8, min(n*(trialHead+trialDim), trialTile)),
		norms: make([]float32, min(n, trialTile)), steps: make([]float32, min(n, trialTile)), order: make([]uint32, n),
	}
	c.panels = make([]int8, len(c.codes))
	for i := range c.codes {
		code := drawCode(r)
		c.codes[i], c.panels[i] = uint8(int(code)+128), code
	}
	for i := range c.norms {
		c.norms[i] = float32(math.Exp(.06 * r.NormFloat64()))
		c.steps[i] = c.norms[i] / (trialDeviation * float32(math.Sqrt(trialDim)))
	}
	for i, row := range r.Perm(n) {
		c.order[i] = uint32(row)
	}
	c.drawMixed(r, n, m)
	return c
}

// drawMixed draws the mixed codes of n atoms, in the order of the slab, and of m queries. Those of terms are positive for atoms and
// negative for queries.
func (c *trialContent) drawMixed(r *rand.Rand, n, m int) {
	const stride = trialMixed + backend.MixedTerms
	tiles := min((n+mixedSpare+mixedTile-1)/mixedTile, trialTile/(mixedTile*stride))
	c.mixedSlab, c.mixed = make([]uint8, tiles*mixedTile*stride), make([]int8, m*stride)
	for i := range c.mixedSlab {
		if i%(mixedTile*stride)/(mixedTile*mixedPart) < trialMixed/mixedPart {
			c.mixedSlab[i] = uint8(drawCode(r))
		} else {
			c.mixedSlab[i] = uint8(drawTerm(r))
		}
	}
	for i := range c.mixed {
		if i%stride < trialMixed {
			c.mixed[i] = drawCode(r)
		} else {
			c.mixed[i] = -drawTerm(r)
		}
	}
}

// normals returns n normal values of a standard deviation.
func normals(r *rand.Rand, n int, deviation float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(deviation * r.NormFloat64())
	}
	return out
}

// drawCode returns the code of a normal coordinate.
func drawCode(r *rand.Rand) int8 {
	return int8(max(-looks.MaxCode8, min(looks.MaxCode8, math.Round(trialDeviation*r.NormFloat64()))))
}

// drawTerm returns a code of a term, from minTerm to the greatest.
func drawTerm(r *rand.Rand) int8 { return int8(minTerm + r.IntN(looks.MaxCode8-minTerm+1)) }

// fillAtoms allocates r's arrays and t's arrays of atoms, and fills them.
func (c *trialContent) fillAtoms(ctx context.Context, t *trial, r *resident) error {
	n := t.sizes.atoms
	t.mixed = &mixedCodes{mixing: mixing{width: trialMixed}}
	r.rotation, r.codes, r.rows = &rotation{}, &store[uint8]{}, &store[float32]{}
	for _, fill := range []func() error{
		func() error { return fillRepeated(ctx, t.queue, r, &r.norm, n, c.norms) },
		func() error { return fillRepeated(ctx, t.queue, r, &t.steps, n, c.steps) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.order, n, c.order) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.rotation.head, trialHead*trialDim, c.directions) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.rotation.haar, trialDim*trialDim, c.directions) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.slab, n*r.stride, c.panels) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.codes.device, n*(trialHead+trialDim), c.codes) },
		func() error { return fillRepeated(ctx, t.queue, r, &r.rows.device, n*trialDim, c.rows) },
		func() error {
			return fillRepeated(ctx, t.queue, r, &t.mixed.slab, (n+mixedSpare)*(trialMixed+backend.MixedTerms), c.mixedSlab)
		},
	} {
		if err := fill(); err != nil {
			return err
		}
	}
	t.mixed.steps = r.norm
	return nil
}

// fillRepeated allocates n elements and fills them with values, as often as they fit.
func fillRepeated[T any](ctx context.Context, q *queue, r *resident, to **device.Buffer[T], n int, values []T) (err error) {
	if *to, err = allocOnDevice[T](q.t, &r.stores, "synthetic atoms", n); err != nil {
		return err
	}
	for at := 0; at < n; at += len(values) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := (*to).Upload(q.t, at, values[:min(len(values), n-at)]); err != nil {
			return err
		}
	}
	return nil
}

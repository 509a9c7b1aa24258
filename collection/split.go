package collection

import (
	"thresher/bandit"
	"thresher/simd"
)

// kernels are the fastest for this processor, and do all arithmetic of the package. Other
// instruction sets round float32 sums differently, so on another processor codes and prepared
// queries differ within the bounds of Slack and CodeSlack, and answers as the guarantee allows.
var kernels = simd.Best()

const (
	haarChunk  = bandit.HaarChunk              // coordinates of a product with a Haar matrix that are summed one after the other
	headChunk  = bandit.HeadChunk              // coordinates of a head's product that are summed one after the other
	headSpan   = headChunk * bandit.HeadChunks // coordinates summed in float32 before they are added in float64
	slotFloats = 1 << 22                       // most floats in the slots of a splitter
)

// splitter splits vectors into head and rotated rest, up to slots at a time. It belongs to one
// goroutine. For each vector: loadVector into a slot, then splitVectors for all slots, then
// rotateRest. A vector's result does not depend on the others.
type splitter struct {
	t       *transform
	slots   int       // vectors split at a time
	stride  int       // floats from one slot of x to the next
	x       []float32 // [slots][stride] scaled vectors, then their rests
	heads   []float32 // [slots][r]
	partial []float32 // [slots][r]
	sums    []float64 // [slots][r]
	rotated []float32 // with a Haar matrix the rotated rests, [slots][padded(D)]; else scratch of rotate, [D]
}

// slots returns how many of n vectors are split at a time: at most PanelAtoms, and fewer if these
// would have more than slotFloats coordinates.
func (t *transform) slots(n int) int { return min(PanelAtoms, n, max(1, slotFloats/t.dim)) }

// newSplitter returns a splitter for n vectors in all.
func newSplitter(t *transform, n int) *splitter {
	// An odd number of cache lines keeps slots from competing for the same cache sets.
	s := &splitter{t: t, slots: t.slots(n), stride: (t.dim+31)&^31 + 16}
	s.x = make([]float32, s.slots*s.stride)
	s.heads, s.partial, s.sums = make([]float32, s.slots*t.r), make([]float32, s.slots*t.r), make([]float64, s.slots*t.r)
	if t.rounds == 0 {
		s.rotated = make([]float32, s.slots*padded(t.D))
	} else {
		s.rotated = make([]float32, t.D)
	}
	return s
}

// slot returns the vector in slot i, [dim]. Zeros follow it in x up to the stride, which is more
// than D.
func (s *splitter) slot(i int) []float32 { return s.x[i*s.stride:][:s.t.dim] }

// head returns the head of slot i.
func (s *splitter) head(i int) []float32 { return s.heads[i*s.t.r : (i+1)*s.t.r] }

// loadVector sets slot i to f*v, or to f*(v - centre) if centre is not nil.
func (s *splitter) loadVector(i int, v []float32, centre []float64, f float64) {
	x := s.x[i*s.stride : (i+1)*s.stride]
	clear(x[len(v):])
	if centre != nil {
		x = x[:len(v)]
		for j, m := range centre[:len(v)] {
			x[j] = float32((float64(v[j]) - m) * f)
		}
		return
	}
	if f == 1 {
		copy(x, v)
		return
	}
	for len(v) >= 4 {
		a, b := (*[4]float32)(x), (*[4]float32)(v)
		a[0], a[1] = float32(float64(b[0])*f), float32(float64(b[1])*f)
		a[2], a[3] = float32(float64(b[2])*f), float32(float64(b[3])*f)
		x, v = x[4:], v[4:]
	}
	for j, w := range v {
		x[j] = float32(float64(w) * f)
	}
}

// splitVectors computes the heads of the first n slots, U^T v, and replaces each vector v in x by its rest, v - U U^T v. With a Haar matrix it
// rotates the rests too, all together; otherwise rotateRest does.
func (s *splitter) splitVectors(n int) {
	t := s.t
	if t.r > 0 {
		s.computeHeads(n)
		t.minusHead.multiply(s.x, s.stride, s.heads, t.r, n, 0, t.r, true)
	}
	if t.rounds > 0 {
		return
	}
	for from := 0; from < t.dim; from += haarChunk {
		w := min(haarChunk, t.dim-from)
		t.rotation.multiply(s.rotated, padded(t.D), s.x[from:], s.stride, n, from, w, from > 0)
	}
}

// computeHeads computes the heads, U^T v, of the first n slots. Products are summed in float32 within headSpan
// coordinates, and these sums in float64.
func (s *splitter) computeHeads(n int) {
	t, m := s.t, n*s.t.r
	sums := s.sums[:m]
	clear(sums)
	for span := 0; span < t.dim; span += headSpan {
		end := min(span+headSpan, t.dim)
		for from := span; from < end; from += headChunk {
			t.ontoHead.multiply(s.partial, t.r, s.x[from:], s.stride, n, from, min(headChunk, end-from), from > span)
		}
		for i, v := range s.partial[:m] {
			sums[i] += float64(v)
		}
	}
	for i, v := range sums {
		s.heads[i] = float32(v)
	}
}

// rotateRest writes the rotated rest of slot i, [D], to dst. It must be called after splitVectors,
// and only once for each vector, because it may overwrite the slot.
func (s *splitter) rotateRest(dst []float32, i int) {
	t := s.t
	if t.rounds == 0 {
		copy(dst, s.rotated[i*padded(t.D):][:t.D])
		return
	}
	t.rotate(dst, s.x[i*s.stride:][:t.D], s.rotated)
}

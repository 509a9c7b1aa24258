package collection

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/bandit"
	"thresher/internal/race"
)

// apply computes the definition in Rotation's comment in float64. The transform is computed
// as a matrix: entry i, j is 1 if i&j has an even number of bits, else -1.
func (r *Rotation) apply(c *Collection, v []float32, scale float64) (head, rest []float64) {
	x := make([]float64, c.D)
	for i, w := range v {
		x[i] = float64(w) * scale
	}
	head = make([]float64, c.R)
	for k := range head {
		for i, w := range x {
			head[k] += float64(r.Head[k*c.D+i]) * w
		}
	}
	for k, h := range head {
		for i := range x {
			x[i] -= float64(r.Head[k*c.D+i]) * h
		}
	}
	if r.Haar != nil {
		rest = make([]float64, c.D)
		for i := range rest {
			for j, w := range x {
				rest[i] += float64(r.Haar[i*c.D+j]) * w
			}
		}
		return head, rest
	}
	for k, sign := range r.Sign {
		for i := range x {
			x[i] *= float64(sign[i])
		}
		turned, from := make([]float64, c.D), 0
		for _, b := range r.Blocks {
			for i := range b {
				for j := range b {
					turned[from+i] += x[from+j] * float64(1-2*(bits.OnesCount(uint(i&j))&1))
				}
				turned[from+i] /= math.Sqrt(float64(b))
			}
			from += b
		}
		for i, p := range r.Perm[k] {
			x[i] = turned[p]
		}
	}
	return head, x
}

// TestRotationIsWhatPrepareDoes compares Rotation with PrepareBatch: the head to within the
// rounding of its sums and entries, which HeadError counts, and the rest, given the head,
// to within that of the subtraction and the rotation.
func TestRotationIsWhatPrepareDoes(t *testing.T) {
	race.Skip(t, "one goroutine")
	const m = 5
	for _, dim := range []int{16, 17, 40, 81, 100, 144, 256, 257, 300, 512, 769, 1000, 4096} {
		for _, noHead := range []bool{false, true} {
			name := fmt.Sprintf("dimension %d, head %v", dim, !noHead)
			c := build(t, data("powerlaw", 400, dim, 1), dim, &Options{Metric: InnerProduct, NoHead: noHead})
			r := c.Rotation()
			if c.R == 0 && !noHead && dim >= 64 && dim <= 1000 {
				t.Fatalf("%s: no head to test", name)
			}
			q, scale, got := data("gaussian", m, dim, 2), []float64{1, 1, 1, 1, 1}, make([]Query, m)
			c.PrepareBatch(got, q, scale, nil)
			size := math.Sqrt(float64(c.R) * (1 + c.transform.defect))
			headError := bandit.AccumulateError(bandit.HeadChunk+bandit.HeadChunks+1) * size
			restError := bandit.AccumulateError(c.R+1)*(1+size*size) + size*headError
			restError = restError + bandit.RotationError(c.D, len(r.Sign))*(1+restError)
			for j := range got {
				p := &got[j]
				head, rest := r.apply(c, q[j*dim:(j+1)*dim], math.Ldexp(1, -p.Exp))
				if d := floats.Distance(head, wide(p.Head), 2); !(d <= headError*p.Norm) {
					t.Errorf("%s, query %d: the heads differ by %g |q|, allowed %g", name, j, d/p.Norm, headError)
				}
				if d := floats.Distance(rest, wide(p.Rest), 2); !(d <= restError*p.Norm) {
					t.Errorf("%s, query %d: the rests differ by %g |q|, allowed %g", name, j, d/p.Norm, restError)
				}
			}
		}
	}
}

func TestRotationOfNothing(t *testing.T) {
	c := build(t, data("gaussian", 50, 8, 1), 8, &Options{Metric: InnerProduct})
	if r := c.Rotation(); r.Head != nil || r.Haar != nil || r.Sign != nil || r.Perm != nil || r.Blocks != nil {
		t.Errorf("a collection that is not coded has the rotation %+v", r)
	}
}

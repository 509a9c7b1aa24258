//go:build cuda && cgo

package gpu

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// TestListNorms: list_norms lists each atom of a chunk that a query may return and whose norm
// allows the threshold, with an upper bound of its score that is nearly tight; if there is no room
// it sets the flag.
func TestListNorms(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(3, 9))
		const n, lo, m = 1111, 64, 12
		norm, offset, filter := make([]float32, n), make([]float32, n), make([]uint64, ceil(n, 64))
		for i := range norm {
			norm[i] = float32(r.IntN(40)) / 8 // many are equal
			offset[i] = -norm[i] * norm[i] / 2
			if r.IntN(3) > 0 {
				filter[i/64] |= 1 << (i % 64)
			}
		}
		dn, do, df := to(b, norm), to(b, offset), to(b, filter)
		for _, euclidean := range []bool{false, true} {
			for _, room := range []int{1200, 100} {
				states, hidden := make([]query, m), make(hiding, m)
				greatest := func(s *query, i int) float64 {
					v := s.norm * float64(norm[i])
					if euclidean {
						v += math.Ldexp(float64(offset[i]), -int(s.exp))
					}
					return v
				}
				for j := range states {
					s := &states[j]
					s.norm, s.exp, s.listed = 1+float64(j%4)/4, int32(j%3-1), uint32(j%2)
					at := lo + r.IntN(n-lo)
					// the threshold is an atom's bound as the kernel rounds it
					o := 0.0
					if euclidean {
						o = math.Ldexp(float64(offset[at]), -int(s.exp))
					}
					bound := looks.NormBound(s.norm, norm[at], o)
					s.tau = float64(collection.Upward(bound))
					switch j % 6 {
					case 1:
						s.tau = math.Inf(-1)
					case 2:
						s.filter = df.Address()
					case 3:
						hidden[j] = []uint32{lo, uint32(at), n - 1}
						if j > 6 {
							hidden[j], s.from = nil, uint32(at+1)
						}
					case 4:
						s.flags = flagDone
					}
				}
				lists := toLists(b, make([][]arm, m), room)
				atoms := hidden.upload(b, states)
				q, off := to(b, states), device.Ptr(do)
				if !euclidean {
					off = device.Pointer[float32]{}
				}
				b.q.listNorms(device.Shape{Grid: device.Dim{X: m, Y: 2}, Block: device.Dim{X: 256}}, listNormsArgs{
					queries: device.Ptr(q), mask: flagDone | flagDense, value: 0, lo: lo, hi: n, norm: device.Ptr(dn), offset: off,
					lists: lists.table,
				})
				after := from(b, q)
				from(b, atoms)
				full := slices.Clone(after)
				for j := range full {
					full[j].listed = min(full[j].listed, uint32(room))
				}
				got := lists.back(b, full)
				for j := range states {
					s, want := &states[j], 0
					listed := map[uint32]float32{}
					for k, e := range got[j] {
						if k >= int(s.listed) { // the first entries were there before
							listed[e.atom] = e.bound
						}
						if k >= int(s.listed) && e.estimate != e.bound {
							t.Errorf("query %d, atom %d: bound %g, estimate %g", j, e.atom, e.bound, e.estimate)
						}
					}
					over := after[j].flags&flagOverflow != 0
					for i := range uint32(n) {
						v := greatest(s, int(i))
						slack := 1e-5 * (math.Abs(v) + 16)
						bound, in := listed[i]
						may := s.flags == 0 && i >= max(lo, s.from) && !hidden.has(j, int(i)) && (s.filter == 0 || filter[i/64]>>(i%64)&1 == 1)
						switch {
						case in && (!may || float64(bound) < v || float64(bound) > v+slack || bound < float32(s.tau)):
							t.Errorf("query %d, euclidean %v: atom %d of at most %g listed with %g, threshold %g, allowed %v", j, euclidean, i, v, bound, s.tau, may)
						case !in && may && v >= s.tau && !over:
							t.Errorf("query %d, euclidean %v: atom %d of at most %g is not listed, threshold %g", j, euclidean, i, v, s.tau)
						case in && cmp.Compare(bound, float32(s.tau)) == 0:
							want++ // exactly at the threshold
						}
					}
					if j%6 == 0 && !over && want == 0 {
						t.Errorf("query %d, euclidean %v: nothing on the threshold %g", j, euclidean, s.tau)
					}
					if over != (after[j].listed > uint32(room)) || s.flags == flagDone && after[j] != *s {
						t.Errorf("query %d: %d listed with room for %d, overflow %v", j, after[j].listed, room, over)
					}
				}
			}
		}
		from(b, dn)
		from(b, do)
		from(b, df)
	}, "norms")
}

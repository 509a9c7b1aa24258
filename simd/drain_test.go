package simd

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drainCase holds the inputs of a Drain.
type drainCase struct {
	stride int
	counts []int32
	masks  []uint64
	values []float32
	base   uint32
	add    []float32
}

// manyBits is the number of bits beyond which the kernel treats a mask differently.
const manyBits = 16

// newDrainCase draws masks with few, many or any number of bits, and lists that are
// empty, as full as allowed, or in between.
func newDrainCase(r *rand.Rand, n, stride int) *drainCase {
	c := &drainCase{stride: stride, counts: make([]int32, n), masks: make([]uint64, n), values: normals(r, PanelLanes*n, true),
		base: r.Uint32(), add: normals(r, n, true)}
	kind := r.IntN(4)
	for q := range n {
		room := stride - PanelLanes
		c.counts[q] = []int32{0, int32(room), int32(r.IntN(room + 1))}[r.IntN(3)]
		passed := []int{r.IntN(PanelLanes + 1), r.IntN(3), manyBits - 2 + r.IntN(5), PanelLanes * r.IntN(2)}[kind]
		for _, i := range r.Perm(PanelLanes)[:passed] {
			c.masks[q] |= 1 << i
		}
	}
	if n > 0 {
		inf := float32(math.Inf(1))
		c.values[r.IntN(len(c.values))], c.values[r.IntN(len(c.values))] = inf, -inf
	}
	return c
}

// of returns the part of the case for queries from to to.
func (c *drainCase) of(from, to int) *drainCase {
	return &drainCase{c.stride, c.counts[from:to], c.masks[from:to], c.values[PanelLanes*from : PanelLanes*to], c.base, c.add[from:to]}
}

const untouchedID = 0xa5a5a5a5

// run drains into lists filled with markers and surrounded by guards.
func (c *drainCase) run(t *testing.T, kern Kernels) (ids []uint32, bounds []float32, counts []int32) {
	t.Helper()
	n := len(c.masks)
	ids, intactIDs := fenced(n*c.stride, uint32(untouchedID), equal[uint32])
	bounds, intactBounds := fenced(n*c.stride, nan32, sameBits32)
	for k := range ids {
		ids[k], bounds[k] = untouchedID, nan32
	}
	counts, intactCounts := fenced(n, int32(-1), equal[int32])
	copy(counts, c.counts)
	masks, values, add := slices.Clone(c.masks), slices.Clone(c.values), slices.Clone(c.add)
	kern.Drain(ids, bounds, c.stride, counts, masks, values, c.base, add)
	if !intactIDs() || !intactBounds() || !intactCounts() {
		t.Fatalf("%v, %d queries, stride %d: wrote beyond", kern, n, c.stride)
	}
	if !slices.Equal(masks, c.masks) || !slices.EqualFunc(values, c.values, sameBits32) || !slices.Equal(add, c.add) {
		t.Fatalf("%v, %d queries: wrote to what it reads", kern, n)
	}
	return ids, bounds, counts
}

// check holds kern against the definition.
func (c *drainCase) check(t *testing.T, kern Kernels) {
	t.Helper()
	ids, bounds, counts := c.run(t, kern)
	for q, mask := range c.masks {
		fail := func(what string, k int, got, want any) {
			t.Helper()
			t.Fatalf("%v, query %d of %d, stride %d, %d entries before, mask %x: %s of entry %d: %v, want %v",
				kern, q, len(c.masks), c.stride, c.counts[q], mask, what, k, got, want)
		}
		n := int(c.counts[q])
		ids, bounds := ids[q*c.stride:][:c.stride], bounds[q*c.stride:][:c.stride]
		at := n
		for i := range PanelLanes {
			if mask>>i&1 == 0 {
				continue
			}
			if want := c.base + uint32(i); ids[at] != want {
				fail("number", at, ids[at], want)
			}
			if want := c.values[PanelLanes*q+i] + c.add[q]; !sameBits32(bounds[at], want) {
				fail("bound", at, bounds[at], want)
			}
			at++
		}
		if counts[q] != int32(at) {
			fail("count", at, counts[q], at)
		}
		for k := range ids {
			if (k < n || k >= n+PanelLanes) && (ids[k] != untouchedID || !sameBits32(bounds[k], nan32)) {
				fail("untouched", k, ids[k], untouchedID)
			}
		}
	}
}

// TestDrain compares all Kernels with the definition, and calls for some of the
// queries with the call for all.
func TestDrain(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	strides := []int{64, 71, 200, 65, 128, 1000}
	if testing.Short() {
		strides = strides[:3]
	}
	for _, stride := range strides {
		for n := 0; n <= 600; n += 1 + n/70*37 {
			for range 3 {
				c := newDrainCase(r, n, stride)
				for _, kern := range Available() {
					c.check(t, kern)
					for from, to := 0, 0; from < n; from = to {
						to = min(n, from+1+r.IntN(1+n/2))
						c.of(from, to).check(t, kern)
					}
				}
			}
		}
	}
}

// TestDrainMasks tries every mask of at most two set bits and of at most two clear bits.
func TestDrainMasks(t *testing.T) {
	c := newDrainCase(rand.New(rand.NewPCG(65, 66)), 2*PanelLanes*PanelLanes, 70)
	for i := range PanelLanes {
		for j := range PanelLanes {
			m := uint64(1)<<i | 1<<j
			c.masks[2*(PanelLanes*i+j)], c.masks[2*(PanelLanes*i+j)+1] = m, ^m
		}
	}
	for _, kern := range Available() {
		c.check(t, kern)
	}
}

// TestDrainSpecial asserts that bounds are float32 sums for infinities, NaN and extremes too.
func TestDrainSpecial(t *testing.T) {
	inf := float32(math.Inf(1))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, inf, -inf}
	c := newDrainCase(rand.New(rand.NewPCG(67, 68)), len(special), 64)
	for q, v := range special {
		c.counts[q], c.add[q], c.masks[q] = 0, v, 1<<(4*q)-1
		for i := range PanelLanes {
			w := special[i%len(special)]
			if sum := v + w; sum != sum {
				w = 0 // NaN payloads are unspecified
			}
			c.values[PanelLanes*q+i] = w
		}
	}
	for _, c.base = range []uint32{0, math.MaxUint32, math.MaxUint32 - 5} {
		for _, kern := range Available() {
			c.check(t, kern)
		}
	}
}

// TestDrainRefuses asserts the panic for a list without room, at any position, and for
// arguments that do not fit their slices.
func TestDrainRefuses(t *testing.T) {
	const n, stride = 300, 80
	c := newDrainCase(rand.New(rand.NewPCG(69, 70)), n, stride)
	drain := func(kern Kernels, change func(ids *[]uint32, bounds *[]float32, stride *int, c *drainCase)) (message string, counts []int32) {
		ids, bounds, stride := make([]uint32, n*stride), make([]float32, n*stride), stride
		d := drainCase{stride, slices.Clone(c.counts), c.masks, c.values, c.base, c.add}
		change(&ids, &bounds, &stride, &d)
		defer func() { message, counts = fmt.Sprint(recover()), d.counts }()
		kern.Drain(ids, bounds, stride, d.counts, d.masks, d.values, d.base, d.add)
		return
	}
	for _, kern := range Available() {
		for q := range n {
			for _, count := range []int32{stride - PanelLanes + 1, math.MaxInt32, -1, math.MinInt32} {
				message, counts := drain(kern, func(_ *[]uint32, _ *[]float32, _ *int, c *drainCase) { c.counts[q] = count })
				if !strings.Contains(message, fmt.Sprintf("list %d holds %d entries of %d", q, count, stride)) {
					t.Fatalf("%v: list %d of %d entries: %s", kern, q, count, message)
				}
				for k, was := range c.counts {
					want := was
					if k < q {
						want += int32(bits.OnesCount64(c.masks[k]))
					}
					if k != q && counts[k] != want {
						t.Fatalf("%v: list %d of %d entries: list %d has gone from %d to %d, want %d", kern, q, count, k, was, counts[k], want)
					}
				}
			}
		}
		for name, change := range map[string]func(ids *[]uint32, bounds *[]float32, stride *int, c *drainCase){
			"a short list of numbers": func(ids *[]uint32, _ *[]float32, _ *int, _ *drainCase) { *ids = slices.Clip((*ids)[1:]) },
			"a short list of bounds":  func(_ *[]uint32, b *[]float32, _ *int, _ *drainCase) { *b = slices.Clip((*b)[1:]) },
			"few counts":              func(_ *[]uint32, _ *[]float32, _ *int, c *drainCase) { c.counts = slices.Clip(c.counts[:n-1]) },
			"few values":              func(_ *[]uint32, _ *[]float32, _ *int, c *drainCase) { c.values = slices.Clip(c.values[1:]) },
			"few slacks":              func(_ *[]uint32, _ *[]float32, _ *int, c *drainCase) { c.add = slices.Clip(c.add[1:]) },
			"lists too short for any": func(_ *[]uint32, _ *[]float32, s *int, c *drainCase) { *s = 63; clear(c.counts) },
			"a negative stride":       func(_ *[]uint32, _ *[]float32, s *int, _ *drainCase) { *s = -64 },
		} {
			if message, _ := drain(kern, change); message == "<nil>" {
				t.Errorf("%v: went on with %s", kern, name)
			}
		}
		if message, _ := drain(kern, func(*[]uint32, *[]float32, *int, *drainCase) {}); message != "<nil>" {
			t.Errorf("%v: refused what fits: %s", kern, message)
		}
	}
}

func TestDrainAllocatesNothing(t *testing.T) {
	const n, stride = 300, 80
	c := newDrainCase(rand.New(rand.NewPCG(71, 72)), n, stride)
	ids, bounds := make([]uint32, n*stride), make([]float32, n*stride)
	for _, kern := range Available() {
		if allocs := testing.AllocsPerRun(10, func() {
			clear(c.counts)
			kern.Drain(ids, bounds, stride, c.counts, c.masks, c.values, c.base, c.add)
		}); allocs != 0 {
			t.Errorf("%v: %g allocations", kern, allocs)
		}
	}
}

// FuzzDrain compares all Kernels with the definition on masks and floats made from bytes.
func FuzzDrain(f *testing.F) {
	f.Add(uint64(1), uint16(1), uint8(0), []byte{1})
	f.Add(uint64(2), uint16(9), uint8(1), []byte{0, 0, 0, 1, 0, 128})
	f.Add(uint64(3), uint16(300), uint8(20), []byte{255, 255, 0})
	f.Add(uint64(4), uint16(70), uint8(255), []byte("masks of sixteen bits or so"))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, room uint8, bytes []byte) {
		if len(bytes) == 0 {
			return
		}
		c := newDrainCase(rand.New(rand.NewPCG(seed, 73)), int(n%600), PanelLanes+int(room))
		for q := range c.masks {
			for b := range 8 {
				c.masks[q] ^= uint64(bytes[(8*q+b)%len(bytes)]) << (8 * b)
			}
		}
		for i := range c.values {
			if v := math.Float32frombits(uint32(bytes[i%len(bytes)]) << 24); v == v {
				c.values[i] += v
			}
		}
		for _, kern := range Available() {
			c.check(t, kern)
		}
	})
}

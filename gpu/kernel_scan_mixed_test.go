//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// mixedCase is a scanCase at mixed codes: stride and pitch are the codes of atoms and queries, those of terms included, and there are no
// other terms. A tile of 0 stands for the shape that the backend chooses. Atoms from hi on exist and are not of the chunk.
type mixedCase struct {
	scanCase
	width, hi int
	steps     []float32
	before    [][]arm // what lists hold before the scan
}

func (c *mixedCase) String() string {
	return fmt.Sprintf("n=%d lo=%d hi=%d m=%d width=%d tile=%d grid=%d room=%d", c.n, c.lo, c.hi, c.m, c.width, c.tile, c.grid, c.room)
}

// drawMixed draws a case in which about a share of the atoms passes, another for each query in turn. Codes are of magnitude most at
// most: if that is 1, many sums are 0 and -1, else few.
func drawMixed(seed uint64, width, n, m, most int, shares ...float64) *mixedCase {
	r := rand.New(rand.NewPCG(seed, uint64(n*m)))
	stride := width + backend.MixedTerms
	c := &mixedCase{scanCase: scanCase{n: n, m: m, stride: stride, pitch: stride, grid: 1, room: multiple(n + 3), mask: flagMixed, flags: flagMixed}, width: width, hi: n}
	c.codes, c.codes8, c.filter, c.states = make([]int8, n*stride), make([]int8, m*stride), make([]uint64, ceil(n, 64)), make([]query, m)
	fill := func(x []int8) {
		for i := range x {
			x[i] = int8(r.IntN(2*most+1) - most)
		}
	}
	fill(c.codes)
	fill(c.codes8)
	equal := looks.MixedRepeats[looks.ByThreshold] // codes of an atom, by which a query moves its sums
	for i := range n {
		x := c.codes[i*stride : (i+1)*stride]
		copy(x[width:], slices.Repeat([]int8{int8(most)}, equal))
		x[stride-1] = looks.ChargeUnit
		c.steps = append(c.steps, float32(math.Pow(10, 4*r.Float64()-2)))
	}
	for i := range c.filter {
		c.filter[i] = r.Uint64()
	}
	deviation := float64(most*(most+1)) / 3 * math.Sqrt(float64(stride-equal-1))
	for j := range c.states {
		s, x := &c.states[j], c.codes8[j*stride:(j+1)*stride]
		x[stride-1] = int8(1 + r.IntN(looks.MaxCode8))
		by := (math.Sqrt2*math.Erfinv(2*shares[j%len(shares)]-1)*deviation - looks.ChargeUnit*float64(x[stride-1])) / float64(most)
		for k := range equal { // together by, rounded
			x[width+k] = int8(max(-looks.MaxCode8, min(looks.MaxCode8, math.Floor((math.Round(by)+float64(k))/float64(equal)))))
		}
		s.tau, s.mixedStep, s.flags = r.NormFloat64()*math.Pow(10, 6*r.Float64()-3), math.Pow(10, 6*r.Float64()-5), flagMixed|flagRandom
		c.before = append(c.before, make([]arm, j%3))
		for k := range c.before[j] {
			c.before[j][k] = arm{uint32(n + k), 1, 2}
		}
	}
	return c
}

// sum is what decides whether atom i is listed for query j.
func (c *mixedCase) sum(i, j int) (s int) {
	x, w := c.codes[i*c.stride:(i+1)*c.stride], c.codes8[j*c.pitch:(j+1)*c.pitch]
	for k, v := range x {
		s += int(v) * int(w[k])
	}
	return s
}

// run scans atoms lo..hi-1 and returns the lists, and the states before and after it.
func (c *mixedCase) run(b *preparer) (all [][]arm, states, after []query) {
	b.Helper()
	padded := ceil(c.n, looks.StripAtoms)*looks.StripAtoms + mixedSpare
	slab := make([]uint8, padded*c.stride)
	fillMixed(slab, &looks.Mixed{Width: c.width, Codes: c.codes, Step: c.steps}, 0)
	filter := to(b, c.filter)
	states = slices.Clone(c.states)
	for j := range states {
		if states[j].filter != 0 {
			states[j].filter = filter.Address()
		}
		states[j].listed = uint32(len(c.before[j]))
	}
	hidden := c.hidden.upload(b, states)
	lists := toLists(b, c.before, c.room)
	dx, ds, dc, dq := to(b, slab), to(b, c.steps), to(b, c.codes8), to(b, states)
	tile, shared := c.tile, c.tile*(c.width+52)+3136
	if c.tile == 0 {
		tile, shared = mixedShape(b.q, c.m, c.width)
	}
	shape := mixedGrid(b.q, c.m, c.lo, c.hi, tile, shared)
	if c.tile > 0 {
		shape.Grid.X = c.grid
	}
	if c.width > maxNarrow {
		b.q.scanMixedWide(shape, scanMixedWideArgs{
			slab: device.View[[4]uint32](dx, 0), steps: device.Ptr(ds), lo: uint32(c.lo), hi: uint32(c.hi), codes: device.Ptr(dc),
			queries: device.Ptr(dq), m: c.m, tile: tile, mask: c.mask, value: c.flags, lists: lists.table,
		})
	} else {
		b.q.scanMixed(shape, scanMixedArgs{
			slab: device.View[[4]uint32](dx, 0), steps: device.Ptr(ds), W: c.width, lo: uint32(c.lo), hi: uint32(c.hi), codes: device.Ptr(dc),
			queries: device.Ptr(dq), m: c.m, tile: tile, mask: c.mask, value: c.flags, lists: lists.table,
		})
	}
	from(b, dx)
	from(b, ds)
	from(b, dc)
	from(b, filter)
	from(b, hidden)
	after = from(b, dq)
	stored := slices.Clone(after)
	for j := range stored {
		stored[j].listed = min(stored[j].listed, uint32(c.room))
	}
	return lists.back(b, stored), states, after
}

// faults compares lists with sums of products: the atoms that pass are listed once, behind what was in the list, and their bounds are equal
// to the last bit. It returns the number of sums that are 0 and -1.
func (c *mixedCase) faults(all [][]arm, states, after []query) (zeros, ones int, err error) {
	for j, s := range states {
		want := map[uint32]float32{}
		for i := c.lo; i < c.hi && s.flags&c.mask == c.flags; i++ {
			sum := c.sum(i, j)
			zeros, ones = zeros+flag(sum == 0), ones+flag(sum == -1)
			if sum >= 0 && c.allows(i, j) { // a conversion keeps the product and the sum from being fused
				want[uint32(i)] = collection.Upward(s.tau + float64(float64(c.steps[i])*s.mixedStep*float64(sum)))
			}
		}
		passed, old := len(want), len(c.before[j])
		s.listed += uint32(passed)
		if int(s.listed) > c.room {
			s.flags |= flagOverflow
		}
		if after[j] != s {
			return 0, 0, fmt.Errorf("query %d: %d listed with flags %b, want %d with %b, or other fields changed", j, after[j].listed, after[j].flags, s.listed, s.flags)
		}
		if !slices.Equal(all[j][:old], c.before[j]) {
			return 0, 0, fmt.Errorf("query %d: the list before was %v, is %v", j, c.before[j], all[j][:old])
		}
		for _, e := range all[j][old:] {
			bound, in := want[e.atom]
			if delete(want, e.atom); !in {
				return 0, 0, fmt.Errorf("query %d lists atom %d, which does not pass, or twice", j, e.atom)
			}
			if e.bound != bound || !math.IsInf(float64(e.estimate), 1) {
				return 0, 0, fmt.Errorf("query %d, atom %d: bound %g, want %g; estimate %g", j, e.atom, e.bound, bound, e.estimate)
			}
		}
	}
	return zeros, ones, nil
}

// scanMixedAll runs cases, and returns how many of their sums are 0 and -1.
func scanMixedAll(t *testing.T, cases []*mixedCase) (zeros, ones int) {
	t.Helper()
	onKernels(t, func(b *preparer) {
		for _, c := range cases {
			z, o, err := c.faults(c.run(b))
			if err != nil {
				b.Errorf("%v: %v", c, err)
			}
			zeros, ones = zeros+z, ones+o
		}
	}, "scan_mixed")
	return zeros, ones
}

// TestScanMixed: sizes around the numbers that lanes, warps, blocks, groups and strips process at a time; few, many and nearly all pairs
// that pass, and sums about 0.
func TestScanMixed(t *testing.T) {
	cases := []*mixedCase{
		drawMixed(1, 64, 700, 41, 1, .001, .01),
		drawMixed(2, 64, 1, 1, 127, .9),
		drawMixed(3, 160, 1100, 20, 127, .01, .5),
		drawMixed(4, 96, 49, 8, 1, .5),
		drawMixed(5, 96, 641, 9, 127, .995),
		drawMixed(6, 128, 530, 33, 1, .02, .3, .999),
		drawMixed(7, 128, 1536, 16, 127, .003, .2),
		drawMixed(8, 64, 600, 250, 127, .01, .1),
		drawMixed(9, 160, 700, 24, 1, .002),
		drawMixed(10, 160, 513, 250, 127, .004, .99),
		drawMixed(11, 160, 47, 1, 127, .999),
		drawMixed(12, 128, 1100, 65, 127, .02),
		drawMixed(13, 96, 63, 7, 127, .5),
		drawMixed(14, 64, 1025, 100, 1, .001),
		drawMixed(15, 64, 1100, 32, 127, .999),
		drawMixed(16, 96, 1700, 90, 127, 1e-4, .03),
	}
	for k, c := range cases {
		c.tile = []int{8, 256, 0, 8, 16, 24, 0, 64, 40, 0}[k%10]
		c.grid = 1 + k%3
		switch k % 4 {
		case 2: // the chunk ends within a group of atoms
			c.lo, c.hi = c.n/2/looks.StripAtoms*looks.StripAtoms, min(c.n, 1024)
		case 3:
			c.lo, c.hi = (c.n-1)/looks.StripAtoms*looks.StripAtoms, c.n-c.n/40
		}
	}
	if zeros, ones := scanMixedAll(t, cases); !t.Failed() && min(zeros, ones) < 100 {
		t.Errorf("%d sums of 0, %d of -1", zeros, ones)
	}
}

// TestScanMixedOfSomeQueries: queries with flags that exclude them, whole tiles of them, with filters, with lists of atoms that may not be
// returned and from some atom on only, and chunks of atoms.
func TestScanMixedOfSomeQueries(t *testing.T) {
	var cases []*mixedCase
	for k, width := range []int{96, 160, 64, 128} {
		c := drawMixed(uint64(40+k), width, 1100, 41, 127-126*(k%2), .05, .6)
		c.tile, c.grid, c.mask = []int{8, 16, 0, 24}[k], 2, flagMixed|flagDone|flagDense
		r := rand.New(rand.NewPCG(uint64(k), 40))
		c.hidden = drawHiding(r, c.m, c.n)
		for j := range c.states {
			s := &c.states[j]
			switch {
			case j >= 16 && j < 24: // a tile of the first case
				s.flags = flagRandom
			case j%7 == 3:
				s.flags |= flagDense
			case j%7 == 4:
				s.flags |= flagScanned // not of the mask
			}
			if j%2 == 0 {
				s.filter = 1
			}
			if j%3 == 1 {
				s.from = uint32(r.IntN(c.n + 1))
			}
			if j%12 == 5 {
				s.from = uint32([]int{511, 512, c.n - 1, c.n}[j/12]) // about the ends of chunks
			}
		}
		first, later, none := *c, *c, *c
		first.hi, later.lo, none.flags = looks.StripAtoms, looks.StripAtoms, flagDone
		cases = append(cases, c, &first, &later, &none)
	}
	scanMixedAll(t, cases)
}

// TestScanMixedOverflows: a list that is too short is filled, and its query is flagged.
func TestScanMixedOverflows(t *testing.T) {
	var cases []*mixedCase
	for k, width := range []int{128, 160, 64} {
		c := drawMixed(uint64(50+k), width, 700, 20, 127, .001, .5, .9, .02)
		c.tile, c.room = 16, 12
		cases = append(cases, c)
	}
	scanMixedAll(t, cases)
}

// TestFillMixed: codes are where the lanes of a warp expect them, each in a place of its own, and atoms that do not exist pass for no query.
func TestFillMixed(t *testing.T) {
	for _, width := range []int{64, 96, 128, 160} {
		c := drawMixed(60, width, 37, 1, 127, .5)
		const lo, atoms = 16, 48 // the last tile has no atom
		slab := make([]uint8, atoms*c.stride)
		for i := range slab {
			slab[i] = 0xa5
		}
		fillMixed(slab, &looks.Mixed{Width: width, Codes: c.codes, Step: c.steps}, lo)
		taken := make([]bool, mixedTile*c.stride)
		for i := range mixedTile {
			for k := range c.stride {
				if at := mixedPlace(i, k); taken[at] {
					t.Fatalf("width %d: code %d of atom %d is in another's place %d", width, k, i, at)
				} else {
					taken[at] = true
				}
			}
		}
		for at, code := range slab { // kernels/scan_mixed.cu: pieces of 16 bytes
			part, lane, byte := at/512, at/16%32, at%16
			tile, part := part/(c.stride/mixedPart), part%(c.stride/mixedPart)
			i := lo + mixedTile*tile + lane/4 + 8*(byte/4%2)
			k := mixedPart*part + 4*(lane%4) + 16*(byte/8) + byte%4
			want := int8(0)
			switch {
			case i < c.n:
				want = c.codes[i*c.stride+k]
			case k == c.stride-1: // times the last code of a query, which is positive
				want = -looks.ChargeUnit
			}
			if int8(code) != want {
				t.Fatalf("width %d: code %d of atom %d is %d, want %d", width, k, i, int8(code), want)
			}
		}
	}
}

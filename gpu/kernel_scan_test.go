//go:build cuda && cgo

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/gpu/device"
)

// scanCase is atoms, queries and a launch of the scan. Atoms have terms and codes up to the next
// whole strip, as on the device.
type scanCase struct {
	n, m, R, To, stride, pitch int
	wide                       bool // scan_rows_s8: codes are biased, and end with the last atom
	tile, grid, lo, room       int
	mask, flags                uint32

	codes  []int8 // [atoms][stride]; run arranges them as the kernel wants them
	codes8 []int8 // [queries][pitch]
	states []query
	filter []uint64 // filter of the queries whose state names one
	hidden hiding

	headScale, headNorm, headErr, norm, offset []float32
	scale, radius, xnorm, wholeErr             []float32
	made                                       []strip
}

func (c *scanCase) String() string {
	return fmt.Sprintf("n=%d m=%d R=%d To=%d stride=%d wide=%v tile=%d grid=%d lo=%d offset=%v", c.n, c.m, c.R, c.To, c.stride, c.wide, c.tile, c.grid, c.lo, c.offset != nil)
}

// drawScan draws a case: codes of all magnitudes, terms none of which is negligible, and thresholds
// half of which are the bound of some atom.
func drawScan(seed uint64, n, m, R, To, stride int, wide, offset bool) *scanCase {
	r := rand.New(rand.NewPCG(seed, uint64(n*m)))
	c := &scanCase{n: n, m: m, R: R, To: To, stride: stride, pitch: (R + To + 15) &^ 15, wide: wide, tile: 256, grid: 2, room: (n + 3) &^ 3}
	if !wide { // the slab's rows are wider than the look
		c.pitch = c.stride
	}
	padded := (n + looks.StripAtoms - 1) / looks.StripAtoms * looks.StripAtoms
	c.codes, c.codes8 = make([]int8, padded*stride), make([]int8, m*c.pitch)
	for i := range n * stride {
		c.codes[i] = int8(r.IntN(255) - 127)
	}
	array := func(most float64) []float32 {
		x := make([]float32, padded)
		for i := range n {
			x[i] = float32(most * (.5 + .5*r.Float64()))
		}
		return x
	}
	unit := 1 / (80 * 80 * math.Sqrt(float64(To)))
	c.headScale, c.scale, c.radius = array(3e-2), array(1e-2), array(.3)
	c.headNorm, c.headErr, c.norm, c.xnorm = array(1), array(.01), array(1), array(.5)
	if offset {
		c.offset = array(-.5)
	}
	if seed%2 == 1 {
		c.wholeErr = array(.01)
	}
	c.filter = make([]uint64, (n+63)/64)
	for i := range c.filter {
		c.filter[i] = r.Uint64()
	}
	c.states = make([]query, m)
	for j := range c.states {
		for k := range R + To {
			c.codes8[j*c.pitch+k] = int8(r.IntN(255) - 127)
		}
		s := &c.states[j]
		s.exp, s.k = int32(r.IntN(5)-2), 1
		if !offset {
			s.exp = int32(r.IntN(300) - 150) // of queries of any length
		}
		s.headStep8, s.restStep8 = float64(float32(unit*30*(.5+r.Float64()))), float64(float32(unit*100*(.5+r.Float64())))
		s.radiusFactor, s.offsetFactor = .5+r.Float64(), math.Ldexp(1, -int(s.exp))
		s.hn, s.he, s.xn, s.nn = .02*r.Float64(), r.Float64(), .03*r.Float64(), 1e-4*r.Float64()
		if c.wholeErr != nil {
			s.we = r.Float64()
		}
	}
	for j := range c.states {
		c.open(r, j, .02)
	}
	return c
}

// open gives query j a threshold that a share of the atoms reaches; for odd j one that an atom's
// bound exceeds by little more than the roundings of the test.
func (c *scanCase) open(r *rand.Rand, j int, share float64) {
	type upper struct{ bound, size float64 }
	uppers := make([]upper, c.n)
	for i := range uppers {
		v, size := c.value(i, j)
		uppers[i] = upper{v + c.rounding(i/looks.StripAtoms, j), size}
	}
	slices.SortFunc(uppers, func(a, b upper) int { return cmp.Compare(a.bound, b.bound) })
	at := uppers[min(c.n-1, int(float64(c.n)*(1-share)))]
	c.states[j].tau = at.bound - 7*unit*at.size
	if j%2 == 0 {
		c.states[j].tau += 1e-3 * r.Float64()
	}
}

// value returns the bound of atom i for query j without rounding, from exact integer products, and
// the sum of the magnitudes of its terms.
func (c *scanCase) value(i, j int) (v, size float64) {
	var dh, dr int64
	x, w := c.codes[i*c.stride:], c.codes8[j*c.pitch:]
	for k := range c.R {
		dh += int64(x[k]) * int64(w[k])
	}
	for k := c.R; k < c.R+c.To; k++ {
		dr += int64(x[k]) * int64(w[k])
	}
	s := &c.states[j]
	terms := [4]float64{0, float64(c.scale[i]) * s.restStep8 * float64(dr), float64(c.radius[i]) * s.radiusFactor, 0}
	if c.R > 0 {
		terms[0] = float64(c.headScale[i]) * s.headStep8 * float64(dh)
	}
	if c.offset != nil {
		terms[3] = float64(c.offset[i]) * s.offsetFactor
	}
	for _, t := range terms {
		v, size = v+t, size+math.Abs(t)
	}
	return v, size
}

// bias returns how much a bound may be too great because the constants that convert sums to floats
// are rounded upward: one and a half steps. Sums over wide rests need no such constants.
func (c *scanCase) bias(i, j int) float64 {
	s := &c.states[j]
	steps := float64(c.headScale[i]) * s.headStep8
	if !c.wide {
		steps += float64(c.scale[i]) * s.restStep8
	}
	return 1.5 * steps
}

// rounding returns the charge for rounding of a query for a strip.
func (c *scanCase) rounding(strip, j int) float64 {
	t := &c.strips()[strip]
	look := looks.NewBound(nil, looks.Steps{}, c.states[j].factors())
	return look.StripRounding(&looks.Strip{HeadNorm: float64(t.headNorm), HeadErr: float64(t.headErr), XNorm: float64(t.xnorm), Norm: float64(t.norm),
		Radius: float64(t.radius), Offset: float64(t.offset), WholeErr: float64(t.wholeErr)})
}

// strips returns the strips, computed once; terms must not change afterwards.
func (c *scanCase) strips() []strip {
	if c.made != nil {
		return c.made
	}
	out := make([]strip, len(c.norm)/looks.StripAtoms)
	for k := range out {
		most := func(x []float32) (m float32) {
			for i := k * looks.StripAtoms; x != nil && i < (k+1)*looks.StripAtoms; i++ {
				m = max(m, x[i], -x[i])
			}
			return m
		}
		out[k] = strip{headNorm: most(c.headNorm), headErr: most(c.headErr), xnorm: most(c.xnorm), norm: most(c.norm),
			radius: most(c.radius), offset: most(c.offset), wholeErr: most(c.wholeErr)}
	}
	c.made = out
	return out
}

// shared returns the dynamic shared memory of a block, by the formulas of scan.cu and scan_rows.cu.
func (c *scanCase) shared() int {
	if c.wide {
		if c.tile <= 32 {
			return 320*32 + 42560
		}
		return 320*128 + 42560
	}
	row := 32*(ceil(c.R, 32)+ceil(c.To, 32)) + 16
	return c.tile*(row+80) + 256*row + 12288
}

func (c *scanCase) allows(i, j int) bool {
	s := &c.states[j]
	return i >= int(s.from) && (s.filter == 0 || c.filter[i/64]>>(i%64)&1 == 1) && !c.hidden.has(j, i)
}

// run scans atoms lo..n-1 and returns the lists and the states after it.
func (c *scanCase) run(b *preparer) (all [][]arm, after []query) {
	b.Helper()
	codes := make([]uint8, len(c.codes))
	for i, v := range c.codes {
		atom, code := i/c.stride, i%c.stride
		if c.wide {
			codes[i] = uint8(v) ^ 0x80
		} else { // [strip][part][atom][slabPart]
			strip, part := atom/looks.StripAtoms, code/slabPart
			codes[((strip*c.stride/slabPart+part)*looks.StripAtoms+atom%looks.StripAtoms)*slabPart+code%slabPart] = uint8(v)
		}
	}
	if c.wide {
		codes = codes[:c.n*c.stride]
	}
	filter := to(b, c.filter)
	states := slices.Clone(c.states)
	for j := range states {
		if states[j].filter != 0 {
			states[j].filter = filter.Address()
		}
	}
	hidden := c.hidden.upload(b, states)
	dc, d8, ds := to(b, codes), to(b, c.codes8), to(b, states)
	strips := to(b, c.strips())
	floats := [9]*device.Buffer[float32]{}
	for k, x := range [9][]float32{c.headScale, c.headNorm, c.headErr, c.norm, c.offset, c.scale, c.radius, c.xnorm, c.wholeErr} {
		if x != nil {
			floats[k] = to(b, x)
		}
	}
	dt := terms{headScale: floats[0].Address(), headNorm: floats[1].Address(), headErr: floats[2].Address(), norm: floats[3].Address(),
		offset: floats[4].Address(), scale: floats[5].Address(), radius: floats[6].Address(), xnorm: floats[7].Address(), wholeErr: floats[8].Address(), strips: strips.Address()}
	lists := toLists(b, make([][]arm, len(states)), c.room)
	b.q.scanSeen(device.Shape{Grid: device.Dim{X: ceil(c.m, 8)}, Block: device.Dim{X: 256}}, scanSeenArgs{
		queries: device.Ptr(ds), m: c.m, mask: c.mask, value: c.flags, lo: uint32(c.lo), hi: uint32(c.n), more: 0,
	})
	shape := device.Shape{Grid: device.Dim{X: c.grid, Y: ceil(c.m, c.tile)}, Block: device.Dim{X: 256}, Shared: c.shared()}
	if c.wide {
		b.q.scanRowsS8(shape, scanRowsS8Args{
			codes: device.Ptr(dc), stride: int64(c.stride), R: c.R, To: c.To, lo: uint32(c.lo), hi: uint32(c.n), codes8: device.Ptr(d8),
			pitch: c.pitch, queries: device.Ptr(ds), m: c.m, tile: c.tile, mask: c.mask, value: c.flags, terms: dt, lists: lists.table,
		})
	} else {
		b.q.scanS8(shape, scanS8Args{
			slab: device.View[int8](dc, 0), stride: int64(c.stride), R: c.R, To: c.To, lo: uint32(c.lo), hi: uint32(c.n), codes8: device.Ptr(d8),
			pitch: c.pitch, queries: device.Ptr(ds), m: c.m, tile: c.tile, mask: c.mask, value: c.flags, terms: dt, lists: lists.table,
		})
	}
	from(b, dc)
	from(b, d8)
	from(b, strips)
	from(b, filter)
	from(b, hidden)
	for _, f := range floats {
		if f != nil {
			from(b, f)
		}
	}
	after = from(b, ds)
	stored := slices.Clone(after)
	for j := range stored {
		stored[j].listed = min(stored[j].listed, uint32(c.room))
	}
	return lists.back(b, stored), after
}

const unit = 1.0 / (1 << 24)

// faults compares lists with the exact bounds: an atom that reaches the threshold by more than the
// roundings of the test is listed once, one that misses it by more is not, and a bound exceeds the
// exact one by at most these roundings.
func (c *scanCase) faults(all [][]arm, after []query) error {
	meant := make([]bool, len(c.states))
	for j := range meant {
		meant[j] = c.states[j].flags&c.mask == c.flags
	}
	for j := range c.states {
		s := &c.states[j]
		listed := map[int]float32{}
		for _, a := range all[j] {
			if _, twice := listed[int(a.atom)]; twice {
				return fmt.Errorf("query %d lists atom %d twice", j, a.atom)
			}
			listed[int(a.atom)] = a.bound
		}
		if !meant[j] {
			if len(all[j]) > 0 || after[j].seen != 0 || after[j].flags != s.flags {
				return fmt.Errorf("query %d was not to be scanned", j)
			}
			continue
		}
		seen, passed := 0, 0
		full := int(after[j].listed) > c.room
		for i := c.lo; i < c.n; i++ {
			if !c.allows(i, j) {
				continue
			}
			seen++
			v, size := c.value(i, j)
			e := c.rounding(i/looks.StripAtoms, j)
			bound, in := listed[i]
			delete(listed, i)
			slack := 6*unit*size + 1e-30
			loose := slack + 16*unit*e + c.bias(i, j)
			switch {
			case in && float64(bound) < v+e-slack:
				return fmt.Errorf("query %d, atom %d: bound %g below the exact %g by more than %g", j, i, bound, v+e, slack)
			case in && float64(bound) > v+e+loose:
				return fmt.Errorf("query %d, atom %d: bound %g above the exact %g by more than %g", j, i, bound, v+e, loose)
			case !in && !full && v+e > s.tau+slack:
				return fmt.Errorf("query %d, atom %d: %g reaches %g and is not listed", j, i, v+e, s.tau)
			case in && v+e < s.tau-loose-16*unit*math.Abs(s.tau):
				return fmt.Errorf("query %d, atom %d: %g does not reach %g and is listed", j, i, v+e, s.tau)
			}
			if v+e > s.tau+slack {
				passed++
			}
		}
		for i := range listed {
			return fmt.Errorf("query %d lists atom %d, which it may not", j, i)
		}
		if int(after[j].seen) != seen {
			return fmt.Errorf("query %d has seen %d atoms of %d", j, after[j].seen, seen)
		}
		if over := after[j].flags&flagOverflow != 0; over != full || int(after[j].listed) < passed {
			return fmt.Errorf("query %d lists %d of %d atoms with room for %d; overflow is %v", j, after[j].listed, passed, c.room, over)
		}
	}
	return nil
}

// scanCases are sizes around the numbers that lanes, warps, blocks and strips process at a time.
func scanCases() []*scanCase {
	cases := []*scanCase{
		drawScan(1, 1, 1, 32, 64, 160, false, false),
		drawScan(2, 31, 7, 0, 32, 128, false, false),
		drawScan(3, 255, 8, 32, 32, 160, false, true),
		drawScan(4, 256, 9, 32, 96, 160, false, false),
		drawScan(5, 257, 65, 16, 48, 96, false, false),
		drawScan(6, 1000, 33, 32, 128, 160, false, true),
		drawScan(7, 1543, 20, 32, 192, 224, false, false),
		drawScan(8, 1100, 70, 0, 100, 128, false, false),
		drawScan(9, 520, 16, 16, 164, 192, false, true),
		drawScan(10, 700, 40, 0, 4, 32, false, false),
	}
	for k, c := range cases {
		c.tile = []int{8, 16, 64, 256, 40}[k%5]
		c.grid = 1 + k%4
		if c.shared() > 101376 { // the limit of a block on the smallest card
			c.tile = 24
		}
	}
	return cases
}

// wideCases read whole rows of codes.
func wideCases() []*scanCase {
	cases := []*scanCase{
		drawScan(11, 1, 1, 32, 256, 32+768, true, false),
		drawScan(12, 127, 9, 0, 132, 132, true, true),
		drawScan(13, 129, 40, 32, 200, 232, true, false),
		drawScan(14, 1030, 33, 16, 64, 16+64, true, false),
		drawScan(15, 640, 130, 32, 320, 352, true, true),
		drawScan(16, 400, 12, 0, 140, 140, true, false),
		drawScan(17, 300, 10, 16, 180, 196, true, false),
		drawScan(18, 900, 24, 0, 32, 48, true, true),
	}
	for k, c := range cases {
		c.tile = []int{32, 8, 128, 32, 64}[k%5]
		c.grid = 1 + k%3
	}
	return cases
}

func TestScan(t *testing.T) {
	scanAll(t, append(scanCases(), wideCases()...))
}

func scanAll(t *testing.T, cases []*scanCase) {
	onKernels(t, func(b *preparer) {
		for _, c := range cases {
			all, after := c.run(b)
			if err := c.faults(all, after); err != nil {
				b.Errorf("%v: %v", c, err)
			}
		}
	}, "scan", "scan_rows")
}

// TestScanOfSomeQueries: queries with flags that exclude them, with filters, with lists of atoms that may
// not be returned and from some atom on only, without a threshold or
// with one out of reach, and with a rest of zero; and chunks of atoms.
func TestScanOfSomeQueries(t *testing.T) {
	var cases []*scanCase
	for seed := range uint64(2) {
		for _, wide := range []bool{false, true} {
			c := drawScan(40+seed, 1100, 41, 32, 64, 160, wide, seed == 1)
			c.tile, c.mask = 16, flagDone|flagDense
			r := rand.New(rand.NewPCG(seed, 40))
			c.hidden = drawHiding(r, len(c.states), c.n)
			for j, s := range c.states {
				switch j % 5 {
				case 0:
					s.tau = math.Inf(-1)
				case 1:
					s.tau = 1e300
				case 2:
					s.flags = flagDense
				case 3:
					s.flags = flagRandom
				}
				if j%7 == 6 {
					s.restStep8 = []float64{0, 1e-29}[j%2] // negligible beside the head
				}
				if j%2 == 0 {
					s.filter = 1
				}
				if j%4 == 1 {
					s.from = uint32(r.IntN(c.n + 1))
				}
				c.states[j] = s
			}
			later := *c
			later.lo = 512
			none := *c
			none.flags = flagDone
			cases = append(cases, c, &later, &none)
		}
	}
	scanAll(t, cases)
}

// TestScanOverflows: a list that is too short is filled, and its query is flagged.
func TestScanOverflows(t *testing.T) {
	var cases []*scanCase
	for _, wide := range []bool{false, true} {
		c := drawScan(50, 700, 20, 32, 64, 96, wide, false)
		c.room = 12
		for j := range c.states {
			if j%2 == 0 {
				c.states[j].tau = math.Inf(-1)
			}
		}
		cases = append(cases, c)
	}
	scanAll(t, cases)
}

// TestSeen: scan_seen counts the atoms of a chunk that a query may return, and the bytes that are read of them besides those at panels,
// or that are not, if the query has mixed codes.
func TestSeen(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(60, 60))
		const n, m = 1500, 60
		c := &scanCase{n: n, m: m, filter: make([]uint64, ceil(n, 64)), states: make([]query, m), hidden: drawHiding(r, m, n)}
		for i := range c.filter {
			c.filter[i] = r.Uint64()
		}
		filter := to(b, c.filter)
		for k, chunk := range [][2]uint32{{0, 1}, {0, 512}, {512, 1024}, {512, 1100}, {1024, 1088}, {1024, n}, {0, n}, {128, 192}} {
			more := []int{0, 84, -12, -1}[k%4]
			for j := range c.states {
				c.states[j].filter, c.states[j].from = 0, 0
				c.states[j].flags, c.states[j].bytes = []uint32{0, flagMixed, flagMixed | flagRandom, flagRandom}[j%4], 1<<33+uint64(j)
				if j%2 == 0 {
					c.states[j].filter = filter.Address()
				}
				if j%4 > 1 {
					c.states[j].from = uint32(r.IntN(n + 1))
				}
				if j%12 == 11 {
					c.states[j].from = chunk[j%2]
				}
			}
			states := slices.Clone(c.states)
			hidden := c.hidden.upload(b, states)
			q := to(b, states)
			b.q.scanSeen(device.Shape{Grid: device.Dim{X: ceil(m, 8)}, Block: device.Dim{X: 256}}, scanSeenArgs{
				queries: device.Ptr(q), m: m, mask: 0, value: 0, lo: chunk[0], hi: chunk[1], more: more,
			})
			for j, s := range from(b, q) {
				want := 0
				for i := int(chunk[0]); i < int(chunk[1]); i++ {
					want += flag(c.allows(i, j))
				}
				bytes := c.states[j].bytes
				if s.flags&flagMixed != 0 {
					bytes += uint64(more * want)
				}
				if s.bytes != bytes {
					t.Errorf("query %d with flags %b, %d more bytes for each of %d atoms: %d, want %d", j, s.flags, more, want, s.bytes, bytes)
				}
				if int(s.seen) != want {
					t.Errorf("atoms %d to %d, query %d from %d with a filter: %v, %d atoms excluded: %d seen of %d", chunk[0], chunk[1], j, s.from, s.filter != 0, s.excludes, s.seen, want)
				}
			}
			from(b, hidden)
		}
		from(b, filter)
	}, "scan")
}

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

// rowShape is what a look reads of an atom: R head codes and D codes or signs, or the first width
// of these, in rows of stride bytes.
type rowShape struct {
	R, D, width, stride int
	signs               bool
}

func (s rowShape) String() string {
	return fmt.Sprintf("R %d, D %d, width %d, stride %d, signs %v", s.R, s.D, s.width, s.stride, s.signs)
}

func (s rowShape) pitch() int { return (s.R + s.D + 63) &^ 63 }

// products returns the products of a row with a query's codes.
func (s rowShape) products(row []uint8, hi, lo []int8) (dh, dr float64) {
	var head, rest, set, all int64
	for c := range s.R {
		head += (int64(row[c]) - 128) * (256*int64(hi[c]) + int64(lo[c]))
	}
	for c := s.R; c < s.R+s.width; c++ {
		if !s.signs {
			rest += (int64(row[c]) - 128) * (256*int64(hi[c]) + int64(lo[c]))
			continue
		}
		all += int64(hi[c])
		if j := c - s.R; row[s.R+j/8]>>(j%8)&1 == 1 {
			set += int64(hi[c])
		}
	}
	if s.signs {
		return float64(head), float64(2*set - all)
	}
	return float64(head), float64(rest)
}

// rowData is atoms, queries and lists for a shape.
type rowData struct {
	shape  rowShape
	n      int
	codes  []uint8
	terms  looks.Terms
	hi, lo []int8
	states []query
	lists  [][]arm
	beyond uint32 // number of further entries for which there was no room
}

// randomRows returns n atoms, and queries with lists of these lengths. If extreme, all codes are
// the greatest, and so are sums.
func randomRows(seed uint64, shape rowShape, n int, sizes []int, extreme bool) *rowData {
	r := rand.New(rand.NewPCG(seed, uint64(shape.R*1000+shape.D)))
	d := &rowData{shape: shape, n: n, codes: make([]uint8, n*shape.stride)}
	for i := range d.codes {
		d.codes[i] = uint8(r.Uint32())
		if extreme {
			d.codes[i] = 255
		}
	}
	floats := func() []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.Float64())
		}
		return x
	}
	t := &d.terms
	for _, x := range []*[]float32{&t.HeadScale, &t.HeadNorm, &t.HeadErr, &t.Norm, &t.Scale, &t.Radius, &t.XNorm} {
		*x = floats()
	}
	if seed%2 == 1 {
		t.WholeErr, t.Offset = floats(), floats()
		for i := range t.Offset {
			t.Offset[i] *= -1
		}
	}
	P := shape.pitch()
	d.hi, d.lo = make([]int8, len(sizes)*P), make([]int8, len(sizes)*P)
	for j, size := range sizes {
		for c := j * P; c < j*P+shape.R+shape.D; c++ {
			d.hi[c], d.lo[c] = int8(r.IntN(255)-127), int8(r.IntN(256)-128)
			if extreme {
				d.hi[c], d.lo[c] = 127, 127
			}
		}
		q := query{listed: uint32(size), seen: 3, headStep: r.Float64() * 1e-5, restStep: r.Float64() * 1e-6, radiusFactor: r.Float64(), hn: r.Float64() * 1e-4,
			he: r.Float64(), xn: r.Float64() * 1e-4, nn: r.Float64() * 1e-4, we: r.Float64() * float64(seed%2), offsetFactor: math.Ldexp(1, r.IntN(5)-2)}
		for _, v := range d.hi[j*P+shape.R : j*P+shape.R+shape.D] {
			q.highSum += float64(v)
		}
		list := make([]arm, size)
		for i := range list {
			list[i] = arm{atom: uint32(r.IntN(n)), bound: float32(r.NormFloat64() * 3)}
			if i%3 == 0 { // the row's bound is the lesser
				list[i].bound = float32(math.Inf(1))
			}
		}
		d.states, d.lists = append(d.states, q), append(d.lists, list)
	}
	return d
}

// rowMemory is where a look's input is, and into how many shares its lists are divided.
type rowMemory struct {
	pinned bool // rows in page-locked host memory
	sides  bool // interleaved terms
	want   int  // shares, besides one for each list
	shape  device.Shape
}

// shares divides the lists of queries as look_begin does.
func shares(b *preparer, states []query, room, want int) *device.Buffer[uint32] {
	b.Helper()
	lengths := make([]uint32, len(states))
	for j, q := range states {
		if q.flags&(flagDone|flagDense) == 0 {
			lengths[j] = min(q.listed, uint32(room))
		}
	}
	return to(b, sharesOf(lengths, uint32(want), 16))
}

// look runs the kernel and checks every list and state.
func (d *rowData) look(b *preparer, mem rowMemory) {
	b.Helper()
	name := fmt.Sprintf("%v; %+v", d.shape, mem)
	longest := 0
	for _, l := range d.lists {
		longest = max(longest, len(l))
	}
	before := slices.Clone(d.states)
	for j := range before {
		before[j].listed += d.beyond
	}
	l, q, hi, lo := toLists(b, d.lists, multiple(longest)), to(b, before), to(b, d.hi), to(b, d.lo)
	var rows device.Pointer[uint8]
	codes, pinned := (*device.Buffer[uint8])(nil), (*device.Pinned[uint8])(nil)
	if mem.pinned {
		var err error
		if pinned, err = device.AllocPinned[uint8](b.th, "test", len(d.codes)); err != nil {
			b.Fatal(err)
		}
		copy(pinned.Slice(), d.codes)
		rows = device.Ptr(pinned)
	} else {
		codes = to(b, d.codes)
		rows = device.Ptr(codes)
	}
	t := putRowTerms(b, &d.terms)
	if mem.sides {
		t.makeSides(b, &d.terms, d.n)
	}
	begins := shares(b, before, multiple(longest), mem.want)
	if d.shape.signs {
		b.q.lookSigns(mem.shape, lookSignsArgs{
			queries: device.Ptr(q), m: uint32(len(before)), begins: device.Ptr(begins), lists: l.table, terms: t.terms, signs: rows, stride: int64(d.shape.stride),
			head: d.shape.R, width: d.shape.width, hi: device.Ptr(hi), lo: device.Ptr(lo), pitch: d.shape.pitch(),
		})
	} else {
		b.q.lookRows(mem.shape, lookRowsArgs{
			queries: device.Ptr(q), m: uint32(len(before)), begins: device.Ptr(begins), lists: l.table, terms: t.terms, codes: rows, stride: int64(d.shape.stride),
			head: d.shape.R, width: d.shape.width, hi: device.Ptr(hi), lo: device.Ptr(lo), pitch: d.shape.pitch(),
		})
	}
	from(b, begins)
	from(b, hi)
	from(b, lo)
	t.free(b)
	if codes != nil {
		from(b, codes)
	} else if err := pinned.Free(b.th); err != nil {
		b.Fatal(err)
	}
	states := from(b, q)
	for j := range states {
		states[j].listed -= d.beyond
	}
	after := l.back(b, states)
	for j := range states {
		want := d.states[j]
		untouched := want.flags&(flagDone|flagDense) != 0
		if !untouched {
			want.seen += want.listed
		}
		if states[j] != want {
			b.Errorf("%s: query %d: state %+v, want %+v", name, j, states[j], want)
		}
		wrong := 0
		for i, e := range d.lists[j] {
			if !untouched {
				e.estimate, e.bound = d.bound(j, e)
			}
			if after[j][i] != e {
				if wrong++; wrong < 3 {
					b.Errorf("%s: query %d, entry %d of %d: %+v, want %+v", name, j, i, len(d.lists[j]), after[j][i], e)
				}
			}
		}
	}
}

// bound returns the bound and estimate that a look gives an entry of query j's list.
func (d *rowData) bound(j int, e arm) (estimate, bound float32) {
	s, P, q := d.shape, d.shape.pitch(), &d.states[j]
	dh, dr := s.products(d.codes[int(e.atom)*s.stride:][:s.stride], d.hi[j*P:][:P], d.lo[j*P:][:P])
	step := q.restStep
	if s.signs {
		step *= 256
	}
	side, look := d.terms.Side(int(e.atom)), looks.NewBound(nil, looks.Steps{HeadStep: q.headStep, RestStep: step}, q.factors())
	estimate64, upper := look.OfSide(&side, dh, dr)
	return float32(estimate64), min(e.bound, collection.Upward(upper))
}

// deviceTerms is a terms and the buffers that it points to.
type deviceTerms struct {
	terms
	held  []*device.Buffer[float32]
	sides *device.Buffer[looks.Side]
}

func putRowTerms(b *preparer, t *looks.Terms) *deviceTerms {
	d := &deviceTerms{}
	for _, a := range []struct {
		to  *uint64
		src []float32
	}{
		{&d.headScale, t.HeadScale}, {&d.headNorm, t.HeadNorm}, {&d.headErr, t.HeadErr}, {&d.norm, t.Norm}, {&d.offset, t.Offset},
		{&d.scale, t.Scale}, {&d.radius, t.Radius}, {&d.xnorm, t.XNorm}, {&d.wholeErr, t.WholeErr},
	} {
		if a.src != nil {
			buf := to(b, a.src)
			*a.to = buf.Address()
			d.held = append(d.held, buf)
		}
	}
	return d
}

// makeSides runs the kernel `sides`, checks its output, and returns a table with the interleaved
// terms only.
func (d *deviceTerms) makeSides(b *preparer, t *looks.Terms, n int) {
	b.Helper()
	d.sides = room[looks.Side](b, n)
	b.q.sides(device.Shape{Grid: device.Dim{X: blocks(n, 256)}, Block: device.Dim{X: 256}}, sidesArgs{terms: d.terms, side: device.Ptr(d.sides), n: uint32(n)})
	got := make([]looks.Side, n)
	if err := d.sides.Download(b.th, got, 0); err != nil {
		b.Fatal(err)
	}
	for i := range got {
		if got[i] != t.Side(i) {
			b.Fatalf("terms of atom %d side by side: %+v, want %+v", i, got[i], t.Side(i))
		}
	}
	d.terms = terms{side: d.sides.Address()}
}

func (d *deviceTerms) free(b *preparer) {
	for _, buf := range d.held {
		from(b, buf)
	}
	if d.sides != nil {
		from(b, d.sides)
	}
}

// rowSizes are lengths of lists around the numbers that groups of lanes, warps and blocks process.
var rowSizes = []int{0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 200}

// memories are the locations of a look's input, for m queries: in a share for each list, in as many as
// there can be, and in some.
func memories(m int) []rowMemory {
	shape := func(want, threads int) device.Shape {
		return device.Shape{Grid: device.Dim{X: blocks(want+m, threads/32)}, Block: device.Dim{X: threads}}
	}
	return []rowMemory{
		{want: 1, shape: shape(1, 128)}, {sides: true, want: 1000, shape: shape(1000, 64)}, {pinned: true, sides: true, want: 9, shape: shape(9, 32)},
	}
}

// TestLookRows: sums are exact, and bounds equal the CPU backend's, bit for bit.
func TestLookRows(t *testing.T) {
	shapes := []rowShape{
		{R: 32, D: 768, width: 768, stride: 800}, {R: 32, D: 768, width: 128, stride: 800}, {R: 32, D: 768, width: 32, stride: 800},
		{R: 0, D: 768, width: 768, stride: 768}, {R: 32, D: 1536, width: 1536, stride: 1568}, {R: 0, D: 1536, width: 192, stride: 1536},
		{R: 32, D: 100, width: 100, stride: 132}, {R: 0, D: 100, width: 100, stride: 100}, {R: 32, D: 128, width: 64, stride: 160},
		{R: 0, D: 16, width: 16, stride: 16}, {R: 0, D: 20, width: 20, stride: 20}, {R: 32, D: 68, width: 68, stride: 112},
		{R: 144, D: 480, width: 480, stride: 624}, {R: 48, D: 84, width: 84, stride: 132}, {R: 16, D: 64, width: 64, stride: 80},
	}
	onKernels(t, func(b *preparer) {
		for i, s := range shapes {
			d := randomRows(uint64(i), s, 97, rowSizes, false)
			d.states[7].flags, d.states[10].flags, d.states[9].flags = flagDone, flagDense, flagScanned|flagRandom|flagOverflow
			for _, mem := range memories(len(d.states)) {
				d.look(b, mem)
			}
		}
	}, "looks")
}

// Sums beyond 32 bits, up to the widest rows.
func TestLookAtWideRows(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, D := range []int{1 << 16, 1<<20 - 32} {
			s := rowShape{R: 32, D: D, width: D, stride: D + 32}
			d := randomRows(0, s, 1, []int{2}, true)
			d.look(b, memories(1)[0])
		}
	}, "looks")
}

func signShape(R, D int) rowShape {
	return rowShape{R: R, D: D, width: D, stride: (R + D/8 + 63) &^ 63, signs: true}
}

// TestLookSigns: rows of 8, 16 and 32 lanes, and of several pieces a lane.
func TestLookSigns(t *testing.T) {
	shapes := []rowShape{
		signShape(32, 768), signShape(0, 768), signShape(32, 800), signShape(32, 1536), signShape(0, 1536), signShape(16, 1056),
		signShape(32, 2080), signShape(0, 4096), signShape(32, 4224), signShape(0, 8224), signShape(144, 768),
	}
	onKernels(t, func(b *preparer) {
		for i, s := range shapes {
			d := randomRows(uint64(i), s, 97, rowSizes, false)
			d.states[7].flags, d.states[10].flags, d.states[9].flags = flagDone, flagDense, flagScanned
			for _, mem := range memories(len(d.states)) {
				d.look(b, mem)
			}
		}
		randomRows(0, signShape(32, 1<<16-32), 2, []int{3}, true).look(b, memories(1)[0])
	}, "looks")
}

// TestLookAtOverflow: only the cap entries of a list that overflowed are processed.
func TestLookAtOverflow(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, s := range []rowShape{{R: 32, D: 128, width: 128, stride: 160}, signShape(0, 768)} {
			d := randomRows(5, s, 50, []int{64, 64}, false)
			d.beyond = 36
			d.look(b, memories(2)[1])
		}
	}, "looks")
}

// ready codes a query as cpu/revisit/codes.go does, and computes the factors of its bound.
func ready(c *collection.Collection, p *collection.Query, t *looks.Compiled) (q query, hi, lo []int8) {
	P := (c.R + c.D + 63) &^ 63
	hi, lo = make([]int8, P), make([]int8, P)
	head, headStep, headErr := encoded(p.Head, looks.MaxCode16)
	rest, restStep, restErr := encoded(p.Rest, looks.MaxCode16)
	var lows float64
	for i, v := range slices.Concat(head, rest) {
		lo[i] = int8(v)
		hi[i] = int8((v - int32(lo[i])) >> 8)
		if i >= c.R {
			q.highSum += float64(hi[i])
			lows += float64(lo[i]) * float64(lo[i])
		}
	}
	q.headStep, q.restStep, q.headErr, q.restErr = headStep, restStep, headErr*collection.Up, restErr*collection.Up
	if t.QueryCodes == looks.CodesHigh {
		q.restErr = (q.restErr + restStep*math.Sqrt(lows)) * collection.Up
	}
	f := t.Factors(p, q.headErr, q.restErr)
	q.exp, q.offsetFactor, q.radiusFactor = int32(p.Exp), f.OffsetFactor, f.RadiusFactor
	q.hn, q.he, q.xn, q.nn, q.we = f.HN, f.HE, f.XN, f.NN, f.WE
	return q, hi, lo
}

// searchScore is the score that bounds of an atom refer to, scaled like the query.
func searchScore(c *collection.Collection, i int, q []float32, scale float64, exp int) float64 {
	row := c.Row(int(c.Order[i]))
	var dot, squares float64
	for k := range row {
		v, w := relative(c, row, k), relative(c, q, k)
		dot += v * w
		squares += v * v
	}
	switch c.Metric {
	case collection.Cosine:
		dot *= scale / math.Sqrt(squares)
	case collection.Euclidean:
		dot -= squares / 2
	}
	return math.Ldexp(dot, -exp)
}

// relative is coordinate k of x, less the centre if there is one.
func relative(c *collection.Collection, x []float32, k int) float64 {
	if c.Centre == nil {
		return float64(x[k])
	}
	return float64(x[k]) - c.Centre[k]
}

// TestLooksCoverScores: for real collections, every bound covers the true score, and bounds of whole rows are
// near it. Student bounds fail with probability 1e-9 an atom, 5e-5 in all.
func TestLooksCoverScores(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(8, 8))
		for _, dim := range []int{100, 768, 1536} {
			for k, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
				c := buildFew(t, dim, collection.Options{Metric: metric, Seed: 5, NoHead: dim == 768 && k == 1})
				q := make([]float32, 4*dim)
				for i := range q {
					q[i] = float32(r.NormFloat64() + .3*math.Cos(float64(i%dim)))
					if i/dim == 3 { // near an atom
						q[i] = c.Row(17)[i%dim] * 1000
					}
				}
				set := looks.NewSet(c)
				for _, l := range c.Stages {
					for _, rule := range []backend.Rule{backend.Student, backend.Cauchy} {
						look := backend.Look{Rep: backend.RowCodes, To: l.Width, Rule: rule, Alpha: 1e-9}
						if l.Coding == collection.Signs {
							look.Rep = backend.Signs
						}
						t, err := set.Compile(t.Context(), look)
						if err != nil {
							b.Fatal(err)
						}
						checkCover(b, c, q, t)
					}
				}
			}
		}
	}, "looks")
}

// checkCover takes a look at all atoms of a collection for queries q, and compares the bounds with
// true scores.
func checkCover(b *preparer, c *collection.Collection, q []float32, t *looks.Compiled) {
	b.Helper()
	d := &rowData{shape: rowShape{c.R, c.D, t.To, c.R + c.D, false}, n: c.N, codes: c.Codes, terms: t.Terms}
	if t.Rep == backend.Signs {
		d.shape.signs = true
		d.codes, d.shape.stride = t.Rep.Codes(c)
	}
	all := make([]arm, c.N)
	for i := range all {
		all[i] = arm{atom: uint32(i), bound: float32(math.Inf(1))}
	}
	m := len(q) / c.Dim
	prepared, scales := make([]collection.Query, m), make([]float64, m)
	for j := range m {
		scales[j] = 1
		if c.Metric == collection.Cosine {
			scales[j] = 1 / length(q[j*c.Dim:(j+1)*c.Dim])
		}
		c.Prepare(&prepared[j], q[j*c.Dim:(j+1)*c.Dim], scales[j], nil)
		state, hi, lo := ready(c, &prepared[j], t)
		state.listed = uint32(c.N)
		d.states, d.hi, d.lo, d.lists = append(d.states, state), append(d.hi, hi...), append(d.lo, lo...), append(d.lists, all)
	}
	d.look(b, memories(m)[t.Stage%3])
	// what look checks equals the kernel's output
	for j, p := range prepared {
		for i := range all {
			estimate, bound := d.bound(j, all[i])
			score, size := searchScore(c, i, q[j*c.Dim:(j+1)*c.Dim], scales[j], p.Exp), p.Norm*float64(c.Norm[i])
			name := fmt.Sprintf("dimension %d, %v, stage %d, kind %d, query %d, atom %d", c.Dim, c.Metric, t.Stage, t.Kind, j, i)
			if float64(bound) < score {
				b.Errorf("%s: bound %g below the score %g", name, bound, score)
			}
			if t.FullWidth() && (float64(bound)-score > .1*size || math.Abs(float64(estimate)-score) > .05*size) {
				b.Errorf("%s: estimate %g, bound %g of %g", name, estimate, bound, score)
			}
		}
	}
}

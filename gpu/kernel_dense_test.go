//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// denseCase is rows, queries and a launch of the dense path.
type denseCase struct {
	n, m, dim int
	metric    collection.Metric
	lo, room  int
	mask      uint32
	flags     uint32

	rows                []float32
	inverse             []uint32
	scale, size, offset []float32
	scaled              []float64 // [queries][dim]
	centre              []float64 // for Euclidean distance
	states              []query
	filter              []uint64
	hidden              hiding
}

func (c *denseCase) String() string {
	return fmt.Sprintf("%v n=%d m=%d dim=%d lo=%d", c.metric, c.n, c.m, c.dim, c.lo)
}

// drawDense draws rows and queries with entries from draw.
func drawDense(seed uint64, metric collection.Metric, n, m, dim int, draw func(r *rand.Rand) float64) *denseCase {
	r := rand.New(rand.NewPCG(seed, uint64(n*m)))
	c := &denseCase{n: n, m: m, dim: dim, metric: metric, room: (n + 3) &^ 3, rows: make([]float32, n*dim), scaled: make([]float64, m*dim),
		scale: make([]float32, n), size: make([]float32, n), offset: make([]float32, n), inverse: make([]uint32, n), filter: make([]uint64, (n+63)/64)}
	for i := range c.filter {
		c.filter[i] = r.Uint64()
	}
	if metric == collection.Euclidean {
		c.centre = make([]float64, dim)
		for k := range c.centre {
			c.centre[k] = float64(float32(1000 * math.Cos(float64(k))))
		}
	}
	for i, v := range r.Perm(n) {
		c.inverse[i] = uint32(v)
	}
	for i := range n {
		row, norm := c.row(i), 0.
		for k := range row {
			row[k] = float32(draw(r) + c.middle(k))
			norm += (float64(row[k]) - c.middle(k)) * (float64(row[k]) - c.middle(k))
		}
		norm = math.Sqrt(norm)
		c.scale[i], c.size[i] = 1, collection.Upward(norm)
		switch metric {
		case collection.Cosine:
			c.scale[i], c.size[i] = float32(1/norm), 1
		case collection.Euclidean:
			c.offset[i] = collection.Upward(-norm * norm / 2 * (1 - looks.Slop))
		}
	}
	c.states = make([]query, m)
	for j := range c.states {
		w, s := c.query(j), &c.states[j]
		var norm float64
		for k := range w {
			w[k] = float64(float32(draw(r) + c.middle(k)))
			norm += (w[k] - c.middle(k)) * (w[k] - c.middle(k))
		}
		norm = math.Sqrt(norm)
		s.exp, s.k, s.unit, s.ceiling = int32(math.Ilogb(norm)+1), 1, 1, math.Inf(1)
		for k := range w {
			if metric != collection.Euclidean { // for Euclidean distance queries are as given
				w[k] = math.Ldexp(w[k], -int(s.exp))
			} else {
				s.unit = math.Ldexp(1, -int(s.exp))
			}
		}
		s.norm = math.Ldexp(norm, -int(s.exp)) * collection.Up
		if metric == collection.Euclidean {
			conversion := looks.NewConversion(&collection.Collection{Metric: metric, Dim: dim}, norm, int(s.exp))
			s.lead, s.give = conversion.Lead, conversion.Give
		}
	}
	for j := range c.states {
		c.open(r, j, .02)
	}
	return c
}

func (c *denseCase) row(i int) []float32   { return c.rows[i*c.dim : (i+1)*c.dim] }
func (c *denseCase) query(j int) []float64 { return c.scaled[j*c.dim : (j+1)*c.dim] }

// middle returns a coordinate of the centre.
func (c *denseCase) middle(k int) float64 {
	if c.centre == nil {
		return 0
	}
	return c.centre[k]
}

// open gives query j a threshold that is the score of some row.
func (c *denseCase) open(r *rand.Rand, j int, share float64) {
	scores := make([]float64, c.n)
	for i := range scores {
		scores[i] = c.score(i, j)
	}
	slices.Sort(scores)
	c.states[j].tau = scores[min(c.n-1, int(float64(c.n)*(1-share)))]
}

// score is the exact score, in the query's units; for Euclidean distance in product form, as bounds
// are.
func (c *denseCase) score(i, j int) float64 {
	var dot, squares float64
	w := c.query(j)
	for k := range w {
		v := float64(c.row(i)[k]) - c.middle(k)
		dot, squares = dot+v*(w[k]-c.middle(k)), squares+v*v
	}
	switch c.metric {
	case collection.Cosine:
		return dot / math.Sqrt(squares)
	case collection.Euclidean:
		return math.Ldexp(dot-squares/2, -int(c.states[j].exp))
	}
	return dot
}

// margin is the greatest error of tf32 for row i and query j, as derived in dense.cu.
func (c *denseCase) margin(i, j int) float64 {
	return (0x1p-10*(1+0x1p-9) + float64(2*c.width()+16+2*flag(c.centre != nil))*0x1p-23) * c.states[j].norm * float64(c.size[i])
}

// loose is by how much the bound of row i may exceed its score for query j.
func (c *denseCase) loose(i, j int) float64 {
	s := &c.states[j]
	offset := math.Abs(float64(c.offset[i])) * math.Ldexp(1, -int(s.exp))
	if !math.IsInf(s.tau, 0) {
		offset += math.Abs(s.tau)
	}
	return 2.01*c.margin(i, j) + 16*unit*offset + float64(c.width())*0x1p-123
}

// ranked reports whether the kernel compares the rows of a block for query j, which has no threshold.
func (c *denseCase) ranked(j int) bool {
	s := &c.states[j]
	return math.IsInf(s.tau, -1) && s.k > 0 && s.k <= 32 && math.IsInf(s.ceiling, 1)
}

// allows reports whether the query may return a row.
func (c *denseCase) allows(row, j int) bool {
	i, s := int(c.inverse[row]), &c.states[j]
	return i >= int(s.from) && (s.filter == 0 || c.filter[i/64]>>(i%64)&1 == 1) && !c.hidden.has(j, i)
}

// rivals counts the rows of the same block that query j may return and that score more than a row, and reports whether
// k of these, in different lanes, exceed it by all margins.
func (c *denseCase) rivals(row, j int) (greater int, beaten bool) {
	first, score := c.lo+(row-c.lo)/denseTile*denseTile, c.score(row, j)+c.loose(row, j)
	above := map[int]bool{}
	for other := first; other < min(first+denseTile, c.n); other++ {
		if !c.allows(other, j) {
			continue
		}
		s := c.score(other, j)
		greater += flag(s > c.score(row, j))
		if s-2*c.loose(other, j)-2*c.states[j].give*c.states[j].lead > score {
			above[other%32] = true
		}
	}
	return greater, len(above) >= int(c.states[j].k)
}

func (c *denseCase) width() int { return (c.dim + 31) &^ 31 }

// run multiplies rows lo..n-1 and returns the lists and the states after it.
func (c *denseCase) run(b *preparer) (all [][]arm, after []query) {
	b.Helper()
	filter := to(b, c.filter)
	states := slices.Clone(c.states)
	for j := range states {
		if states[j].filter != 0 {
			states[j].filter = filter.Address()
		}
	}
	hidden := c.hidden.upload(b, states)
	m := c.m
	rows, inverse, scale, size, offset := to(b, c.rows), to(b, c.inverse), to(b, c.scale), to(b, c.size), to(b, c.offset)
	scaled, ds := to(b, c.scaled), to(b, states)
	x, margin := room[float32](b, m*c.width()), room[float32](b, m)
	lists := toLists(b, make([][]arm, len(states)), c.room)
	dc := to(b, c.centre)
	centre := device.Ptr(dc)
	b.q.denseLoad(device.Shape{Grid: device.Dim{X: m}, Block: device.Dim{X: 256}}, denseLoadArgs{
		scaled: device.Ptr(scaled), dim: c.dim, queries: device.Ptr(ds), m: m, x: device.Ptr(x), ld: c.width(), margin: device.Ptr(margin),
		centre: centre,
	})
	b.q.denseTf32(device.Shape{Grid: device.Dim{X: ceil(c.n-c.lo, denseTile), Y: ceil(m, denseTile)}, Block: device.Dim{X: 256}, Shared: denseShared}, denseTf32Args{
		rows: device.Ptr(rows), dim: c.dim, lo: uint32(c.lo), hi: uint32(c.n), inverse: device.Ptr(inverse), scale: device.Ptr(scale),
		size: device.Ptr(size), offset: device.Ptr(offset), x: device.Ptr(x), ld: c.width(), margin: device.Ptr(margin), queries: device.Ptr(ds),
		m: m, mask: c.mask, value: c.flags, lists: lists.table, centre: centre,
	})
	for _, f := range []*device.Buffer[float32]{rows, scale, size, offset, x, margin} {
		from(b, f)
	}
	from(b, inverse)
	from(b, scaled)
	from(b, dc)
	from(b, filter)
	from(b, hidden)
	after = from(b, ds)
	stored := slices.Clone(after)
	for j := range stored {
		stored[j].listed = min(stored[j].listed, uint32(c.room))
	}
	return lists.back(b, stored), after
}

// faults compares lists with the exact scores: a row that reaches the threshold is listed once, one
// that misses it by twice the margin is not, and a bound is at least the score and exceeds it by at
// most twice the margin. Where rows of a block are ranked (ranked), one that is not listed has a lower score than k others of its
// block, and one is not listed that k rows in different lanes exceed by twice the margins of both.
func (c *denseCase) faults(all [][]arm, after []query) error {
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
			if len(all[j]) > 0 || after[j].flags != s.flags {
				return fmt.Errorf("query %d was not to be taken", j)
			}
			continue
		}
		full, passed := int(after[j].listed) > c.room, 0
		for row := c.lo; row < c.n; row++ {
			if !c.allows(row, j) {
				continue
			}
			i := int(c.inverse[row])
			score, loose := c.score(row, j), c.loose(row, j)
			bound, in := listed[i]
			delete(listed, i)
			switch {
			case in && !(float64(bound) >= score):
				return fmt.Errorf("query %d, row %d: bound %g below the score %g", j, row, bound, score)
			case in && float64(bound) > score+loose:
				return fmt.Errorf("query %d, row %d: bound %g above the score %g by more than %g", j, row, bound, score, loose)
			case c.ranked(j) && !full:
				greater, beaten := c.rivals(row, j)
				if !in && greater < int(s.k) {
					return fmt.Errorf("query %d, row %d: of score %g and not listed, though only %d of the block have more, of %d wanted", j, row, score, greater, s.k)
				}
				if in && beaten {
					return fmt.Errorf("query %d, row %d: of score %g and listed, though %d of the block exceed it by more than the margins", j, row, score, s.k)
				}
			case !in && !full && score >= s.tau:
				return fmt.Errorf("query %d, row %d: %g reaches %g and is not listed", j, row, score, s.tau)
			case in && score < s.tau-loose:
				return fmt.Errorf("query %d, row %d: %g does not reach %g and is listed", j, row, score, s.tau)
			}
			if score >= s.tau && !c.ranked(j) {
				passed++
			}
		}
		for i := range listed {
			return fmt.Errorf("query %d lists atom %d, which it may not", j, i)
		}
		if over := after[j].flags&flagOverflow != 0; over != full || int(after[j].listed) < passed {
			return fmt.Errorf("query %d lists %d of %d atoms with room for %d; overflow is %v", j, after[j].listed, passed, c.room, over)
		}
	}
	return nil
}

func gauss(r *rand.Rand) float64 { return r.NormFloat64() }

// denseCases are sizes around the numbers that lanes and blocks process at a time.
func denseCases() []*denseCase {
	short := func(r *rand.Rand) float64 { return 1e-30 * r.NormFloat64() }
	least := func(r *rand.Rand) float64 { return 1e-42 * r.NormFloat64() } // 2^-exp exceeds float32
	long := func(r *rand.Rand) float64 { return 1e30 * r.NormFloat64() }
	return []*denseCase{
		drawDense(1, collection.InnerProduct, 1, 1, 1, gauss),
		drawDense(2, collection.InnerProduct, 127, 3, 31, gauss),
		drawDense(3, collection.Cosine, 129, 65, 33, gauss),
		drawDense(4, collection.Euclidean, 300, 129, 100, gauss),
		drawDense(5, collection.InnerProduct, 260, 128, 200, gauss),
		drawDense(6, collection.Cosine, 500, 20, 96, short),
		drawDense(7, collection.InnerProduct, 130, 17, 64, long),
		drawDense(8, collection.InnerProduct, 140, 9, 70, short),
		drawDense(9, collection.InnerProduct, 400, 130, 12, gauss), // four tiles of rows by two of queries
		drawDense(10, collection.InnerProduct, 70, 5, 20, least),
	}
}

func TestDense(t *testing.T) { denseAll(t, denseCases()) }

func denseAll(t *testing.T, cases []*denseCase) {
	onKernels(t, func(b *preparer) {
		for _, c := range cases {
			all, after := c.run(b)
			if err := c.faults(all, after); err != nil {
				b.Errorf("%v: %v", c, err)
			}
		}
	}, "dense")
}

// TestDenseRoundsItsWorst: rows and queries with the greatest roundings to tf32, all in the same
// direction, reach a threshold equal to their score; on the emulator also with sums truncated as by
// the least exact tensor cores.
func TestDenseRoundsItsWorst(t *testing.T) {
	down := func(r *rand.Rand) float64 { return 1 + 0x1p-11 - 0x1p-22 }
	mixed := func(r *rand.Rand) float64 { return down(r) * math.Ldexp(1, r.IntN(3)) }
	alternating := func(r *rand.Rand) float64 { return down(r) * float64(1-2*r.IntN(2)) }
	// rows that lose twice as much by truncation as by rounding, and queries that are rounded down
	cut := func() func(r *rand.Rand) float64 {
		left := 33 * 515
		return func(r *rand.Rand) float64 {
			if left--; left >= 0 {
				return 1 + 0x1p-10 - 0x1p-22
			}
			return down(r)
		}
	}
	for _, sums := range []string{"", "truncate"} {
		t.Setenv("EMU_MMA", sums)
		cases := []*denseCase{drawDense(30, collection.InnerProduct, 33, 5, 515, cut())}
		for _, draw := range []func(r *rand.Rand) float64{down, mixed, alternating, gauss} {
			for _, dim := range []int{1, 40, 515, 2048} {
				cases = append(cases, drawDense(uint64(dim), collection.InnerProduct, 33, 5, dim, draw))
			}
		}
		denseAll(t, cases)
	}
}

// TestDenseRanks: of queries without a threshold, the rows that can be among the k best of their block are listed, and no
// more than a few others; none is missing because of rows that the query may not return, of great margins, of equal
// scores, or above a ceiling.
func TestDenseRanks(t *testing.T) {
	spread := func(r *rand.Rand) float64 { return r.NormFloat64() * math.Exp(4*r.NormFloat64()) }
	whole := func(r *rand.Rand) float64 { return float64(r.IntN(3) - 1) } // many equal scores
	var cases []*denseCase
	for n, draw := range []func(r *rand.Rand) float64{gauss, spread, whole} {
		for m := range collection.Metrics() {
			c := drawDense(uint64(40+n), collection.Metric(m+1), 330, 34, []int{70, 8, 12}[n], draw)
			r := rand.New(rand.NewPCG(41, uint64(m)))
			c.lo, c.hidden = []int{0, 37}[m%2], drawHiding(r, len(c.states), c.n)
			for j := range c.states {
				s := &c.states[j]
				s.tau, s.k = math.Inf(-1), []uint32{1, 2, 10, 31, 32, 33, 0}[j%7]
				if j%3 == 0 {
					s.filter = 1
				}
				if j%4 == 1 {
					s.from = uint32(r.IntN(c.n))
				}
				if j%9 == 5 { // rows above it give no threshold
					s.ceiling = c.score(r.IntN(c.n), j)
				}
			}
			cases = append(cases, c)
		}
	}
	// The best row is short, and the bound of a long one, which scores less, is greater.
	long := drawDense(44, collection.InnerProduct, 128, 3, 2, gauss)
	for i := range long.n {
		copy(long.row(i), []float32{1 - float32(i)*1e-6, 4 * float32(i)})
		long.size[i] = collection.Upward(math.Hypot(1, 4*float64(i)))
	}
	for j := range long.states {
		copy(long.query(j), []float64{.5, 0})
		long.states[j].tau, long.states[j].norm, long.states[j].k = math.Inf(-1), .5*collection.Up, uint32(1+j)
	}
	denseAll(t, append(cases, long))
}

// TestDenseOfSomeQueries: queries with flags that exclude them, with filters, with lists of atoms that may
// not be returned and from some atom on only, without a threshold or with one out of reach; rows that are never out of reach; lists that are too short.
func TestDenseOfSomeQueries(t *testing.T) {
	c := drawDense(20, collection.Cosine, 400, 40, 24, gauss)
	c.mask, c.flags = flagDone|flagDense, flagDense
	r := rand.New(rand.NewPCG(20, 20))
	c.hidden = drawHiding(r, len(c.states), c.n)
	for j, s := range c.states {
		s.flags = flagDense
		switch j % 5 {
		case 0:
			s.tau = math.Inf(-1)
		case 1:
			s.tau = 1e300
		case 2:
			s.flags = flagDense | flagDone
		}
		if j%2 == 0 {
			s.filter = 1
		}
		if j%4 == 1 {
			s.from = uint32(r.IntN(c.n))
		}
		c.states[j] = s
	}
	later := *c
	later.lo = 130
	short := *c
	short.room = 12
	denseAll(t, []*denseCase{c, &later, &short})

	far := drawDense(21, collection.InnerProduct, 140, 3, 16, gauss)
	for i := range far.size {
		far.scale[i], far.size[i] = 0, float32(math.Inf(1))
	}
	far.states[0].tau, far.states[1].tau = 1e30, math.Inf(-1)
	far.states[2].norm = 0 // a query of zeros: its margin times infinity is NaN
	clear(far.query(2))
	onKernels(t, func(b *preparer) {
		all, _ := far.run(b)
		for j := range all {
			for _, a := range all[j] {
				if !math.IsInf(float64(a.bound), 1) {
					b.Errorf("query %d, atom %d: bound %g", j, a.atom, a.bound)
				}
			}
			if len(all[j]) != far.n {
				b.Errorf("query %d lists %d rows of %d that are never out of reach", j, len(all[j]), far.n)
			}
		}
	}, "dense")
}

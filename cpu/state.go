package cpu

import (
	"math"
	"math/bits"
	"slices"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/simd"
)

// arm is a survivor: an atom by internal index and its least upper bound so
// far, in the query's scaled units.
type arm struct {
	bound float64
	i     uint32
	whole bool // bound comes from the whole coded row
}

// state is one query under elimination. Scores inside are scaled by 2^-exp;
// they leave it unscaled.
type state struct {
	c    *collection.Collection
	goal backend.Goal
	exp  int
	q    []float64 // scaled (and normalised for cosine), in given coordinates
	prep collection.Query

	panel, rows codes // 8-bit codes for panels, 16-bit for rows

	epsilon, floor float64
	best           top
	lower          top // deterministic lower bounds, when they raise
	tau            float64

	whole    *bound // for deterministic lower bounds
	list     []arm  // survivors in internal order
	listed   bool   // list holds all survivors: some look has seen everybody
	next     int    // first panel not scanned
	dense    bool
	toDense  bool // a look sent the query to the dense path
	random   bool
	owed     int      // rows to be scored if no arm is dropped by a random bound
	spare    []scored // of dense scans that were stopped
	looks    []backend.LookReport
	pulls    int64
	bytes    int64
	rowsRead int
	slab     *slab // float32 looks
}

// codes are a query's integer codes and what one step of them is worth.
type codes struct {
	head, rest       []int16
	wide             []int64 // head then rest, for the panel kernel
	narrow           []int8  // likewise, for few queries
	headStep         float64
	restStep         float64
	headErr, restErr float64 // |w - coded w|, rounded upward
	headBias         int64   // 128 sum of head
	restBias         []int64 // 128 sum of the first width of rest, per level
}

const (
	up   = 1 + 1e-9
	unit = 1.0 / (1 << 24)
	// slop covers the float32 operations of one panel test: eight roundings
	// of terms no greater than their norms' product.
	slop = 8 * unit
	// least covers what those operations lose below the normal numbers, half a
	// step each.
	least = 8 * math.SmallestNonzeroFloat32
)

// begin makes query q ready.
func (s *state) begin(c *collection.Collection, q []float32, g backend.Goal, w *scratch) {
	s.c, s.goal = c, g
	norm := math.Sqrt(simd.SumSquares(q))
	scale := 1.0
	if c.Metric == collection.Cosine && norm > 0 {
		scale = 1 / norm
	}
	s.exp = c.Metric.Exponent(norm * scale)
	f := math.Ldexp(scale, -s.exp)
	s.q = make([]float64, len(q))
	for j, v := range q {
		s.q[j] = float64(v) * f
	}
	s.epsilon = math.Ldexp(g.Epsilon, -s.exp)
	s.floor = math.Ldexp(g.Floor, -s.exp)
	s.best.k, s.lower.k = g.K, g.K
	s.tau = s.floor
	if c.Coded() {
		c.Prepare(&s.prep, q, scale, w.query)
		s.panel = s.encode(127, c.PanelWidth)
		s.rows = s.encode(32767, c.D)
	}
}

// encode rounds the query's head and the first width rest coordinates to
// integers of magnitude at most limit.
func (s *state) encode(limit int32, width int) codes {
	c := s.c
	k := codes{head: make([]int16, c.R), rest: make([]int16, width)}
	k.headStep, k.headErr = encode(k.head, s.prep.Head, limit)
	k.restStep, k.restErr = encode(k.rest, s.prep.Rest[:width], limit)
	for _, v := range k.head {
		k.headBias += simd.Bias * int64(v)
	}
	k.restBias = make([]int64, len(c.Levels))
	var sum int64
	from := 0
	for l := range c.Levels {
		for ; from < min(c.Levels[l].Width, width); from++ {
			sum += int64(k.rest[from])
		}
		k.restBias[l] = simd.Bias * sum
	}
	if limit <= 127 {
		k.wide, k.narrow = make([]int64, c.R+width), make([]int8, c.R+width)
		for j, v := range slices.Concat(k.head, k.rest) {
			k.wide[j], k.narrow[j] = int64(v), int8(v)
		}
	}
	return k
}

func encode(dst []int16, x []float32, limit int32) (step, err float64) {
	step = float64(simd.MaxAbs(x)) / float64(limit)
	if step < 1e-30 {
		return 0, math.Sqrt(simd.SumSquares(x)) * up
	}
	simd.QuantizeSigned(dst, x, float32(1/step), limit)
	step = float64(float32(step))
	var sum float64
	for j, v := range x {
		d := float64(v) - step*float64(dst[j])
		sum += d * d
	}
	return step, math.Sqrt(sum) * up
}

// allows reports whether atom i may be returned.
func (s *state) allows(i int) bool {
	return i != s.goal.Skip && (s.goal.Filter == nil || s.goal.Filter[i/64]>>(i%64)&1 == 1)
}

// allowed is the mask of the atoms of panel p that may be returned.
func (s *state) allowed(p int) uint64 {
	mask := ^uint64(0)
	if n := s.c.N - p*64; n < 64 {
		mask = 1<<n - 1
	}
	if s.goal.Filter != nil {
		mask &= s.goal.Filter[p]
	}
	if k := s.goal.Skip; k >= 0 && k/64 == p {
		mask &^= 1 << (k % 64)
	}
	return mask
}

// allowedIn counts the atoms of panels lo..hi-1 that may be returned.
func (s *state) allowedIn(lo, hi int) int {
	n := 0
	for p := lo; p < hi; p++ {
		n += bits.OnesCount64(s.allowed(p))
	}
	return n
}

// score takes the exact score of atom i into the answers and lifts tau.
func (s *state) score(i int) {
	row := s.c.Order[i]
	s.readRows(1)
	s.take(scored{s.exact(int(row)), row})
}

// readRows counts n rows read whole.
func (s *state) readRows(n int) {
	s.rowsRead += n
	s.pulls += int64(n) * int64(s.c.Dim)
	s.bytes += 4 * int64(n) * int64(s.c.Dim)
}

func (s *state) take(x scored) {
	if x.score < s.floor {
		return
	}
	s.best.push(x)
	if s.best.full() {
		s.tau = max(s.tau, s.best.heap[0].score+s.epsilon)
	}
}

// exact is the search score of a row, scaled.
func (s *state) exact(row int) float64 {
	v := s.c.Row(row)
	t := simd.Dot(v, s.q)
	switch s.c.Metric {
	case collection.Cosine:
		if n := s.c.RowNorm[row]; n > 0 {
			return t / n
		}
		return 0
	case collection.Euclidean:
		return t - math.Ldexp(simd.SumSquares(v)/2, -s.exp)
	}
	return t
}

// offset is atom i's offset, scaled; an upper bound of the true one.
func (s *state) offset(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	return math.Ldexp(float64(s.c.Offset[i]), -s.exp)
}

// offsetWidth bounds how far the true offset of atom i lies below offset: that
// rounds away what is too small for float32.
func (s *state) offsetWidth(i int) float64 {
	if s.c.Offset == nil {
		return 0
	}
	n := float64(s.c.Norm[i])
	return max(0, s.offset(i)+math.Ldexp(n*n/2, -s.exp)*up)
}

// cap bounds the scores of all atoms from panel p on: PanelMax covers their
// norms, and offsets are never positive.
func (s *state) cap(p int) float64 {
	if p >= s.c.PanelCount() {
		return math.Inf(-1)
	}
	return s.prep.Norm * float64(s.c.PanelMax(p).Norm) * up
}

// report notes what a look did.
func (s *state) report(l backend.Look, seen, kept int) {
	s.looks = append(s.looks, backend.LookReport{Look: l, Seen: seen, Survivors: kept})
}

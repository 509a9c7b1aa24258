package verify

import (
	"context"
	"math"
	"slices"
)

// probe is an answer under some theories.
type probe struct {
	*specimen
	near    []float64 // the query as the oracle has it
	given   []float64 // as given
	length  float64   // |q|, as given
	rounded [][]float64
	stated  [][]scored // of the answer's vectors, by theory
	tops    []top      // the best of the vectors seen, by theory
}

// vector is a row while it is seen.
type vector struct {
	row     int64
	near    []float64 // as the oracle has it
	given   []float64
	length  float64
	rounded [][]float64 // by theory; valid where isRounded
	is      []bool
}

// probes is a comparison of answers with vectors under theories.
type probes struct {
	r    *Reasons
	left []theory
	list []*probe
	v    vector
}

const (
	// maxTops bounds the scores that probes keep for a theory.
	maxTops = 1 << 15
	// minProbes is how many answers must be compared.
	minProbes = 3
)

// try returns probes of as many of the answers as may read all vectors.
func (r *Reasons) try(left []theory) *probes {
	t := &probes{r: r, left: left}
	most := int(maxExamined / int64(max(1, r.oracle.n*r.oracle.dim)))
	size := 0
	fits := func(e *specimen) bool {
		if e.Bounded || size+len(e.Best) > maxTops || len(t.list) >= most {
			return false
		}
		size += len(e.Best)
		return true
	}
	for _, e := range r.lacking {
		if fits(e) {
			t.list = append(t.list, t.probe(e))
		}
	}
	if len(t.list) < min(minProbes, len(r.lacking)) {
		return nil
	}
	for _, e := range r.complete {
		if fits(e) {
			t.list = append(t.list, t.probe(e))
		}
	}
	dim := r.oracle.dim
	t.v = vector{near: make([]float64, dim), given: make([]float64, dim), rounded: make([][]float64, len(left)), is: make([]bool, len(left))}
	for i := range left {
		t.v.rounded[i] = make([]float64, dim)
	}
	for _, one := range t.list {
		t.state(one)
	}
	return t
}

// give writes x as it was given to out.
func (r *Reasons) give(out, x []float64) {
	copy(out, x)
	for c, y := range r.origin {
		out[c] += y
	}
}

func (t *probes) probe(e *specimen) *probe {
	dim := t.r.oracle.dim
	one := &probe{specimen: e, near: e.Q, given: make([]float64, dim), rounded: make([][]float64, len(t.left)), stated: make([][]scored, len(t.left)), tops: make([]top, len(t.left))}
	t.r.give(one.given, e.Q)
	one.length = norm(one.given)
	for i := range t.left {
		h := &t.left[i]
		one.tops[i].k = one.wanted(h)
		if h.rounding != nil {
			one.rounded[i] = one.given
			if h.rounding.queries {
				one.rounded[i] = make([]float64, dim)
				h.rounding.apply(one.rounded[i], one.given, one.length)
			}
		}
	}
	return one
}

// wanted is how many vectors the answer should have under a theory.
func (t *probe) wanted(h *theory) int {
	if h.all {
		return max(1, len(t.IDs))
	}
	return len(t.Best)
}

// look makes a row the vector that is seen.
func (t *probes) look(row int64) {
	o, v := t.r.oracle, &t.v
	v.row, v.near = row, o.row64(int(row), v.near)
	t.r.give(v.given, v.near)
	v.length = norm(v.given)
	clear(v.is)
}

// score returns the score of the vector that is seen for a probe, under theory i without its rounding.
func (t *probes) score(one *probe, i int, squared float64) scored {
	dot := (one.length*one.length + t.v.length*t.v.length - squared) / 2
	return t.left[i].of(dot, squared, one.length, t.v.length)
}

// roundedScore is score with the rounding.
func (t *probes) roundedScore(one *probe, i int) scored {
	v, h := &t.v, &t.left[i]
	if !v.is[i] {
		h.rounding.apply(v.rounded[i], v.given, v.length)
		v.is[i] = true
	}
	var dot, squared, q2, v2 float64
	for c, x := range v.rounded[i] {
		y := one.rounded[i][c]
		dot, squared, q2, v2 = dot+x*y, squared+(x-y)*(x-y), q2+y*y, v2+x*x
	}
	return h.of(dot, squared, math.Sqrt(q2), math.Sqrt(v2))
}

// state scores the vectors of an answer.
func (t *probes) state(one *probe) {
	seen := map[int64]bool{}
	for _, row := range one.IDs {
		if row < 0 || row >= int64(t.r.oracle.n) || seen[row] {
			continue
		}
		seen[row] = true
		t.look(row)
		squared, may := t.squared(one), one.May == nil || one.May(row)
		for i := range t.left {
			switch h := &t.left[i]; {
			case !may && !h.all:
			case h.rounding != nil:
				one.stated[i] = append(one.stated[i], t.roundedScore(one, i))
			default:
				one.stated[i] = append(one.stated[i], t.score(one, i, squared))
			}
		}
	}
}

func (t *probes) squared(one *probe) float64 {
	sum := 0.0
	for c, x := range t.v.near {
		sum += (one.near[c] - x) * (one.near[c] - x)
	}
	return sum
}

// see compares the vector that is seen with those of a probe.
func (t *probes) see(one *probe, squared float64) {
	may := one.May == nil || one.May(t.v.row)
	for i := range t.left {
		h := &t.left[i]
		if !may && !h.all {
			continue
		}
		s := t.score(one, i, squared).value
		if h.rounding != nil {
			if s+h.changes(squared, one.length, t.v.length, len(t.v.given)) < one.tops[i].least() {
				continue
			}
			s = t.roundedScore(one, i).value
		}
		one.tops[i].add(s)
	}
}

// scan compares the answers with all vectors under the theories that their own and the best vectors do not refute.
func (r *Reasons) scan(ctx context.Context, turn func(int) error) (found []Reason, err error) {
	t := r.try(r.theories())
	if t == nil {
		return nil, nil
	}
	for _, one := range t.list {
		rows := slices.Concat(one.Best, one.IDs)
		slices.Sort(rows)
		for _, row := range slices.Compact(rows) {
			if row >= 0 && row < int64(r.oracle.n) {
				t.look(row)
				t.see(one, t.squared(one))
			}
		}
	}
	var left []theory
	for i := range t.left {
		if t.verdict(i) != nil {
			left = append(left, t.left[i])
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	t = r.try(left)
	if err := t.seeAll(ctx, turn); err != nil {
		return nil, err
	}
	for i := range left {
		one := t.verdict(i)
		if one == nil {
			continue
		}
		// Of roundings, only what explains most.
		at := slices.IndexFunc(found, func(other Reason) bool { return other.Kind == one.Kind && one.Kind == BecauseRounded })
		switch {
		case at < 0:
			found = append(found, *one)
		case one.Queries > found[at].Queries || one.Queries == found[at].Queries && one.Recall > found[at].Recall:
			found[at] = *one
		}
	}
	return found, nil
}

// seenAtOnce is about the number of coordinates that are read between two turns.
const seenAtOnce = 1 << 21

// seeAll sees all vectors. It fails with ctx, and with turn.
func (t *probes) seeAll(ctx context.Context, turn func(int) error) error {
	o := t.r.oracle
	step := max(1, seenAtOnce/(o.dim*len(t.list)))
	for row := range o.n {
		if row%step == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if turn != nil {
				if err := turn(min(step, o.n-row) * o.dim * len(t.list)); err != nil {
					return err
				}
			}
		}
		t.look(int64(row))
		for first := 0; first < len(t.list); first += tile {
			var q [tile][]float64
			for at := range q {
				q[at] = t.list[min(first+at, len(t.list)-1)].near
			}
			for at, squared := range far4(&q, t.v.near) {
				if first+at < len(t.list) {
					t.see(t.list[first+at], squared)
				}
			}
		}
	}
	return nil
}

// verdict says what theory i explains, nil if it is not decided.
func (t *probes) verdict(i int) *Reason {
	var v verdict
	h := &t.left[i]
	for _, one := range t.list {
		hits, wanted := 0, one.wanted(h)
		for _, s := range one.stated[i] {
			if s.value >= one.tops[i].least()-s.room {
				hits++
			}
		}
		v.add(one.lacks, wanted-min(hits, wanted), wanted)
	}
	return v.reason(h.kind, h.text)
}

// top holds the k greatest of the numbers added, the least of them first, each greater than none of the two that
// follow it in the tree of a heap.
type top struct {
	k    int
	heap []float64
}

// least is the k-th greatest number; -Inf of fewer.
func (t *top) least() float64 {
	if len(t.heap) < t.k {
		return math.Inf(-1)
	}
	return t.heap[0]
}

func (t *top) add(x float64) {
	h := t.heap
	if len(h) < t.k {
		h = append(h, x)
		for at := len(h) - 1; at > 0 && h[at] < h[(at-1)/2]; at = (at - 1) / 2 {
			h[at], h[(at-1)/2] = h[(at-1)/2], h[at]
		}
		t.heap = h
		return
	}
	if !(x > h[0]) {
		return
	}
	at := 0
	for child := 1; child < len(h); child = 2*at + 1 {
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= x {
			break
		}
		h[at] = h[child]
		at = child
	}
	h[at] = x
}

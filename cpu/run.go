package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// run is one batch. The states are walked in blocks, by several goroutines.
type run struct {
	r      *resident
	c      *collection.Collection
	states []state
	scaled []float64       // [queries][Dim]
	heads  []float32       // [queries][R]
	rests  []float32       // [queries][D]
	whole  *looks.Compiled // of looks at whole rows
	closed bool
}

// reset makes room for m queries.
func (x *run) reset(m int) (err error) {
	c := x.c
	if cap(x.states) < m {
		x.states = append(x.states[:cap(x.states)], make([]state, m-cap(x.states))...)
	}
	x.states = x.states[:m]
	x.scaled = grow(x.scaled, m*c.Dim)
	if c.Coded() {
		x.heads, x.rests = grow(x.heads, m*c.R), grow(x.rests, m*c.D)
		x.whole, err = x.r.terms(backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy})
	}
	x.closed = false
	return err
}

// Close gives the batch's memory back; what Finish returned is not part of it.
func (x *run) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	x.r.runs.Put(&run{r: x.r, c: x.c, states: x.states, scaled: x.scaled, heads: x.heads, rests: x.rests})
	x.states = nil
	return nil
}

// Pull takes a look at the survivors.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	var err error
	switch {
	case l.Rep.ForFirstLook():
		err = x.scan(ctx, l)
	case l.Rep.Coded():
		err = x.revisit(ctx, l)
	case l.Rep == backend.Float32:
		err = x.slabs(ctx, l)
		x.oweSlabs(l)
	default:
		err = fmt.Errorf("%v: %w", l.Rep, backend.ErrRuleUnsupported)
	}
	if err == nil {
		err = x.sendDense(ctx)
	}
	return x.survivors(), err
}

// Floor raises the floors of the queries, and their thresholds with them; arms that
// cannot reach these are dropped as the next step meets them.
func (x *run) Floor(_ context.Context, floors []float64) error {
	if x.closed {
		return backend.ErrClosed
	}
	if err := backend.CheckFloors(floors, len(x.states)); err != nil {
		return err
	}
	for j, f := range floors {
		s := &x.states[j]
		s.floor = max(s.floor, math.Ldexp(f, -s.exp))
		s.tau = max(s.tau, s.scale.Threshold(s.floor))
	}
	return nil
}

// oweSlabs notes for each query that arms can be dropped from here on by what a
// float32 look bounds, unless all that are left are scored.
func (x *run) oweSlabs(l backend.Look) {
	if l.Rule == backend.Cauchy || l.To >= max(x.c.Dim, x.c.D) {
		return
	}
	for j := range x.states {
		if s := &x.states[j]; s.slab != nil && s.owed == 0 {
			s.owed = s.rowsRead + len(s.slab.arms)
		}
	}
}

// sendDense answers the queries whose looks kept too many by the dense path.
func (x *run) sendDense(ctx context.Context) error {
	var js []int
	for j := range x.states {
		if x.states[j].phase == crowded {
			js = append(js, j)
		}
	}
	if len(js) == 0 {
		return nil
	}
	return x.Dense(ctx, js...)
}

func (x *run) survivors() backend.Survivors {
	left := make(backend.Survivors, len(x.states))
	for j := range x.states {
		left[j], _ = x.states[j].open()
	}
	return left
}

// open counts the survivors that still reach the threshold and the greatest
// bound among them; atoms that no look has seen count by their norms.
func (s *state) open() (n int, most float64) {
	most = math.Inf(-1)
	if s.phase >= answered {
		return 0, most
	}
	if s.slab != nil {
		return s.slab.open(s)
	}
	least := s.least32()
	for _, b := range s.list.bounds {
		if b >= least {
			n++
			most = max(most, float64(b))
		}
	}
	for _, a := range s.finalists {
		if a.bound >= s.tau {
			n++
			most = max(most, a.bound)
		}
	}
	if math.IsInf(most, 1) { // of an arm that no look has seen
		most = s.normCap()
	}
	if s.phase == listed {
		return n, most
	}
	if left := s.countBeyond(s.next); left > 0 {
		c := s.normCap()
		if s.c.Coded() {
			c = s.cap(s.next)
		}
		if c >= s.tau {
			n, most = n+left, max(most, c)
		}
	}
	return n, most
}

// partialRows bounds how many rows a query scores after its deadline, so that
// a partial answer is the best of something.
const partialRows = 256

// Finish scores the survivors exactly, best bound first, until no bound
// reaches the threshold. When ctx has ended it scores the few best only and
// tells what stays open.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	var here []int
	for j := range x.states {
		if x.states[j].phase != gone {
			here = append(here, j)
		}
	}
	out := make(backend.Answers, len(x.states))
	return out, x.finish(ctx, here, func(k int, a backend.Answer) { out[here[k]] = a })
}

// finish finishes queries js and hands over the answer of each, js[k].
func (x *run) finish(ctx context.Context, js []int, take func(k int, a backend.Answer)) error {
	if err := x.sendUnseen(ctx, js); err != nil {
		return err
	}
	// a context that ended must not keep the leaders from being scored
	return x.r.each(context.WithoutCancel(ctx), len(js), func(w *scratch, k int) error {
		s := &x.states[js[k]]
		s.finish(ctx, w)
		take(k, s.answer())
		return nil
	})
}

// sendUnseen answers by the dense path those of queries of which no look has seen
// all atoms, unless ctx has ended.
func (x *run) sendUnseen(ctx context.Context, queries []int) error {
	if ctx.Err() != nil {
		return nil
	}
	var js []int
	for _, j := range queries {
		if s := &x.states[j]; s.phase == unseen || s.phase == crowded {
			js = append(js, j)
		}
	}
	if len(js) == 0 {
		return nil
	}
	if err := x.Dense(ctx, js...); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *state) finish(ctx context.Context, w *scratch) {
	s.conclude()
	left := s.finalists
	s.finalists = nil
	if s.phase == answered {
		s.finalists = left[:0]
		s.list.cut(0)
		return
	}
	defer s.takeSpare()
	if s.slab != nil {
		left = s.slab.release(left)
		s.slab = nil
	}
	for k, i := range s.list.ids {
		if b := float64(s.list.bounds[k]); b >= s.tau || s.list.bounds[k] >= s.least32() {
			left = append(left, arm{bound: b, i: i})
		}
	}
	s.list.cut(0)
	slices.SortFunc(left, byBound)
	done := 0
	// what a context leaves moves to the front: the memory is used again
	defer func() { s.finalists = append(left[:0], left[done:]...) }()
	few := min(max(s.goal.K, 1), partialRows)
	// the k best at once, then a few at a time: each may lift the threshold
	for n := few; done < len(left) && s.reaches(left[done].bound); n = 4 {
		if ctx.Err() != nil && done >= few {
			return
		}
		n = min(n, len(left)-done)
		for n > 1 && !s.reaches(left[done+n-1].bound) {
			n--
		}
		s.scoreAll(w, left[done:done+n])
		done += n
	}
	done = len(left)
}

// byBound orders arms by bound descending, then by index.
func byBound(a, b arm) int {
	switch {
	case a.bound > b.bound:
		return -1
	case a.bound < b.bound:
		return 1
	}
	return int(a.i) - int(b.i)
}

// reaches reports whether a bound, perhaps from a list, reaches the threshold.
func (s *state) reaches(bound float64) bool {
	return bound >= s.tau || float32(bound) >= s.least32()
}

// scoreAll scores arms exactly, their rows fetched ahead.
func (s *state) scoreAll(w *scratch, arms []arm) {
	w.ids, w.scores = grow(w.ids, len(arms)), grow(w.scores, len(arms))
	for k, a := range arms {
		w.ids[k] = s.c.Order[a.i]
	}
	s.exacts(w.scores, w.ids)
	s.readRows(len(arms))
	for k, row := range w.ids {
		s.take(scored{w.scores[k], row})
	}
}

// takeSpare takes what dense scans that were stopped had found, less what was
// scored otherwise.
func (s *state) takeSpare() {
	if len(s.spare) == 0 {
		return
	}
	have := make(map[uint32]bool, len(s.best.heap))
	for _, a := range s.best.heap {
		have[a.row] = true
	}
	for _, a := range s.spare {
		if !have[a.row] {
			have[a.row] = true
			s.take(a)
		}
	}
	s.spare = nil
}

// answer takes the answer out of the state.
func (s *state) answer() backend.Answer {
	_, open := s.open()
	a := backend.Answer{Looks: s.looks, Pulls: s.pulls, Bytes: s.bytes, RowsScored: s.rowsRead,
		Tau: math.Ldexp(s.threshold(), s.exp), OpenBound: math.Ldexp(s.scale.UpperScore(open), s.exp), Random: s.random || s.rowsRead < s.owed, Dense: s.phase == answered}
	best := s.best.sorted()
	for len(best) > 0 && best[len(best)-1].score < s.floor { // which rose after they were scored
		best = best[:len(best)-1]
	}
	a.IDs, a.Scores = make([]int64, len(best)), make([]float64, len(best))
	for k, b := range best {
		a.IDs[k], a.Scores[k] = int64(b.row), math.Ldexp(b.score, s.exp)
	}
	return a
}

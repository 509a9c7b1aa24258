package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/collection"
)

// run is one batch. The states are walked one by one, by several goroutines.
type run struct {
	r      *resident
	c      *collection.Collection
	states []state
	raise  backend.RaiseSpec
	first  int // panels the first raise scored
	closed bool
}

func (x *run) Close() error {
	x.closed = true
	x.states = nil
	return nil
}

// Raise scores the first atoms in collection order, or the leaders among the
// survivors once there are some.
func (x *run) Raise(ctx context.Context, spec backend.RaiseSpec) error {
	if x.closed {
		return backend.ErrClosed
	}
	x.raise = spec
	if x.c.Coded() && x.first == 0 {
		x.first = min((spec.PerQuery+63)/64, x.c.PanelCount())
	}
	return x.r.each(ctx, len(x.states), func(_ *scratch, j int) error {
		s := &x.states[j]
		switch {
		case s.dense:
		case s.slab != nil:
			s.slab.leaders(s, spec.PerQuery)
		case !x.c.Coded():
		case s.listed:
			s.leaders(spec)
		case s.next == 0:
			for i := range min(x.first*64, x.c.N) {
				if !s.allows(i) {
					continue
				}
				if a, more := s.lift(spec.Source, arm{bound: math.Inf(1), i: uint32(i)}); more {
					s.list = append(s.list, a)
				}
			}
			s.next = x.first
		}
		return nil
	})
}

// leaders scores the survivors of greatest bound and drops what falls below the
// lifted threshold.
func (s *state) leaders(spec backend.RaiseSpec) {
	if spec.PerQuery <= 0 {
		s.prune()
		return
	}
	order := make([]int, len(s.list))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return byBound(s.list[a], s.list[b]) })
	gone := make([]bool, len(s.list))
	for _, k := range order[:min(spec.PerQuery, len(order))] {
		if s.list[k].bound < s.tau {
			break
		}
		if s.list[k].whole {
			continue
		}
		a, more := s.lift(spec.Source, s.list[k])
		s.list[k], gone[k] = a, !more
	}
	kept := s.list[:0]
	for k, a := range s.list {
		if !gone[k] && a.bound >= s.tau {
			kept = append(kept, a)
		}
	}
	s.list = kept
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

// Pull takes the looks in order.
func (x *run) Pull(ctx context.Context, looks ...backend.Look) (backend.Tally, error) {
	if x.closed {
		return backend.Tally{}, backend.ErrClosed
	}
	var err error
	for _, l := range looks {
		switch l.Rep {
		case backend.Panels:
			err = x.scan(ctx, l)
		case backend.Rows:
			err = x.revisit(ctx, l)
		case backend.Float32:
			err = x.slabs(ctx, l)
			x.oweSlabs(l)
		default:
			err = fmt.Errorf("representation %d: %w", l.Rep, backend.ErrRuleUnsupported)
		}
		if err == nil {
			err = x.sendDense(ctx)
		}
		if err != nil {
			break
		}
	}
	return x.tally(), err
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
		if x.states[j].toDense && !x.states[j].dense {
			js = append(js, j)
		}
	}
	if len(js) == 0 {
		return nil
	}
	return x.Dense(ctx, js...)
}

func (x *run) tally() backend.Tally {
	m := len(x.states)
	t := backend.Tally{Survivors: make([]int, m), Tau: make([]float64, m), Open: make([]float64, m), Dense: make([]bool, m)}
	for j := range x.states {
		s := &x.states[j]
		t.Survivors[j], t.Open[j] = s.open()
		t.Tau[j], t.Dense[j] = math.Ldexp(s.tau, s.exp), s.dense
		t.Open[j] = math.Ldexp(t.Open[j], s.exp)
	}
	return t
}

// open counts the survivors that still reach the threshold and the greatest
// bound among them; atoms that no look has seen count by their norms.
func (s *state) open() (n int, most float64) {
	most = math.Inf(-1)
	if s.dense {
		return 0, most
	}
	if s.slab != nil {
		return s.slab.open(s)
	}
	for _, a := range s.list {
		if a.bound >= s.tau {
			n++
			most = max(most, a.bound)
		}
	}
	if math.IsInf(most, 1) { // of an arm that no look has seen
		most = s.normCap()
	}
	if !s.listed {
		if !s.c.Coded() {
			return s.c.N, s.normCap()
		}
		if c := s.cap(s.next); c >= s.tau {
			n += s.c.N - s.next*64
			most = max(most, c)
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
	if err := x.sendUnseen(ctx); err != nil {
		return nil, err
	}
	out := make(backend.Answers, len(x.states))
	// a context that ended must not keep the leaders from being scored
	err := x.r.each(context.WithoutCancel(ctx), len(x.states), func(_ *scratch, j int) error {
		s := &x.states[j]
		s.finish(ctx)
		out[j] = s.answer()
		return nil
	})
	return out, err
}

// sendUnseen answers by the dense path the queries of which no look has seen
// all atoms, unless ctx has ended.
func (x *run) sendUnseen(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	var js []int
	for j := range x.states {
		if s := &x.states[j]; !s.dense && !s.listed {
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

func (s *state) finish(ctx context.Context) {
	if s.dense {
		s.list, s.listed = nil, true
		return
	}
	defer s.takeSpare()
	if s.slab != nil {
		s.slab.release(s)
	}
	slices.SortFunc(s.list, byBound)
	few := min(max(s.goal.K, 1), partialRows)
	for n := 0; len(s.list) > 0 && s.list[0].bound >= s.tau; n++ {
		if ctx.Err() != nil && n >= few {
			return
		}
		s.score(int(s.list[0].i))
		s.list = s.list[1:]
	}
	s.list = nil
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
	a := backend.Answer{Looks: s.looks, Pulls: s.pulls, Bytes: s.bytes, Rows: s.rowsRead,
		Tau: math.Ldexp(s.tau, s.exp), Open: math.Ldexp(open, s.exp), Random: s.random || s.rowsRead < s.owed, Dense: s.dense}
	for _, b := range s.best.sorted() {
		a.IDs = append(a.IDs, int64(b.row))
		a.Scores = append(a.Scores, math.Ldexp(b.score, s.exp))
	}
	return a
}

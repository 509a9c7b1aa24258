package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/collection"
)

// run is one batch of queries going through the looks of a plan. Goroutines work on disjoint
// ranges of states.
type run struct {
	r       *resident
	c       *collection.Collection
	states  []state         // by query
	scaled  []float64       // [queries][Dim]
	queries backend.Queries // as given to Begin
	heads   []float32       // [queries][R]
	rests   []float32       // [queries][D]
	// looksReady says that heads and rests are set.
	looksReady bool
	closed     bool
	pieces     *scanPieces // of a first look that helpers share; nil if none was
	team       team
}

// reset prepares the run's memory for queries q.
func (x *run) reset(q backend.Queries) {
	c, m := x.c, q.M
	if cap(x.states) < m {
		x.states = append(x.states[:cap(x.states)], make([]state, m-cap(x.states))...)
	}
	x.states = x.states[:m]
	x.scaled = grow(x.scaled, m*c.Dim)
	x.queries, x.looksReady, x.closed = q, false, false
}

// Close returns the run's memory to the pool for later runs. Answers already returned stay
// valid.
func (x *run) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	x.team.end()
	x.r.runs.Put(&run{r: x.r, c: x.c, states: x.states, scaled: x.scaled, heads: x.heads, rests: x.rests, pieces: x.pieces})
	x.states, x.queries = nil, backend.Queries{}
	return nil
}

// Pull takes look l at the survivors of every query and returns how many are left. After
// an error of ctx, Pull with the same look continues where it was stopped, except for looks at
// float32 coordinates, which cannot be resumed.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if l.Rep.ForFirstLook() {
		x.team.call(x.expectedBytes(l))
	}
	x.team.keep(1)
	defer x.team.keep(-1)
	err := x.scoreGiven(ctx, backend.QueryIndexes(0, len(x.states)), l.Rep.ForFirstLook())
	if err == nil {
		err = x.prepareLooks(ctx)
	}
	switch {
	case err != nil:
		return x.survivors(), err
	case l.Rep.ForFirstLook():
		err = x.scan(ctx, l)
	case l.Rep.Coded():
		err = x.revisitLook(ctx, l)
	case l.Rep == backend.Float32:
		err = x.float32Looks(ctx, l)
		x.noteRandomBounds(l)
	default:
		err = fmt.Errorf("%v: %w", l.Rep, backend.ErrRuleUnsupported)
	}
	if err == nil {
		err = x.answerCrowded(ctx)
	}
	return x.survivors(), err
}

// revisitLook takes a later look, at the rows of the survivors.
func (x *run) revisitLook(ctx context.Context, l backend.Look) error {
	t, err := x.compileRevisit(l)
	if err != nil {
		return err
	}
	for j := range x.states {
		if s := &x.states[j]; s.phase <= listed {
			s.recordStoppedScan()
		}
	}
	return x.revisit(ctx, t)
}

// Floor raises the floor of each query j to the search score floors[j], unless it is higher
// already, and its threshold to at least the floor. The next step drops the arms that no longer
// reach the threshold.
func (x *run) Floor(_ context.Context, floors []float64) error {
	if x.closed {
		return backend.ErrClosed
	}
	if err := backend.CheckFloors(floors, len(x.states)); err != nil {
		return err
	}
	for j, f := range floors {
		s := &x.states[j]
		s.raiseFloor(f)
	}
	return nil
}

// noteRandomBounds calls noteRandomBound for each query if the bounds of float32 look l can
// fail.
func (x *run) noteRandomBounds(l backend.Look) {
	if l.Rule == backend.Cauchy || l.To >= max(x.c.Dim, x.c.D) {
		return
	}
	for j := range x.states {
		if s := &x.states[j]; s.pass != nil {
			s.noteRandomBound(len(s.pass.arms))
		}
	}
}

// answerCrowded runs the dense path for the queries whose first look kept too many arms.
func (x *run) answerCrowded(ctx context.Context) error {
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

// Dense answers these queries by a scan of all allowed atoms. If ctx ends, what was found is kept for partial answers.
func (x *run) Dense(ctx context.Context, queries ...int) error {
	if x.closed {
		return backend.ErrClosed
	}
	for _, j := range queries {
		if j < 0 || j >= len(x.states) {
			return fmt.Errorf("query %d of %d", j, len(x.states))
		}
		x.states[j].recordStopped()
	}
	queries = slices.DeleteFunc(slices.Clone(queries), func(j int) bool { return x.states[j].phase == hasLeft })
	if len(queries) == 0 {
		return ctx.Err()
	}
	err := x.scoreGiven(ctx, queries, false)
	if err == nil {
		err = x.scanDense(ctx, queries)
	}
	for _, j := range queries {
		if x.states[j].phase == answered {
			x.states[j].pass = nil
		}
	}
	return err
}

// survivors returns by query how many arms may still be in its answer and are not scored.
func (x *run) survivors() backend.Survivors {
	left := make(backend.Survivors, len(x.states))
	for j := range x.states {
		left[j] = x.states[j].left()
	}
	return left
}

// left counts the open arms of the query.
func (s *state) left() int {
	if s.pass != nil {
		n, _ := s.open()
		return n
	}
	return s.countLeft()
}

// open counts the open arms of the query and returns the greatest upper bound among them, -Inf if there are none.
func (s *state) open() (n int, greatest float64) {
	if s.pass != nil && s.phase < answered {
		return s.pass.countOpen(s)
	}
	return s.countOpen()
}

// countLeft counts the open arms. After a completed look the lists hold no others.
func (s *state) countLeft() int {
	if s.phase == listed && s.pruned && s.prunedAt == s.tau {
		return len(s.list.ids) + len(s.finalists)
	}
	n, _ := s.countOpen()
	return n
}

// countOpen counts the open arms: those that reach the threshold and are not scored yet. most is
// the greatest upper bound among them, -Inf if there are none. Atoms that no look has seen are
// bounded by their norms.
func (s *state) countOpen() (n int, most float64) {
	most = math.Inf(-1)
	if s.phase >= answered {
		return 0, most
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
	if math.IsInf(most, 1) { // the norms give a finite bound
		most = s.scoreCap()
	}
	if s.phase == listed {
		return n, most
	}
	if left, bound := s.scoreCapOfGiven(); bound >= s.tau {
		n, most = n+left, max(most, bound)
	}
	if left := s.countShownFrom(s.nextPanel); left > 0 {
		bound := s.scoreCap()
		if s.c.Coded() {
			bound = s.scoreCapFrom(s.nextPanel)
		}
		if bound >= s.tau {
			n, most = n+left, max(most, bound)
		}
	}
	return n, most
}

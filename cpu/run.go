package cpu

import (
	"context"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/cpu/arms"
	"thresher/cpu/dense"
	"thresher/cpu/revisit"
	"thresher/cpu/scan"
	"thresher/cpu/topk"
)

// state is one query in a run.
type state struct {
	*scan.Query
	pass  *float32Pass // the arms of float32 looks, instead of List and Finalists
	taken int          // finalists that nextArms has returned
}

// run is one batch of queries going through the looks of a plan. Goroutines work on disjoint
// ranges of states.
type run struct {
	*arms.Batch
	r      *resident
	states []state // by query
	first  *scan.Run
	later  *revisit.Run
	dense  *dense.Scans
	closed bool
}

// newRun returns a run of r without queries.
func newRun(r *resident) *run {
	b := arms.NewBatch(r.Resident)
	later := revisit.NewRun(r.codes, b)
	return &run{Batch: b, r: r, first: scan.NewRun(r.panels, later), later: later, dense: dense.NewScans(r.rows, b)}
}

// begin prepares the run's memory for queries q.
func (x *run) begin(ctx context.Context, q backend.Queries, goals []backend.Goal) error {
	if err := x.Batch.Begin(ctx, q, goals); err != nil {
		return err
	}
	x.later.Reset()
	x.first.Reset()
	x.dense.Reset()
	x.states = topk.Grow(x.states, q.M)
	for j := range x.states {
		x.states[j] = state{Query: x.first.Query(j)}
	}
	return nil
}

// Close returns the run's memory to the pool for later runs. Answers already returned stay
// valid.
func (x *run) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	x.End()
	x.r.runs.Put(&run{Batch: x.Batch, r: x.r, states: x.states, first: x.first, later: x.later, dense: x.dense})
	x.states = nil
	return nil
}

// prepareLooks prepares what only looks read of the queries.
func (x *run) prepareLooks(ctx context.Context) error { return x.later.Prepare(ctx) }

// Pull takes look l at the survivors of every query and returns how many are left. After
// an error of ctx, Pull with the same look continues where it was stopped, except for looks at
// float32 coordinates, which cannot be resumed.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if l.Rep.ForFirstLook() {
		x.Team.Call(x.first.ExpectedBytes(l))
	}
	x.Team.Keep(1)
	defer x.Team.Keep(-1)
	err := x.ScoreGiven(ctx, backend.QueryIndexes(0, len(x.states)), l.Rep.ForFirstLook())
	if err == nil {
		err = x.prepareLooks(ctx)
	}
	switch {
	case err != nil:
		return x.survivors(), err
	case l.Rep.ForFirstLook():
		err = x.first.Take(ctx, l)
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
	t, err := x.later.CompileLook(ctx, l)
	if err != nil {
		return err
	}
	for j := range x.states {
		if s := &x.states[j]; s.Phase <= arms.Listed {
			s.RecordStoppedScan()
		}
	}
	return x.later.Take(ctx, t)
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
		x.states[j].RaiseFloor(f)
	}
	return nil
}

// noteRandomBounds calls NoteRandomBound for each query if the bounds of float32 look l can
// fail.
func (x *run) noteRandomBounds(l backend.Look) {
	if l.Rule == backend.Cauchy || l.To >= max(x.C.Dim, x.C.D) {
		return
	}
	for j := range x.states {
		if s := &x.states[j]; s.pass != nil {
			s.NoteRandomBound(len(s.pass.arms))
		}
	}
}

// answerCrowded runs the dense path for the queries whose first look kept too many arms.
func (x *run) answerCrowded(ctx context.Context) error {
	var js []int
	for j := range x.states {
		if x.states[j].Phase == arms.Crowded {
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
	queries = slices.DeleteFunc(slices.Clone(queries), func(j int) bool { return x.states[j].Phase == arms.HasLeft })
	if len(queries) == 0 {
		return ctx.Err()
	}
	err := x.ScoreGiven(ctx, queries, false)
	if err == nil {
		err = x.dense.Scan(ctx, queries)
	}
	for _, j := range queries {
		if x.states[j].Phase == arms.Answered {
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
	return s.CountLeft()
}

// open counts the open arms of the query and returns the greatest upper bound among them, -Inf if there are none.
func (s *state) open() (n int, greatest float64) {
	if s.pass != nil && s.Phase < arms.Answered {
		return s.pass.countOpen(s)
	}
	return s.CountOpen()
}

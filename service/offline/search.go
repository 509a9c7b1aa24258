package offline

import (
	"context"
	"errors"
	"time"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/tasks"
)

// asker searches requests with the same options in the same collection, a slice at a time.
type asker struct {
	gate  *gate
	slice int // queries
	run   tasks.SearchRun
	took  time.Duration // of the previous search
	buf   []float32
	wide  []float64 // in place of buf, of vectors that are kept as float64
	lost  []float64 // by rounding, of each query in buf
	goals []batch.QueryGoal
}

// part is the queries of one request, with their goals: one a query, or none.
type part struct {
	queries []float32
	wide    []float64 // in place of queries, as they are given, for vectors that are kept as float64
	changes []float64 // by rounding, of each; nil if there are none
	goals   []batch.QueryGoal
}

// found is the answer to one part: Answers, one a query, or its problem.
type found struct {
	answers []batch.Answer
	wrong   *problem.Problem
}

// piece is the range [lo, hi) of a part's queries.
type piece struct{ part, lo, hi int }

// ask answers the queries of each part; req has the options, without queries. A refused part
// does not prevent the others from being answered. The returned error concerns no particular
// part.
func (a *asker) ask(ctx context.Context, s shelf, req batch.Request, parts []part) ([]found, error) {
	a.run.Engine = s
	out := make([]found, len(parts))
	var slice []piece
	room := a.slice
	dim := s.dim()
	for i := range parts {
		m := max(len(parts[i].queries), len(parts[i].wide)) / dim
		out[i].answers = make([]batch.Answer, m)
		for lo := 0; lo < m; {
			hi := min(lo+room, m)
			slice = append(slice, piece{i, lo, hi})
			room -= hi - lo
			lo = hi
			if room == 0 {
				if err := a.askSlice(ctx, s, req, parts, slice, out); err != nil {
					return nil, err
				}
				slice, room = slice[:0], a.slice
			}
		}
	}
	return out, a.askSlice(ctx, s, req, parts, slice, out)
}

// askSlice answers the pieces, without those of refused parts.
func (a *asker) askSlice(ctx context.Context, s shelf, req batch.Request, parts []part, slice []piece, out []found) error {
	for {
		req.Goals = a.gather(s.dim(), parts, slice, out)
		switch {
		case len(a.wide) > 0:
			req.Queries64 = a.wide
		case len(a.buf) > 0:
			req.Queries, req.Changes, req.Stored = a.buf, a.lost, true
		default:
			return nil
		}
		a.gate.pass(ctx, a.took)
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		begun := time.Now()
		resp, err := a.run.Answer(ctx, 0, &req)
		a.took = time.Since(begun)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			a.distribute(resp, slice, out)
			return nil
		}
		if err := refuse(err, slice, out); err != nil {
			return err
		}
	}
}

// gather copies the pieces of parts that are not refused into one matrix, and returns their goals,
// which are nil if no part has any.
func (a *asker) gather(dim int, parts []part, slice []piece, out []found) []batch.QueryGoal {
	a.buf, a.wide, a.lost, a.goals = a.buf[:0], a.wide[:0], a.lost[:0], a.goals[:0]
	some := false
	for _, p := range slice {
		if out[p.part].wrong != nil {
			continue
		}
		from := &parts[p.part]
		if from.wide != nil {
			a.wide = append(a.wide, from.wide[p.lo*dim:p.hi*dim]...)
		} else {
			a.buf = append(a.buf, from.queries[p.lo*dim:p.hi*dim]...)
		}
		if from.changes != nil {
			a.lost = append(a.lost, from.changes[p.lo:p.hi]...)
		} else {
			a.lost = append(a.lost, make([]float64, p.hi-p.lo)...)
		}
		if from.goals == nil {
			a.goals = append(a.goals, make([]batch.QueryGoal, p.hi-p.lo)...)
			continue
		}
		some = true
		a.goals = append(a.goals, from.goals[p.lo:p.hi]...)
	}
	if !some {
		return nil
	}
	return a.goals
}

// distribute assigns the answers to their parts.
func (a *asker) distribute(resp *batch.Response, slice []piece, out []found) {
	rest := resp.Answers
	for _, p := range slice {
		if to := &out[p.part]; to.wrong == nil {
			copy(to.answers[p.lo:p.hi], rest)
			rest = rest[p.hi-p.lo:]
		}
	}
}

// refuse assigns err to the part whose query it names, or to all parts if it concerns their
// common options. It returns err if it concerns no part.
func refuse(err error, slice []piece, out []found) error {
	var r *batch.RequestError
	if errors.As(err, &r) && r.Query >= 0 {
		first := 0
		for _, p := range slice {
			if out[p.part].wrong != nil {
				continue
			}
			if i := r.Query - first; i < p.hi-p.lo {
				out[p.part].wrong = problem.New(problem.InvalidValue, "%v", r.Err).At(r.Field, p.lo+i)
				return nil
			}
			first += p.hi - p.lo
		}
	}
	var p *problem.Problem
	if r == nil && !(errors.As(err, &p) && p.Kind.Status() < 500) {
		return err
	}
	for _, p := range slice {
		if to := &out[p.part]; to.wrong == nil {
			to.wrong = problem.Of(err)
		}
	}
	return nil
}

package tasks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"thresher/batch"
	"thresher/verify"
)

// lookForReasons makes a comparison keep what why needs.
func (c *Comparison) lookForReasons() { c.reasons = c.newReasons() }

func (c *Comparison) newReasons() *verify.Reasons {
	if c.atoms.float64s() { // which the oracle has as they are
		return verify.NewReasons(c.oracle, nil)
	}
	return verify.NewReasons(c.oracle, c.atoms.origin)
}

// reason adds answer j of a part, whose vector is q and which was compared last, to the reasons.
func (c *Comparison) reason(p *Part, j int, q comparedQuery) {
	if c.reasons != nil {
		c.reasons.Add(c.specimen(c.reasons, p, j, q, c.recall.Missed()))
	}
}

// specimen is answer j of a part.
func (c *Comparison) specimen(r *verify.Reasons, p *Part, j int, q comparedQuery, missed []int64) *verify.Specimen {
	req, stated := p.Request, &p.Stated[j]
	var goal batch.QueryGoal
	if req.Goals != nil {
		goal = req.Goals[j]
	}
	s := &verify.Specimen{Query: stated.Query, Q: q.wide(), Best: p.Proven[j].IDs, IDs: stated.Rows, Missed: missed}
	if k := cmp.Or(goal.K, req.K); k > 0 {
		s.IDs = s.IDs[:min(k, len(s.IDs))]
	}
	s.Bounded = req.MinScore != nil || req.MaxScore != nil || goal.MinScore != nil || goal.MaxScore != nil
	if !r.Keeps(len(missed) > 0) {
		return s
	}
	s.May = c.permission(&goal, nil, req, q)
	if self := selfOf(req, j); self >= 0 {
		others := s.May
		s.May = func(id int64) bool { return id != self && (others == nil || others(id)) }
		if len(stated.Rows) > len(s.IDs) && slices.Contains(s.IDs, self) { // it takes no place
			s.IDs = stated.Rows[:len(s.IDs)+1]
		}
	}
	return s
}

// why returns the reasons; nil if no answer lacks vectors, or the deadline of ctx or Until passes.
func (c *Comparison) why(ctx context.Context) ([]verify.Reason, error) {
	if c.reasons == nil {
		return nil, nil
	}
	if !c.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.Until)
		defer cancel()
		if ctx.Err() != nil && time.Now().After(c.Until) {
			return nil, nil
		}
	}
	stated := c.recall.Scores()
	found, err := c.reasons.Find(ctx, &stated, c.Turns)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return found, err
}

// beyond says why an answer of a part has ids that are no rows, if all answers of it show why; else "".
func (c *Comparison) beyond(p *Part) string {
	r := c.newReasons()
	for j := range p.Proven {
		best := p.Proven[j].IDs
		if p.Proven[j].Certificate.StoppedBy != batch.Done || len(best) == 0 {
			continue
		}
		var missed []int64
		for _, id := range best {
			if !slices.Contains(p.Stated[j].Rows, id) {
				missed = append(missed, id)
			}
		}
		r.Add(c.specimen(r, p, j, c.query(p.Request, j), missed))
	}
	if reason := r.Shifted(); reason != nil {
		return reason.Text
	}
	return ""
}

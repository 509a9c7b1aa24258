package tasks

import (
	"context"
	"fmt"
	"iter"

	"thresher/batch"
	"thresher/verify"
)

// Claims are consecutive queries of a stream, and answers to them with the certificates that
// are to be verified.
type Claims struct {
	// Request is what was asked for, as [verify.Response] uses it.
	Request *batch.Request
	Answers []batch.Answer // one a query
	// Numbers are the queries' numbers, for reports; nil counts on from the part before.
	Numbers []int64
	// Granted says that each answer is held to its own certificate, whatever delta and epsilon it
	// grants. Otherwise an answer whose certificate grants more than Request does is malformed.
	Granted bool
}

// VerifySummary is what was found of answers that were verified.
type VerifySummary struct {
	Checked int64  `json:"checked"`
	K       int    `json:"k"` // the greatest of any query; 0 if one asks for any number
	Metric  string `json:"metric"`
	verify.Tally
	Short   int64    `json:"short"` // malformed answers with too few atoms
	Defects []Defect `json:"defects,omitempty"`
}

// Defect says what is wrong with an answer.
type Defect struct {
	Query int64  `json:"query"`
	What  string `json:"what"`
}

// mostDefects bounds the defects that a summary describes: the first ones.
const mostDefects = 100

// Verify checks the answers of a stream by scores that o recomputes, and passes what it finds of
// each, in order, to visit, unless that is nil. The caller sets K and Metric of the summary.
// Errors are those of the stream, of requests (*batch.RequestError) and of ctx.
func Verify(ctx context.Context, o *verify.Oracle, claims iter.Seq2[*Claims, error], visit func(query int64, f *verify.Finding)) (*VerifySummary, error) {
	s := &VerifySummary{}
	for c, err := range claims {
		if err != nil {
			return nil, err
		}
		found, err := verify.Response(ctx, o, *c.measure(), &batch.Response{Answers: c.Answers})
		if err != nil {
			return nil, err
		}
		for j := range found.Findings {
			query := s.Checked
			if c.Numbers != nil {
				query = c.Numbers[j]
			}
			s.Add(query, &c.Answers[j].Certificate, found.Findings[j])
			if visit != nil {
				visit(query, &found.Findings[j])
			}
		}
	}
	s.Finish()
	return s, nil
}

// measure returns the request that the answers are held to.
func (c *Claims) measure() *batch.Request {
	if !c.Granted {
		return c.Request
	}
	req := *c.Request
	req.Delta, req.Epsilon, req.Relative = 0, 0, false
	for j := range c.Answers {
		granted := &c.Answers[j].Certificate
		req.Delta, req.Epsilon = max(req.Delta, granted.Delta), max(req.Epsilon, granted.Epsilon)
	}
	return &req
}

// Add counts the finding for the answer, with certificate c, to a query.
func (s *VerifySummary) Add(query int64, c *batch.Certificate, f verify.Finding) {
	s.Checked++
	s.Tally.Add(c, f)
	if f.Short {
		s.Short++
	}
	what := f.Malformed
	if what == "" && len(f.Missed) > 0 {
		what = fmt.Sprintf("lacks %s (%s)", lacked(&f), c.Guarantee)
	}
	if what != "" && len(s.Defects) < mostDefects {
		s.Defects = append(s.Defects, Defect{query, what})
	}
}

// lacked describes the atoms that an answer lacks.
func lacked(f *verify.Finding) string {
	if len(f.Missed) == 1 {
		return fmt.Sprintf("atom %d, better by %.3g", f.Missed[0], f.Gap)
	}
	return fmt.Sprintf("atom %d and %d more, better by up to %.3g", f.Missed[0], len(f.Missed)-1, f.Gap)
}

// strictLevel is the binomial p below which a strict verdict calls the rate of wrong answers
// incompatible with delta.
const strictLevel = 1e-6

// Verdict returns what is wrong with the answers, or nil: malformed ones, and wrong ones under
// an exact or certain guarantee; if strict, also a failure rate that is incompatible with delta.
func (s *VerifySummary) Verdict(strict bool) error {
	switch {
	case s.Malformed > 0:
		return fmt.Errorf("%d of %d answers are malformed", s.Malformed, s.Checked)
	case s.WrongSure > 0:
		return fmt.Errorf("%d answers are wrong although their certificates are exact", s.WrongSure)
	case strict && s.PValue < strictLevel:
		return fmt.Errorf("%d failures in %d are incompatible with delta %g: p = %.2g, the limit is %g",
			s.Failures, s.Trials, s.Delta, s.PValue, strictLevel)
	}
	return nil
}

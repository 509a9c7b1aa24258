package verify

import (
	"context"
	"fmt"

	"thresher/batch"
)

// Report is the result of checking a Response.
type Report struct {
	Tally
	Findings []Finding // one for each answer, in order
}

// Response checks every answer of resp to req, whose atoms are o's: that it is what K,
// MinScore, Allow, Deny and ExcludeSelf ask for, as far as its certificate promises, and that
// the certificate promises no less than Delta and Epsilon ask for. An answer whose
// certificate promises less is malformed.
//
// An error means that nothing was checked: req is invalid (*batch.RequestError), the number
// of answers is not that of the queries, or ctx ended.
func Response(ctx context.Context, o *Oracle, req batch.Request, resp *batch.Response) (*Report, error) {
	c, err := NewCheck(o, req)
	if err != nil {
		return nil, err
	}
	if len(req.Queries) != len(resp.Answers)*o.dim {
		return nil, fmt.Errorf("%d answers to queries of %d values, of %d dimensions", len(resp.Answers), len(req.Queries), o.dim)
	}
	r := &Report{Findings: make([]Finding, len(resp.Answers))}
	err = o.Each(ctx, req.Queries, func(j int, s *Scores) {
		a := &resp.Answers[j]
		if err := promises(s, &req, &a.Certificate); err != nil {
			r.Findings[j].Malformed = "certificate: " + err.Error()
			return
		}
		r.Findings[j] = c.Answer(s, int64(j), a)
	})
	if err != nil {
		return nil, err
	}
	for j, f := range r.Findings {
		r.Add(&resp.Answers[j].Certificate, f)
	}
	r.Finish()
	return r, nil
}

// promises returns an error if a certificate promises less than the request asks for.
func promises(s *Scores, req *batch.Request, c *batch.Certificate) error {
	if err := CheckCertificate(c); err != nil {
		return err
	}
	delta := req.Delta
	if delta == 0 {
		delta = .01
	}
	if c.Delta > delta {
		return fmt.Errorf("delta %g where %g was asked for", c.Delta, delta)
	}
	if most := s.gap(req); c.Epsilon > most {
		return fmt.Errorf("epsilon %g where %g was asked for", c.Epsilon, most)
	}
	return nil
}

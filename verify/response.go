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

// Terms are what answers are held to beside their request.
type Terms struct {
	Bar
	// Others, if not nil, says that another program made the answers, and collects their scores.
	// Others.Misstates says, once all are checked, which of them state scores that are not their
	// vectors'.
	Others *Others
}

// Response checks every answer of resp to req, whose atoms are o's, and whose queries may be in float64
// (Queries64), relative to what o's atoms are: that it is what K,
// MinScore, Filter, Exclude and ExcludeSelf ask for, as far as its certificate promises, and that
// the certificate grants no more than Delta and Epsilon do. An answer whose certificate
// grants more is wrong.
//
// An error means that nothing was checked: req is invalid (*batch.RequestError), the number
// of answers is not that of the queries, or ctx ended.
func Response(ctx context.Context, o *Oracle, req batch.Request, resp *batch.Response) (*Report, error) {
	return judge(ctx, o, req, resp, nil, func(s *Scores) Bar { return barOf(s, &req) })
}

// Judge is Response for answers that are held to terms, whatever Delta and Epsilon of req are.
func Judge(ctx context.Context, o *Oracle, req batch.Request, resp *batch.Response, terms Terms) (*Report, error) {
	if err := terms.Check(); err != nil {
		return nil, err
	}
	return judge(ctx, o, req, resp, terms.Others, func(*Scores) Bar { return terms.Bar })
}

func judge(ctx context.Context, o *Oracle, req batch.Request, resp *batch.Response, others *Others, barOf func(*Scores) Bar) (*Report, error) {
	c, err := NewCheck(o, req)
	if err != nil {
		return nil, err
	}
	c = c.OfOthers(others)
	if values := max(len(req.Queries), len(req.Queries64)); values != len(resp.Answers)*o.dim {
		return nil, fmt.Errorf("%d answers to queries of %d values, of %d dimensions", len(resp.Answers), values, o.dim)
	}
	r := &Report{Findings: make([]Finding, len(resp.Answers))}
	visit := func(j int, s *Scores) {
		a := &resp.Answers[j]
		if err := CheckCertificate(&a.Certificate); err != nil {
			r.Findings[j].Malformed = "certificate: " + err.Error()
			return
		}
		r.Findings[j] = c.WithBar(barOf(s)).Answer(s, int64(j), a)
	}
	if req.Queries64 != nil {
		err = each(ctx, o, req.Queries64, visit)
	} else {
		err = o.Each(ctx, req.Queries, visit)
	}
	if err != nil {
		return nil, err
	}
	for j, f := range r.Findings {
		r.Add(&resp.Answers[j].Certificate, f)
	}
	r.Finish()
	return r, nil
}

// barOf returns what certificates may grant at most by a request.
func barOf(s *Scores, req *batch.Request) Bar {
	delta, epsilon := req.Delta, s.gap(req)
	if delta == 0 {
		delta = .01
	}
	return Bar{Epsilon: &epsilon, Delta: &delta}
}

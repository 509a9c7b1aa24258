package worker

import (
	"context"
	"errors"

	"thresher/batch"
	"thresher/tasks"
	"thresher/verify"
)

// verifying are the fields of verify.
type verifying struct {
	searching
	// Epsilon and Delta are the greatest that certificates may grant; of answers without certificates
	// what they are granted.
	Epsilon *float64 `json:"epsilon"`
	Delta   *float64 `json:"delta"`
	// Require is the least guarantee of certificates.
	Require batch.Guarantee `json:"require"`
	// Guarantee is that of answers without certificates; "" is exact.
	Guarantee batch.Guarantee `json:"guarantee"`
}

// usual is the failure probability of probabilistic answers that state none.
const usual = .01

// assumed is the certificate of answers without one.
func (f *verifying) assumed() (batch.Certificate, error) {
	c := batch.Certificate{Guarantee: f.Guarantee, StoppedBy: batch.Done}
	switch c.Guarantee {
	case "", batch.GuaranteeExact:
		c.Guarantee, c.Exact = batch.GuaranteeExact, true
	case batch.GuaranteeProbabilistic, batch.GuaranteeHeuristic:
		c.Delta = usual
	}
	if f.Epsilon != nil {
		c.Epsilon = *f.Epsilon
	}
	if f.Delta != nil && !c.Exact && c.Guarantee != batch.GuaranteeCertain {
		c.Delta = *f.Delta
	}
	if err := verify.CheckCertificate(&c); err != nil {
		return c, wrong("guarantee", "%v", err)
	}
	return c, nil
}

// terms are what answers are held to; certified says whether they have certificates.
func (f *verifying) terms(certified bool) (verify.Terms, error) {
	t := verify.Terms{Bar: verify.Bar{Require: f.Require}}
	if certified {
		t.Epsilon, t.Delta = f.Epsilon, f.Delta
	} else {
		t.Others = &verify.Others{}
	}
	var refused *batch.RequestError
	if err := t.Check(); errors.As(err, &refused) {
		return t, wrong(refused.Field, "%v", refused.Err)
	}
	if certified && f.Guarantee != "" {
		return t, wrong("guarantee", "the answers have certificates, which say what is promised")
	}
	return t, nil
}

// verify checks answers against scores recomputed in float64.
func (c *call) verify(ctx context.Context) (any, *reply, error) {
	var f verifying
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	s, err := c.newSearch(ctx, &f.searching, false)
	if err != nil {
		return nil, nil, err
	}
	defer s.index.release()
	resp, certified, err := s.stated(&f)
	if err != nil {
		return nil, nil, err
	}
	given, err := s.rounding()
	if err == nil {
		err = c.complete()
	}
	var terms verify.Terms
	if err == nil {
		terms, err = f.terms(certified)
	}
	if err != nil {
		return nil, nil, err
	}
	o, err := verify.NewOracleOf(s.index.Collection, s.index.options.Threads)
	if err != nil {
		return nil, nil, err
	}
	req := s.req
	req.Queries, req.Queries64, req.Goals = s.queries, s.given, s.goals.Queries(0, s.m)
	if err := given.compare(o, &req); err != nil {
		return nil, nil, err
	}
	claims := func(yield func(*tasks.Claims, error) bool) {
		yield(&tasks.Claims{Request: &req, Answers: resp.Answers, Terms: &terms}, nil)
	}
	wrongs, gaps := make([]byte, s.m), make([]float64, s.m)
	findings := make([]verify.Finding, s.m)
	found, err := tasks.Verify(ctx, o, claims, func(query int64, f *verify.Finding) { findings[query] = *f })
	if err != nil {
		return nil, nil, s.goals.located(err)
	}
	for j := range findings {
		f := &findings[j]
		wrongs[j], gaps[j] = flag(f.Malformed != "" || f.Wrong() || terms.Others.Misstates(f)), f.Gap
	}
	found.K, found.Metric = s.k, s.index.Metric.String()
	found.Rounded, found.AsGiven = s.rounded(), given.any() || s.given != nil
	m := int64(s.m)
	out, err := replyOf(c.s.link.passes(), []column{{"wrong", bools, []int64{m}}, {"gaps", float64s, []int64{m}}}, wrongs, bytesOf(gaps))
	return struct {
		Report *tasks.VerifySummary `json:"report"`
	}{found}, out, err
}

// rounded is the largest change that rounding made to vectors and queries.
func (s *search) rounded() float64 {
	largest := s.index.Change.Largest
	for _, change := range s.changes {
		largest = max(largest, change)
	}
	return largest
}

// stated reads the answers to verify, and says whether they have certificates.
func (s *search) stated(f *verifying) (resp *batch.Response, certified bool, err error) {
	rows, m, width, err := s.call.integers("rows")
	if err != nil {
		return nil, false, err
	}
	if m != s.m {
		return nil, false, wrong("rows", "%d lists for %d queries", m, s.m).within(s.m)
	}
	var scores []float32
	states, err := s.call.get("scores", float32s)
	if err != nil {
		return nil, false, err
	}
	if states != nil {
		if len(states.Shape) != 2 || states.Shape[0] != int64(m) || states.Shape[1] != int64(width) {
			return nil, false, wrong("scores", "shape %v; that of rows, [%d %d], is wanted", states.Shape, m, width)
		}
		b, err := states.read()
		if err != nil {
			return nil, false, err
		}
		scores = elements[float32](b)
	}
	unrounded, err := s.unrounded(m, width)
	if err != nil {
		return nil, false, err
	}
	records, err := s.call.get("certificates", certificates)
	if err != nil {
		return nil, false, err
	}
	var record []byte
	if records != nil {
		if len(records.Shape) != 1 || records.Shape[0] != int64(m) {
			return nil, false, wrong("certificates", "shape %v; [%d] is wanted", records.Shape, m)
		}
		if record, err = records.read(); err != nil {
			return nil, false, err
		}
	}
	assumed, err := f.assumed()
	if err != nil && record == nil {
		return nil, false, err
	}
	resp = &batch.Response{Answers: make([]batch.Answer, m)}
	if record == nil {
		defer s.allow(resp.Answers)
	}
	for j := range resp.Answers {
		a := &resp.Answers[j]
		a.Certificate = assumed
		if record != nil {
			a.Certificate = readCertificate(record[j*certificateBytes:])
		}
		for at := range width {
			if row := rows[j*width+at]; row != -1 { // padding
				a.IDs = append(a.IDs, row)
				if scores != nil {
					a.Scores = append(a.Scores, scores[j*width+at])
				}
				if unrounded != nil {
					a.SearchScores = append(a.SearchScores, s.index.Metric.Searched(unrounded[j*width+at]))
				}
			}
		}
	}
	return resp, record != nil, nil
}

// unrounded reads the float64 scores of m answers of width atoms, nil for none.
func (s *search) unrounded(m, width int) ([]float64, error) {
	a, err := s.call.get("scores64", float64s)
	if a == nil || err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != int64(m) || a.Shape[1] != int64(width) {
		return nil, wrong("scores64", "shape %v; that of rows, [%d %d], is wanted", a.Shape, m, width)
	}
	b, err := a.read()
	if err != nil {
		return nil, err
	}
	return elements[float64](b), nil
}

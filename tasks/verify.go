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
	// Request is what was asked for, as [verify.Response] uses it; as [verify.Judge] does if there
	// are Terms.
	Request *batch.Request
	Answers []batch.Answer // one a query
	// Numbers are the queries' numbers, for reports; nil counts on from the part before.
	Numbers []int64
	// Terms are what the answers are held to beside their certificates, one for a stream. nil: a
	// certificate may grant what Request does.
	Terms *verify.Terms
}

// VerifySummary is what was found of answers that were verified.
type VerifySummary struct {
	Checked int64  `json:"checked"`
	K       int    `json:"k"` // the greatest of any query; 0 if one asks for any number
	Metric  string `json:"metric"`
	verify.Tally
	// AsGiven says that coordinates that float32 does not hold were compared as they were given.
	AsGiven bool  `json:"as_given,omitempty"`
	Short   int64 `json:"short"` // malformed answers with too few atoms
	// Scores is what the scores that answers of other programs state are; nil without any.
	Scores  *verify.FormCount `json:"scores,omitempty"`
	Defects []Defect          `json:"defects,omitempty"`
}

// Defect says what is wrong with an answer.
type Defect struct {
	Query int64  `json:"query"`
	What  string `json:"what"`
}

// maxDefects bounds the defects that a summary describes: the first ones.
const maxDefects = 100

// Verify checks the answers of a stream by scores that o recomputes, and passes what it finds of
// each, in order, to visit, unless that is nil. The caller sets K and Metric of the summary.
// Errors are those of the stream, of requests (*batch.RequestError) and of ctx.
func Verify(ctx context.Context, o *verify.Oracle, claims iter.Seq2[*Claims, error], visit func(query int64, f *verify.Finding)) (*VerifySummary, error) {
	s := &VerifySummary{}
	var others *verify.Others
	for c, err := range claims {
		if err != nil {
			return nil, err
		}
		found, err := c.judge(ctx, o)
		if err != nil {
			return nil, err
		}
		if c.Terms != nil {
			others = c.Terms.Others
		}
		for j := range found.Findings {
			query := s.Checked
			if c.Numbers != nil {
				query = c.Numbers[j]
			}
			s.Add(query, &c.Answers[j].Certificate, found.Findings[j])
			others.Found(query, &found.Findings[j])
			if visit != nil {
				visit(query, &found.Findings[j])
			}
		}
	}
	s.Finish()
	s.misstated(others)
	return s, nil
}

// misstated counts the answers of other programs that state scores which are not their vectors'.
func (s *VerifySummary) misstated(others *verify.Others) {
	s.Scores = others.Form()
	count, first := others.Misstated()
	if count == 0 {
		return
	}
	s.Malformed += count
	if len(s.Defects) < maxDefects {
		s.Defects = append(s.Defects, Defect{first, fmt.Sprintf("states a score that is not its vector's, as do %d answers in all (%s)", count, s.Scores.Form)})
	}
}

func (c *Claims) judge(ctx context.Context, o *verify.Oracle) (*verify.Report, error) {
	resp := &batch.Response{Answers: c.Answers}
	if c.Terms == nil {
		return verify.Response(ctx, o, *c.Request, resp)
	}
	return verify.Judge(ctx, o, *c.Request, resp, *c.Terms)
}

// Add counts the finding for the answer, with certificate c, to a query.
func (s *VerifySummary) Add(query int64, c *batch.Certificate, f verify.Finding) {
	s.Checked++
	s.Tally.Add(c, f)
	if f.Short {
		s.Short++
	}
	what := f.Malformed
	switch {
	case what != "":
	case f.Exceeds != "":
		what = "grants " + f.Exceeds
	case len(f.Missed) > 0:
		what = fmt.Sprintf("lacks %s (%s)", lacked(&f), c.Guarantee)
	}
	if what != "" && len(s.Defects) < maxDefects {
		s.Defects = append(s.Defects, Defect{query, what})
	}
}

// lacked describes the atoms that an answer lacks.
func lacked(f *verify.Finding) string {
	if len(f.Missed) == 1 {
		return fmt.Sprintf("vector %d, better by %.3g", f.Missed[0], f.Gap)
	}
	return fmt.Sprintf("vector %d and %d more, better by up to %.3g", f.Missed[0], len(f.Missed)-1, f.Gap)
}

package worker

import (
	"context"
	"errors"
	"slices"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
	"thresher/verify"
)

// comparison compares answers of another program with the best atoms of their queries.
type comparison struct {
	*search
	answers *tasks.Lists // the atoms that the other program found
	scores  []float32    // what it states, one an entry of answers; nil for none
	tasks   *tasks.Comparison
	shares  []float64 // recall of each answer, NaN if its best atoms are not known
	missed  tasks.Lists
	outside *failure // the first atom that is none, nil if there is none; the comparison says why
}

// compare reads queries and the answers to compare by a verb, whose collection the caller releases.
func (c *call) compare(ctx context.Context, verb string) (*comparison, error) {
	var f searching
	if err := c.fields(&f); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		name  string
		given bool
	}{{"min_score", f.MinScore != nil}, {"max_score", f.MaxScore != nil}, {"epsilon", f.Epsilon != 0 || f.Relative}, {"limit", f.Limit != 0}, {"looks", f.Looks}} {
		if x.given {
			return nil, wrong(x.name, "answers are compared with the k best of the vectors that may be returned")
		}
	}
	given, m, width, err := c.integers("answers")
	if err != nil {
		return nil, err
	}
	states, err := c.get("scores", float32s)
	if err != nil {
		return nil, err
	}
	if f.Method == "" {
		f.Method = batch.Certain
	}
	if err := tasks.CheckPublished(verb, f.Method, &f.Published); err != nil {
		return nil, err
	}
	if f.K == 0 {
		f.K = width
	}
	if f.K > width {
		return nil, wrong("k", "%d, and the answers have %d vectors", f.K, width).within(width)
	}
	s, err := c.newSearch(ctx, &f, false)
	if err != nil {
		return nil, err
	}
	p := &comparison{search: s, missed: tasks.Lists{Lims: []int64{0}}}
	if err = p.read(given, m, width, states); err == nil {
		err = c.complete()
	}
	if err != nil {
		s.index.release()
		return nil, err
	}
	return p, nil
}

func (p *comparison) read(given []int64, m, width int, states *array) error {
	switch {
	case p.goals.K != nil || p.goals.MinScore != nil || p.goals.MaxScore != nil:
		return wrong("answers", "answers are compared with the k best of the vectors that may be returned, without ks, floors and ceilings")
	case m != p.m:
		return wrong("answers", "%d rows for %d queries", m, p.m).within(p.m)
	case width == 0:
		return wrong("answers", "every answer is empty")
	}
	var stated []float32
	if states != nil {
		if len(states.Shape) != 2 || states.Shape[0] != int64(m) || states.Shape[1] != int64(width) {
			return wrong("scores", "shape %v; that of answers, [%d %d], is wanted", states.Shape, m, width)
		}
		b, err := states.read()
		if err != nil {
			return err
		}
		stated = elements[float32](b)
		p.scores = make([]float32, 0, len(stated))
	}
	p.answers = &tasks.Lists{Lims: []int64{0}}
	for j := range m {
		for at := range width {
			switch id := given[j*width+at]; {
			case id == -1: // padding
				continue
			default:
				if (id < 0 || id >= int64(p.index.N)) && p.outside == nil {
					p.outside = wrong("answers", "rank %d: vector %d; the vectors are 0 to %d", at+1, id, p.index.N-1).at(int64(j))
				}
				p.answers.Rows = append(p.answers.Rows, id)
				if stated != nil {
					if x := stated[j*width+at]; x != x {
						return wrong("scores", "rank %d: NaN, and vector %d is there", at+1, id).at(int64(j))
					}
					p.scores = append(p.scores, stated[j*width+at])
				}
			}
		}
		p.answers.Lims = append(p.answers.Lims, int64(len(p.answers.Rows)))
	}
	if !slices.Contains(batch.PublishedMethods(), p.req.Method) { // which take none
		p.goals.Candidates = p.candidates()
	}
	o, err := verify.NewLazyOracleOf(p.index.Collection)
	if err != nil {
		return err
	}
	p.tasks = tasks.NewComparison(o, p.index.Collection, max(1, p.k))
	return nil
}

// candidates are the atoms of the answers.
func (p *comparison) candidates() *tasks.Lists {
	if p.outside == nil {
		return p.answers
	}
	inside := &tasks.Lists{Lims: []int64{0}}
	for j := range p.m {
		for _, id := range p.answers.Of(j) {
			if id >= 0 && id < int64(p.index.N) {
				inside.Rows = append(inside.Rows, id)
			}
		}
		inside.Lims = append(inside.Lims, int64(len(inside.Rows)))
	}
	return inside
}

// parts streams the queries with their best atoms and the answers; after passes on the best atoms
// of a part that was compared.
func (p *comparison) parts(ctx context.Context, step string, after func(lo int, resp *batch.Response)) tasks.Parts {
	return func(yield func(*tasks.Part, error) bool) {
		ended := errors.New("the stream has ended")
		err := p.run(ctx, step, func(lo int, req *batch.Request, resp *batch.Response) error {
			if !yield(p.part(lo, req, resp), nil) {
				return ended
			}
			after(lo, resp)
			return nil
		})
		if err != nil && !errors.Is(err, ended) {
			yield(nil, err)
		}
	}
}

// part returns the part of queries lo and following.
func (p *comparison) part(lo int, req *batch.Request, resp *batch.Response) *tasks.Part {
	part := &tasks.Part{Request: req, Proven: resp.Answers, Took: resp.Took, Stated: make([]dataset.Result, len(resp.Answers))}
	for i := range part.Stated {
		j := lo + i
		part.Stated[i] = dataset.Result{Query: int64(j), Rows: p.answers.Of(j)}
		if p.scores != nil {
			part.Stated[i].Scores = p.scores[p.answers.Lims[j]:p.answers.Lims[j+1]]
		}
	}
	return part
}

// note keeps what was found of an answer.
func (p *comparison) note(one *tasks.Compared) error {
	share := one.Recall
	if !one.Known {
		share = notKnown
	}
	p.shares = append(p.shares, share)
	p.missed.Rows = append(p.missed.Rows, one.Missed...)
	p.missed.Lims = append(p.missed.Lims, int64(len(p.missed.Rows)))
	return nil
}

// explain names the argument in an error of the answers.
func (p *comparison) explain(err error) error {
	var of *tasks.AnswersError
	switch {
	case !errors.As(err, &of):
		return err
	case of.NoRow && p.outside != nil:
		if of.Hint != "" {
			p.outside.Message += "; " + of.Hint
		}
		return p.outside
	case of.OtherMetric:
		return wrong("scores", "%v; the collection's metric is %s", of, p.index.Metric)
	}
	return wrong("answers", "%v", of)
}

// columns are the arrays of a comparison.
func (p *comparison) columns() ([]column, [][]byte) {
	m, n := int64(p.m), int64(len(p.missed.Rows))
	return []column{{"recalls", float64s, []int64{m}}, {"missed_lims", int64s, []int64{m + 1}}, {"missed", int64s, []int64{n}}},
		[][]byte{bytesOf(p.shares), bytesOf(p.missed.Lims), bytesOf(p.missed.Rows)}
}

// recall measures the recall of answers.
func (c *call) recall(ctx context.Context) (any, *reply, error) {
	p, err := c.compare(ctx, "recall")
	if err != nil {
		return nil, nil, err
	}
	defer p.index.release()
	report, err := tasks.Recall(ctx, p.tasks, p.parts(ctx, "comparing", func(int, *batch.Response) {}), p.note)
	if errors.Is(err, tasks.ErrUnfinished) {
		return nil, nil, context.DeadlineExceeded
	}
	if err != nil {
		return nil, nil, p.explain(err)
	}
	columns, contents := p.columns()
	out, err := replyOf(c.s.link.passes(), columns, contents...)
	return struct {
		Report *tasks.RecallSummary `json:"report"`
	}{report}, out, err
}

// certify proves or corrects answers.
func (c *call) certify(ctx context.Context) (any, *reply, error) {
	p, err := c.compare(ctx, "certify")
	if err != nil {
		return nil, nil, err
	}
	defer p.index.release()
	m, k := int64(p.m), int64(p.k)
	if err := c.fits("k", 2*m*(answerBytes*k+certificateBytes)); err != nil {
		return nil, nil, err
	}
	columns := answerColumns(m, k, false)
	proven, err := newReply(false, columns...)
	if err != nil {
		return nil, nil, err
	}
	names := newTables()
	put := func(lo int, resp *batch.Response) { p.put(proven, lo, names, resp) }
	found, err := tasks.Certify(ctx, p.tasks, p.parts(ctx, "certifying", put), p.note)
	if err != nil {
		return nil, nil, p.explain(err)
	}
	more, contents := p.columns()
	out, err := replyOf(c.s.link.passes(), append(columns, more...), append([][]byte{proven.part(0), proven.part(1), proven.part(2)}, contents...)...)
	return struct {
		searched
		Certified *tasks.CertifySummary `json:"certified"`
	}{p.reply(names), found}, out, err
}

package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
	"thresher/verify"
)

// recall measures the recall of stated answers.
func (s *Server) recall(r *request, w http.ResponseWriter) error {
	return s.stated(r, "recall", func(ctx context.Context, t *turn, c *comparison) error {
		if c.Deadline > 0 {
			c.tasks.Until = t.since.Add(c.Deadline)
		}
		c.tasks.Turns = func(coordinates int) error { return t.compute(ctx, coordinates, comparingCoordinate) }
		found, err := tasks.Recall(ctx, c.tasks, c.parts(ctx, t), c.note)
		if errors.Is(err, tasks.ErrUnfinished) {
			return problem.New(problem.Deadline, "the deadline passed before the best vectors of all queries were known").In(c.Called("deadline_ms"))
		}
		if err != nil {
			return c.explain(err)
		}
		found.Plan = "" // depends on the seed
		head, err := json.Marshal(struct {
			Version int64   `json:"version"`
			Writes  *uint64 `json:"writes,omitempty"`
			*tasks.RecallSummary
			Scores *api.ScoreCheck `json:"scores,omitempty"` // with the collection's ids
		}{c.info.Version, c.info.Writes, found, c.scores(found.Scores)})
		if err != nil {
			return err
		}
		out := t.outgoing(r, w)
		defer out.close()
		jsonHeader(w.Header())
		out.buf.b = append(wire.AppendVersion(append(out.buf.b, '{')), ',')
		out.buf.b = append(out.buf.b, head[1:len(head)-1]...)
		for _, member := range []string{"missed", "misses"} { // the latter is its former name
			if err := c.appendMissed(out, member); err != nil {
				return err
			}
		}
		out.buf.b = append(out.buf.b, '}')
		return out.end()
	})
}

// appendMissed appends a member with what the answers lack.
func (c *comparison) appendMissed(out *outgoing, member string) error {
	out.buf.b = append(append(append(out.buf.b, `,"`...), member...), `":[`...)
	some := false
	for j := range c.of {
		one := &c.of[j]
		if len(one.Missed) == 0 {
			continue
		}
		if some {
			out.buf.b = append(out.buf.b, ',')
		}
		some = true
		out.buf.b = wire.AppendMiss(out.buf.b, j, one.Recall, one.Missed, c.ids)
		if err := out.step(); err != nil {
			return err
		}
	}
	out.buf.b = append(out.buf.b, ']')
	return nil
}

// certify proves or corrects stated answers.
func (s *Server) certify(r *request, w http.ResponseWriter) error {
	return s.stated(r, "certify", func(ctx context.Context, t *turn, c *comparison) error {
		found, err := tasks.Certify(ctx, c.tasks, c.parts(ctx, t), c.note)
		if err != nil {
			return c.explain(err)
		}
		covers, err := s.covers(c.v, c.Search)
		if err != nil {
			return err
		}
		tail, err := json.Marshal(struct {
			*tasks.CertifySummary
			Scores *api.ScoreCheck `json:"scores,omitempty"` // with the collection's ids
		}{found, c.scores(found.Scores)})
		if err != nil {
			return err
		}
		out := t.outgoing(r, w)
		defer out.close()
		jsonHeader(w.Header())
		out.buf.b = wire.AppendOpening(out.buf.b, c.info.Version, c.info.Writes, c.took, covers, c.ids)
		for j := range c.resp.Answers {
			one := &c.of[j]
			var recall *float64
			if one.Known {
				recall = &one.Recall
			}
			out.buf.b = wire.AppendCertified(out.buf.b, j, &c.resp.Answers[j], c.Search, c.ids, recall, one.Missed)
			c.resp.Answers[j] = batch.Answer{} // frees what is written
			if err := out.step(); err != nil {
				return err
			}
		}
		out.buf.b = append(append(out.buf.b, `],"certified":`...), tail...)
		out.buf.b = append(out.buf.b, '}')
		return out.end()
	})
}

// stated finds the best atoms of queries for which a body of a verb states answers, whose atoms are the
// candidates, and passes both to answer.
func (s *Server) stated(r *request, verb string, answer func(context.Context, *turn, *comparison) error) error {
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer func() { v.Release() }()
	if _, err := accepted(r.Request, jsonType); err != nil {
		return err
	}
	if media, err := s.bodyType(r.Request); err != nil {
		return err
	} else if media != jsonType {
		return unsupported(r.Request, jsonType)
	}
	c := &comparison{}
	return s.searchInTurn(r, v, func(in *input) (*wire.Search, error) {
		body, err := in.all()
		if err != nil {
			return nil, err
		}
		if err := in.turn.compute(r.Context(), len(body), decodingByte); err != nil {
			return nil, err
		}
		defer in.close() // what is decoded shares no memory with the body
		if c.Stated, err = wire.DecodeStated(body, v.Dim(), s.limitsOf(v), s.encoders.encoderOf(v.Info().Name, v.Dim()), s.statedFiles(r, in)); err != nil {
			return nil, err
		}
		if err := tasks.CheckPublished(verb, c.Method, &c.Published); err != nil {
			return nil, err
		}
		return c.Search, nil
	}, func(ctx context.Context, t *turn, name string, _ *catalog.Version, q *wire.Search) (*batch.Response, error) {
		whole, err := s.whole(ctx, t, v)
		if err != nil {
			return nil, err
		}
		v.Release()
		v = whole
		c.v, c.ids, c.info = v, naming(v), v.Info()
		return s.runGoals(ctx, t, name, v, q, c.Listed(), func(req *batch.Request) (err error) {
			c.filter, c.exclude = req.Filter, req.Exclude
			if c.rows, err = c.Stated.Rows(rowsIn(v)); err != nil {
				return err
			}
			if slices.Contains(batch.PublishedMethods(), c.Method) {
				return nil // they take no candidates
			}
			for _, rows := range c.rows {
				req.Goals = append(req.Goals, batch.QueryGoal{Candidates: rows})
			}
			return nil
		})
	}, func(t *turn, resp *batch.Response, took time.Duration) error {
		if err := c.begin(resp, took); err != nil {
			return err
		}
		ctx, cancel := t.withDeadline(r.Context())
		defer cancel()
		err := s.explainWait(answer(ctx, t, c))
		if err == nil && s.o.Metrics != nil {
			s.o.Metrics.Compared(v.Info().Name, c.found, c.missed)
		}
		return err
	})
}

// comparison compares stated answers with the best atoms of their queries.
type comparison struct {
	*wire.Stated
	v       *catalog.Version
	info    catalog.Info
	ids     wire.Naming
	rows    [][]int64 // of the stated answers
	filter  []int64   // rows that may be returned, nil for all
	exclude []int64   // rows that may not
	tasks   *tasks.Comparison
	resp    *batch.Response
	took    time.Duration
	of      []tasks.Compared // by query
	// found and missed count the best atoms that the stated answers have, and lack.
	found, missed int
}

// begin takes the best atoms of the queries.
func (c *comparison) begin(resp *batch.Response, took time.Duration) error {
	o, err := verify.NewLazyOracleOf(c.v.Collection())
	if err != nil {
		return err
	}
	c.tasks = tasks.NewComparison(o, c.v.Collection(), min(c.K, c.v.Len()))
	c.resp, c.took, c.of = resp, took, make([]tasks.Compared, 0, c.M)
	return nil
}

const (
	// comparingCoordinate is the time to score a coordinate of an atom in float64, in ns of one
	// core.
	comparingCoordinate = 3
	// comparedAtOnce is about the number of coordinates that are scored in one turn.
	comparedAtOnce = 1 << 21
)

// parts streams the queries with both answers, as many together as are compared in a turn.
func (c *comparison) parts(ctx context.Context, t *turn) tasks.Parts {
	return func(yield func(*tasks.Part, error) bool) {
		for next := 0; next < c.M; {
			first, coordinates := next, 0
			for ; next < c.M && coordinates < comparedAtOnce; next++ {
				coordinates += c.cost(next, &c.resp.Answers[next])
			}
			err := t.compute(ctx, coordinates, comparingCoordinate)
			if !yield(c.part(first, next), err) {
				return
			}
		}
	}
}

// part returns queries first to next-1.
func (c *comparison) part(first, next int) *tasks.Part {
	p := &tasks.Part{
		Request: &batch.Request{K: c.K, Filter: c.filter, Exclude: c.exclude, SearchScores: c.Scores64},
		Proven:  c.resp.Answers[first:next],
	}
	if c.Queries64 != nil {
		p.Request.Queries64 = c.Queries64[first*c.Dim : next*c.Dim]
	} else {
		p.Request.Queries = c.Queries[first*c.Dim : next*c.Dim]
	}
	if first == 0 {
		p.Took = c.took
	}
	for j := first; j < next; j++ {
		p.Stated = append(p.Stated, dataset.Result{Query: int64(j), Rows: c.rows[j], Scores: c.Answers[j].Scores})
	}
	return p
}

// note keeps what was found of an answer.
func (c *comparison) note(one *tasks.Compared) error {
	c.of = append(c.of, *one)
	c.missed += len(one.Missed)
	c.found += one.Wanted - len(one.Missed)
	return nil
}

// cost is the number of coordinates that comparing answer j scores.
func (c *comparison) cost(j int, a *batch.Answer) int { return (len(a.IDs) + len(c.rows[j])) * c.Dim }

// explain makes a problem of what is wrong with the answers.
func (c *comparison) explain(err error) error {
	var of *tasks.AnswersError
	if errors.As(err, &of) {
		return c.Wrong("%v", err).Within(c.v.Metric().String())
	}
	return err
}

// scores returns the check of the stated scores, with the collection's ids.
func (c *comparison) scores(f *verify.FormCount) *api.ScoreCheck {
	if f == nil {
		return nil
	}
	out := &api.ScoreCheck{Form: f.Form, Stated: f.Stated, Wrong: f.Wrong, Hint: f.Hint}
	for _, x := range f.Sample {
		id := api.IntID(c.ids.ID(x.ID))
		if c.ids.Textual() {
			id = api.TextID(c.ids.Name(x.ID))
		}
		out.Sample = append(out.Sample, api.WrongScore{Query: x.Query, ID: id, Stated: x.Stated, Score: x.Score})
	}
	return out
}

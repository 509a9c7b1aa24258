package service

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"thresher/batch"
	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/verify"
)

// recall measures the recall of stated answers.
func (s *Server) recall(r *request, w http.ResponseWriter) error {
	return s.stated(r, func(t *turn, c *comparison, resp *batch.Response, took time.Duration) error {
		if !resp.Complete() {
			return problem.New(problem.Deadline, "the deadline passed before the best atoms of all queries were known").In("timeout_ms")
		}
		found, err := c.report()
		if err != nil {
			return err
		}
		found.TookMS = milliseconds(took)
		head, err := json.Marshal(found)
		if err != nil {
			return err
		}
		out := t.outgoing(r, w)
		defer out.close()
		jsonHeader(w.Header())
		out.buf.b = append(append(out.buf.b, head[:len(head)-1]...), `,"misses":[`...)
		some := false
		for j, one := range c.of {
			if len(one.missed) == 0 {
				continue
			}
			if some {
				out.buf.b = append(out.buf.b, ',')
			}
			some = true
			out.buf.b = wire.AppendMiss(out.buf.b, j, one.recall, one.missed, c.ids)
			if err := out.step(); err != nil {
				return err
			}
		}
		out.buf.b = append(out.buf.b, ']', '}')
		return out.end()
	})
}

// certify proves or corrects stated answers.
func (s *Server) certify(r *request, w http.ResponseWriter) error {
	return s.stated(r, func(t *turn, c *comparison, resp *batch.Response, took time.Duration) error {
		summary, err := c.summary()
		if err != nil {
			return err
		}
		tail, err := json.Marshal(summary)
		if err != nil {
			return err
		}
		out := t.outgoing(r, w)
		defer out.close()
		jsonHeader(w.Header())
		out.buf.b = wire.AppendOpening(out.buf.b, c.version, took)
		for j := range resp.Answers {
			var recall *float64
			if c.of[j].compared {
				recall = &c.of[j].recall
			}
			out.buf.b = wire.AppendCertified(out.buf.b, j, &resp.Answers[j], c.Search, c.ids, recall, c.of[j].missed)
			resp.Answers[j] = batch.Answer{} // frees what is written
			if err := out.step(); err != nil {
				return err
			}
		}
		out.buf.b = append(append(out.buf.b, `],"certified":`...), tail...)
		out.buf.b = append(out.buf.b, '}')
		return out.end()
	})
}

// stated finds the best atoms of queries for which a body states answers, whose atoms are the
// candidates, compares them, and passes both to answer.
func (s *Server) stated(r *request, answer func(*turn, *comparison, *batch.Response, time.Duration) error) error {
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer v.Release()
	if _, err := accepted(r.Request, jsonType); err != nil {
		return err
	}
	if media, err := s.bodyType(r.Request); err != nil {
		return err
	} else if media != jsonType {
		return unsupported(r.Request, jsonType)
	}
	c := &comparison{v: v, ids: naming(v), version: v.Info().Version}
	return s.searchInTurn(r, v, func(in *input) (*wire.Search, error) {
		body, err := in.all()
		if err != nil {
			return nil, err
		}
		if err := in.turn.compute(r.Context(), len(body), decodingByte); err != nil {
			return nil, err
		}
		defer in.close() // what is decoded shares no memory with the body
		if c.Stated, err = wire.DecodeStated(body, v.Dim(), s.wireLimits(), s.encoders.encoderOf(v.Info().Name, v.Dim())); err != nil {
			return nil, err
		}
		return c.Search, nil
	}, func(ctx context.Context, t *turn, name string, v *catalog.Version, q *wire.Search) (*batch.Response, error) {
		return s.runGoals(ctx, t, name, v, q, c.Listed(), func() (goals []batch.QueryGoal, err error) {
			if c.rows, err = c.Stated.Rows(rowsIn(v)); err != nil {
				return nil, err
			}
			for _, rows := range c.rows {
				goals = append(goals, batch.QueryGoal{Candidates: rows})
			}
			return goals, nil
		})
	}, func(t *turn, resp *batch.Response, took time.Duration) error {
		if err := c.compare(r.Context(), t, resp); err != nil {
			return err
		}
		err := answer(t, c, resp, took)
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
	version int64
	ids     wire.Naming
	rows    [][]int64 // of the stated answers
	recalls *verify.Recall
	of      []compared // by query
	// found and missed count the best atoms that the stated answers have, and lack.
	found, missed int
	method        batch.Method
}

// compared is the comparison of one answer.
type compared struct {
	compared bool // false if the best atoms are not known
	recall   float64
	missed   []int64 // rows
}

const (
	// comparingCoordinate is the time to score a coordinate of an atom in float64, in ns of one
	// core.
	comparingCoordinate = 3
	// comparedAtOnce is about the number of coordinates that are scored in one turn.
	comparedAtOnce = 1 << 21
)

// compare compares the answers of complete searches, in turns.
func (c *comparison) compare(ctx context.Context, t *turn, resp *batch.Response) error {
	o, err := verify.NewLazyOracle(c.v.Rows(), c.Dim, c.v.Metric())
	if err != nil {
		return err
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	c.recalls = verify.NewRecall(o, min(c.K, c.v.Len()))
	c.of = make([]compared, c.M)
	ahead := 0 // coordinates for which there is a turn
	for j := range c.of {
		a := &resp.Answers[j]
		c.method = a.Certificate.Method
		if a.Certificate.StoppedBy != batch.Done {
			continue
		}
		if ahead -= c.cost(j, a); ahead < 0 {
			for next := j; next < c.M && ahead < comparedAtOnce; next++ {
				ahead += c.cost(next, &resp.Answers[next])
			}
			if err := t.compute(ctx, ahead, comparingCoordinate); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return t.s.explainWait(err)
			}
		}
		share, err := c.recalls.Compare(int64(j), c.Queries[j*c.Dim:(j+1)*c.Dim], a.IDs, c.rows[j], c.Answers[j].Scores)
		if err != nil {
			return err
		}
		missed := append([]int64(nil), c.recalls.Missed()...)
		c.of[j] = compared{true, share, missed}
		c.missed += len(missed)
		c.found += len(a.IDs) - len(missed)
	}
	return nil
}

// cost is the number of coordinates that comparing answer j scores.
func (c *comparison) cost(j int, a *batch.Answer) int { return (len(a.IDs) + len(c.rows[j])) * c.Dim }

// figures returns the report on the answers compared, of which there is at least one. Scores of
// another metric are a *problem.Problem.
func (c *comparison) figures() (*verify.RecallReport, error) {
	p, err := c.recalls.Report()
	if err != nil {
		return nil, problem.New(problem.InvalidValue, "%v", err).In("answers").Within(c.v.Metric().String())
	}
	return p, nil
}

// report returns what a client learns of the recall.
func (c *comparison) report() (*api.RecallReport, error) {
	p, err := c.figures()
	if err != nil {
		return nil, err
	}
	out := &api.RecallReport{
		Version: c.version, Metric: c.v.Metric().String(), Method: string(c.method),
		Queries: p.Queries, Complete: p.Complete, K: p.K, Recall: p.Recall, ByID: p.ByID, Low: p.Low, High: p.High,
		Short: p.Short, Repeated: p.Repeated, Scores: c.scores(p.Scores),
	}
	for _, b := range p.Ranks {
		out.Ranks = append(out.Ranks, api.RankBand(b))
	}
	if p.Gaps != nil {
		gaps := api.Gaps(*p.Gaps)
		out.Gaps = &gaps
	}
	return out, nil
}

// summary returns what a client learns of the answers certified.
func (c *comparison) summary() (*api.CertifiedSummary, error) {
	out := &api.CertifiedSummary{}
	var shares float64
	for _, one := range c.of {
		if !one.compared {
			continue
		}
		out.Compared++
		out.Missed += int64(len(one.missed))
		shares += one.recall
		if len(one.missed) == 0 {
			out.Right++
		}
	}
	if out.Compared == 0 {
		return out, nil
	}
	out.Recall = shares / float64(out.Compared)
	p, err := c.figures()
	if err != nil {
		return nil, err
	}
	out.Scores = c.scores(p.Scores)
	return out, nil
}

// scores returns the check of the stated scores, with the collection's ids.
func (c *comparison) scores(f *verify.FormCount) *api.ScoreCheck {
	if f == nil {
		return nil
	}
	out := &api.ScoreCheck{Form: f.Form, Stated: f.Stated, Wrong: f.Wrong}
	for _, x := range f.Sample {
		id := api.IntID(c.ids.ID(x.ID))
		if c.ids.Textual() {
			id = api.TextID(c.ids.Name(x.ID))
		}
		out.Sample = append(out.Sample, api.WrongScore{Query: x.Query, ID: id, Stated: x.Stated, Score: x.Score})
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

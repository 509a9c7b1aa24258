package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
	"thresher/verify"
)

// shard describes the vectors of a collection, as answers state them (tasks.ShardOf). The client has the ids, and
// sends those of the rows that the digest is made of.
func (c *call) shard(ctx context.Context) (any, *reply, error) {
	var f struct {
		Handle int64    `json:"handle"`
		IDs    []string `json:"ids"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if f.IDs == nil {
		return tasks.ShardOf(v.Collection, nil), nil, nil
	}
	if want := tasks.ShardSample(v.N); len(f.IDs) != want {
		return nil, nil, wrong("ids", "%d ids; the digest is made of %d rows", len(f.IDs), want)
	}
	next := -1 // rows are asked for in ascending order
	return tasks.ShardOf(v.Collection, func(int) string {
		next++
		return f.IDs[next]
	}), nil, nil
}

// savedAnswers are the answers of a file, in columns.
type savedAnswers struct {
	lims, rows    []int64
	ids, queryIDs []string
	scores        []float64
	certificates  []byte
	covers        json.RawMessage
	method        batch.Method // of answers without certificates
	names         *tables
	rounded       bool // scores are of float32
	named         bool // ids are not row numbers
	placed        bool // rows are known
	others        bool // they are another program's
}

// answersReply is the reply to answers.
type answersReply struct {
	Covers   json.RawMessage `json:"covers,omitempty"`
	Rounded  bool            `json:"rounded"`
	Plans    []string        `json:"plans"`
	Backends []string        `json:"backends"`
}

// answers reads a file of answers, whichever door wrote it.
func (c *call) answers(ctx context.Context) (any, *reply, error) {
	var f struct {
		Path      string `json:"path"`
		Unchecked bool   `json:"unchecked"` // answers of others, which may lack scores
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if !filepath.IsAbs(f.Path) {
		return nil, nil, wrong("path", "%q is not absolute", f.Path)
	}
	if err := checkPath(f.Path); err != nil {
		return nil, nil, err
	}
	r, err := dataset.OpenResults(f.Path, dataset.BudgetOf(c.s.o.ReadLimit, "THRESHER_READ_LIMIT"))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close() // read only
	s := &savedAnswers{others: f.Unchecked, lims: []int64{0}, names: newTables(), placed: true}
	for at := int64(0); ; at++ {
		a, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			if err = s.add(at, &a); err != nil {
				err = wrong("path", "%s: query %d: %v", f.Path, at, err)
			}
		}
		if err == nil {
			err = c.fits("path", answerBytes*int64(len(s.rows)))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(s.lims) == 1 {
		return nil, nil, wrong("path", "%s: no answers", f.Path)
	}
	out, err := s.columns(c.s.link.passes())
	return answersReply{s.covers, s.rounded, s.names.plans.list, s.names.backends.list}, out, err
}

// add adds the answer to the next query, at.
func (s *savedAnswers) add(at int64, a *dataset.Result) error {
	if a.Query != at {
		return fmt.Errorf("the answer is to query %d; answers must be in the order of the queries, without gaps", a.Query)
	}
	if at == 0 && a.Covers != nil {
		stated, err := tasks.ReadCoverage(a.Covers)
		if err != nil {
			return err
		}
		s.covers, s.method = a.Covers, stated.Method
	}
	n := a.Found()
	if err := s.addVectors(a, n); err != nil {
		return err
	}
	for j := range n {
		switch {
		case a.Scores64 != nil:
			s.scores = append(s.scores, a.Scores64[j])
		case a.Scores != nil:
			s.scores, s.rounded = append(s.scores, float64(a.Scores[j])), true
		case s.others:
			s.scores = append(s.scores, math.NaN())
		default:
			return errors.New("there are no scores")
		}
		if x := s.scores[len(s.scores)-1]; x-x != 0 && !s.others {
			return errors.New("a vector has no finite score")
		}
	}
	s.lims = append(s.lims, int64(len(s.rows)))
	s.queryIDs = append(s.queryIDs, a.QueryID)
	certificate, err := s.certificate(a)
	if err != nil {
		return err
	}
	s.certificates = s.names.appendCertificate(s.certificates, &certificate)
	return nil
}

// addVectors adds ids and rows of an answer of n vectors.
func (s *savedAnswers) addVectors(a *dataset.Result, n int) error {
	if n > 0 && s.named != (a.IDs != nil) {
		if len(s.rows) > 0 {
			return errors.New("its vectors have ids, or those of others have")
		}
		s.named = a.IDs != nil
	}
	s.ids = append(s.ids, a.IDs...)
	if len(a.Rows) == n {
		s.rows = append(s.rows, a.Rows...)
		return nil
	}
	s.placed = false
	for range n {
		s.rows = append(s.rows, -1)
	}
	return nil
}

// certificate is that of an answer, or what its file states in place of one.
func (s *savedAnswers) certificate(a *dataset.Result) (batch.Certificate, error) {
	c := batch.Certificate{Method: s.method, Guarantee: batch.Guarantee(a.Guarantee), Delta: a.Delta, Epsilon: a.Epsilon, Exact: a.Exact, Pulls: max(0, a.Pulls), StoppedBy: batch.Done}
	if a.Certificate != nil {
		c = batch.Certificate{}
		if err := json.Unmarshal(a.Certificate, &c); err != nil {
			return c, fmt.Errorf("certificate: %w", err)
		}
		if a.Guarantee != "" && a.Guarantee != string(c.Guarantee) {
			return c, fmt.Errorf("the answer's guarantee is %q, that of its certificate %q", a.Guarantee, c.Guarantee)
		}
		return c, verify.CheckCertificate(&c)
	}
	if a.Partial {
		c.StoppedBy, c.Exact = batch.Deadline, false
	}
	if c.Guarantee == "" {
		c.Guarantee = batch.GuaranteeHeuristic
	}
	if c.Guarantee == batch.GuaranteeExact || c.Guarantee == batch.GuaranteeCertain || c.Guarantee == batch.GuaranteeHeuristic {
		c.Delta = 0
	}
	return c, nil
}

// columns returns the arrays of the reply.
func (s *savedAnswers) columns(passes bool) (*reply, error) {
	m, n := int64(len(s.lims)-1), int64(len(s.rows))
	columns := []column{{"lims", int64s, []int64{m + 1}}, {"scores64", float64s, []int64{n}}, {"certificates", certificates, []int64{m}}}
	contents := [][]byte{bytesOf(s.lims), bytesOf(s.scores), s.certificates}
	if s.placed {
		columns, contents = append(columns, column{"rows", int64s, []int64{n}}), append(contents, bytesOf(s.rows))
	}
	if s.named {
		more, bytes := idsColumns(dataset.IDsOf(s.ids))
		columns, contents = append(columns, more...), append(contents, bytes...)
	}
	for _, id := range s.queryIDs {
		if id == "" {
			continue
		}
		more, bytes := idsColumns(dataset.IDsOf(s.queryIDs))
		for i := range more {
			more[i].name = "query_" + more[i].name
		}
		columns, contents = append(columns, more...), append(contents, bytes...)
		break
	}
	return replyOf(passes, columns, contents...)
}

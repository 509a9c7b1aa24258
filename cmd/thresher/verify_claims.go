package main

import (
	"fmt"
	"io"

	"thresher/batch"
	"thresher/config"
	"thresher/tasks"
	"thresher/verify"
)

// setTerms sets what the answers are held to: certificates to what flags allow; the scores of answers without
// them may be on another scale.
func (v *verification) setTerms() {
	if v.certified == 0 {
		v.terms.Others = &verify.Others{}
	}
	v.terms.Require = batch.Guarantee(v.flags.require)
	if v.certified == 0 && v.flags.guarantee != "" { // the flags say what is granted
		return
	}
	if v.Config.Origin("epsilon").Kind == config.FromFlag {
		v.terms.Epsilon = &v.Config.Epsilon
	}
	if v.Config.Origin("delta").Kind == config.FromFlag {
		v.terms.Delta = &v.Config.Delta
	}
}

// drawn are the queries to verify, with what each asks for.
func (v *verification) drawn(src *queryChunks) *drawnQueries {
	d := &drawnQueries{app: v.app, source: src, doing: "verifying", answers: v.in, atoms: v.inAtoms, total: v.report.Queries, sample: v.flags.sample, goals: v.goals, filters: v.filters}
	if v.flags.excludeSelf {
		d.selves = v.checkSelves
	}
	return d
}

// checkSelves checks that queries, numbered from first, are the atoms of these numbers.
func (v *verification) checkSelves(rows *queryRows, first int64) error {
	switch {
	case v.walked != nil && v.walked.Float64():
		return tasks.CheckGivenSelvesOfRows(rows.given, v.walked, first, first)
	case v.walked != nil:
		return tasks.CheckSelvesOfRows(rows.values, v.walked, first, first)
	case v.kept != nil:
		return tasks.CheckGivenSelves(rows.given, v.kept, first, first)
	}
	return tasks.CheckSelves(rows.values, v.rows, v.dim, first, first)
}

// claims returns the queries drawn of a chunk, with the answers to them; nil if none is.
func (v *verification) claims(of *drawnChunk) (*tasks.Claims, error) {
	req := v.request
	req.Stored = true
	c := &tasks.Claims{Request: &req, Terms: &v.terms}
	for j := range of.n {
		a, err := v.answers.nextAnswer()
		if err == io.EOF {
			return nil, fmt.Errorf("%s had %d answers and has fewer now", v.in.name, v.report.Queries)
		}
		if err != nil {
			return nil, err
		}
		if !of.drawn(j) {
			continue
		}
		change := of.add(&req, j)
		v.rounded = max(v.rounded, change)
		if !v.answers.certified { // whoever made the answer may have rounded as the search does
			a.Certificate.VectorsChange, a.Certificate.QueryChange = v.change, change
		}
		c.Numbers, c.Answers = append(c.Numbers, of.first+int64(j)), append(c.Answers, a)
	}
	if len(c.Answers) == 0 {
		return nil, nil
	}
	return c, nil
}

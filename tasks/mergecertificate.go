package tasks

import (
	"encoding/json"
	"fmt"

	"thresher/batch"
	"thresher/dataset"
)

// certify gives a merged answer a certificate, if all answers have one.
func (m *merger) certify(out *dataset.Result) error {
	all := make([]batch.Certificate, len(m.answers))
	for i := range m.answers {
		a := &m.answers[i]
		if a.Certificate == nil {
			return nil
		}
		read := struct {
			batch.Certificate
			Floor bool `json:"floor"` // the former name of threshold_before
		}{}
		if err := json.Unmarshal(a.Certificate, &read); err != nil {
			return fmt.Errorf("%s: certificate of query %d: %w", m.files[i].Name, a.Query, err)
		}
		all[i] = read.Certificate
		all[i].ThresholdBefore = read.ThresholdBefore || read.Floor
	}
	if len(all) == 1 {
		out.Certificate = m.answers[0].Certificate
		return nil
	}
	c := m.mergeCertificates(all)
	c.Guarantee, c.Delta, c.Epsilon, c.Exact = batch.Guarantee(out.Guarantee), out.Delta, out.Epsilon, out.Exact
	if c.Delta == 0 {
		c.Law = ""
	}
	var err error
	out.Certificate, err = json.Marshal(c)
	return err
}

// mergeCertificates merges what certificates say beside the promise.
func (m *merger) mergeCertificates(all []batch.Certificate) *batch.Certificate {
	c := &batch.Certificate{Method: all[0].Method, StoppedBy: batch.Done, Plan: batch.MergedPlan}
	for i := range all {
		a := &all[i]
		c.AddWork(a)
		if bound := m.openBound(i, a); bound != nil && (c.OpenBound == nil || *bound > *c.OpenBound) {
			c.OpenBound = bound
		}
	}
	return c
}

// openBound is what no vector of one file's shards exceeds, beside those of its answer and what is
// not better than the last of k; nil if the answer is complete. An answer of fewer than k vectors
// may be ended by others of the merged answer, and so its own last score counts.
func (m *merger) openBound(file int, c *batch.Certificate) *float64 {
	a := &m.answers[file]
	n := len(a.Scores64)
	if c.OpenBound == nil || n == 0 || m.k > 0 && n >= m.k {
		return c.OpenBound
	}
	last, gap := a.Scores64[n-1], m.metric.Gap(c.Epsilon)
	if m.metric.Differences() {
		last = -m.metric.Gap(last) // the search score of a squared distance
	}
	bound := max(*c.OpenBound, last+gap)
	return &bound
}

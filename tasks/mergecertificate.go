package tasks

import (
	"encoding/json"
	"fmt"

	"thresher/batch"
	"thresher/dataset"
)

// mergedPlan is the plan in certificates of merged answers.
const mergedPlan = "merged"

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
	c := &batch.Certificate{Method: all[0].Method, StoppedBy: batch.Done, Plan: mergedPlan}
	for i := range all {
		a := &all[i]
		if a.Method != c.Method {
			c.Method = batch.Auto
		}
		if lawRank(a.Law) > lawRank(c.Law) {
			c.Law = a.Law
		}
		if stopRank(a.StoppedBy) > stopRank(c.StoppedBy) {
			c.StoppedBy = a.StoppedBy
		}
		c.Pulls += a.Pulls
		c.DensePulls += a.DensePulls
		c.Bytes += a.Bytes
		c.RowsScored += a.RowsScored
		c.ThresholdBefore = c.ThresholdBefore || a.ThresholdBefore
		c.VectorsChange = max(c.VectorsChange, a.VectorsChange)
		c.QueryChange = max(c.QueryChange, a.QueryChange)
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

// lawRank orders laws from best to worst.
func lawRank(l batch.Law) int {
	for i, law := range []batch.Law{batch.LawHaar, batch.LawOrder, batch.LawCalibrated, batch.LawPublished, batch.LawAssumed} {
		if l == law {
			return i + 1
		}
	}
	return 0
}

// stopRank orders the reasons why a search ended.
func stopRank(s batch.Stop) int {
	switch s {
	case batch.Cancelled:
		return 2
	case batch.Done, "":
		return 0
	}
	return 1
}

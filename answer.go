package thresher

import (
	"time"

	"thresher/batch"
)

// Answer is the answer to one query, best first, ties by ascending row number.
type Answer struct {
	Rows []int64 // row numbers of the vectors
	// IDs are their ids: row numbers, too, if the vectors have none; nil if ids are texts.
	IDs     []uint64
	TextIDs []string // their ids, if these are texts, else nil
	// Scores are inner products, cosines, or squared distances, rounded; Scores64 the same as they were compared, nil for
	// what Certify kept unproven.
	Scores   []float32
	Scores64 []float64
	// Complete says that the search was not stopped.
	Complete  bool
	Guarantee Guarantee
	// Limited says that Request.Limit was reached: more vectors may reach MinScore.
	Limited     bool
	Certificate Certificate
}

// Response has one Answer a query.
type Response struct {
	Answers  []Answer
	Warnings []string      // what was changed in the request, such as k reduced to the number of vectors
	Took     time.Duration // of the search, without waits
	Stats    batch.Stats
}

// Complete reports whether all answers are.
func (r *Response) Complete() bool {
	for i := range r.Answers {
		if !r.Answers[i].Complete {
			return false
		}
	}
	return true
}

// respond returns what an engine answered, with ids; nil for nil.
func (x *Index) respond(found *batch.Response) *Response {
	if found == nil {
		return nil
	}
	r := &Response{Answers: make([]Answer, len(found.Answers)), Warnings: found.Warnings, Took: found.Took, Stats: found.Stats}
	for j := range found.Answers {
		a := &found.Answers[j]
		r.Answers[j] = Answer{
			Rows: a.IDs, Scores: a.Scores, Scores64: x.shown(a.SearchScores),
			Complete: a.Certificate.StoppedBy == batch.Done, Guarantee: a.Certificate.Guarantee,
			Limited: a.Limited, Certificate: a.Certificate,
		}
		x.identify(&r.Answers[j])
	}
	return r
}

// identify fills in the ids of an answer's rows.
func (x *Index) identify(a *Answer) {
	if x.ids != nil && x.ids.texts != nil {
		a.TextIDs = make([]string, len(a.Rows))
		for i, row := range a.Rows {
			a.TextIDs[i] = x.ids.texts[row]
		}
		return
	}
	a.IDs = make([]uint64, len(a.Rows))
	for i, row := range a.Rows {
		a.IDs[i] = uint64(row)
		if x.ids != nil {
			a.IDs[i] = x.ids.numbers[row]
		}
	}
}

// shown turns the scores that a search compares into those of answers, in place.
func (x *Index) shown(scores []float64) []float64 {
	for i, s := range scores {
		scores[i] = x.Metric().Shown(s)
	}
	return scores
}

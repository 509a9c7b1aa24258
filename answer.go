package thresher

import (
	"time"

	"thresher/batch"
)

// Answer is the answer to one query, best first, ties by ascending row number.
type Answer struct {
	Rows []int64 // row numbers of the vectors, which keep them through changes
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
	// Covers says what the answers are for, if the caller sets it to Index.Covers of the request; of merged answers Merge
	// does.
	Covers *Coverage

	named bool // ids are not row numbers
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

// respond returns what an engine answered, with ids and row numbers; nil for nil.
func (x *Index) respond(found *batch.Response) *Response {
	if found == nil {
		return nil
	}
	r := &Response{Answers: make([]Answer, len(found.Answers)), Warnings: found.Warnings, Took: found.Took, Stats: found.Stats, named: x.ids != nil || x.numbers != nil}
	for j := range found.Answers {
		r.Answers[j] = x.answer(&found.Answers[j])
		x.identify(&r.Answers[j])
		x.renumber(r.Answers[j].Rows)
	}
	return r
}

// answer returns what an engine answered to one query, without ids.
func (x *Index) answer(a *batch.Answer) Answer {
	return Answer{
		Rows: a.IDs, Scores: a.Scores, Scores64: x.shown(a.SearchScores),
		Complete: a.Certificate.StoppedBy == batch.Done, Guarantee: a.Certificate.Guarantee,
		Limited: a.Limited, Certificate: a.Certificate,
	}
}

// identify fills in the ids of an answer's rows.
func (x *Index) identify(a *Answer) { a.identify(x.ids, func(i int) int64 { return a.Rows[i] }) }

// identify fills in ids: that of the vector of rank i is the one of row at(i).
func (a *Answer) identify(ids *IDs, at func(i int) int64) {
	if ids.Textual() {
		a.TextIDs = make([]string, len(a.Rows))
		for i := range a.Rows {
			a.TextIDs[i] = ids.Text(at(i))
		}
		return
	}
	a.IDs = make([]uint64, len(a.Rows))
	for i := range a.Rows {
		a.IDs[i] = ids.Number(at(i))
	}
}

// renumber replaces rows by what the index calls them.
func (x *Index) renumber(rows []int64) {
	if x.numbers == nil {
		return
	}
	for i, row := range rows {
		rows[i] = x.numbers[row]
	}
}

// shown turns the scores that a search compares into those of answers, in place.
func (x *Index) shown(scores []float64) []float64 {
	for i, s := range scores {
		scores[i] = x.Metric().Shown(s)
	}
	return scores
}

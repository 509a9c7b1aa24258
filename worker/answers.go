package worker

import (
	"math"
	"sync"

	"thresher/batch"
	"thresher/collection"
)

// answerBytes are those of an atom of an answer: its row and its score.
const answerBytes = 8 + 8

// answerColumns are the arrays of n answers of at most k atoms, which put fills. Scores are in float64, or rounded
// to float32.
func answerColumns(n, k int64, rounded bool) []column {
	shape := []int64{n, k}
	scores := column{"scores64", float64s, shape}
	if rounded {
		scores = column{"scores", float32s, shape}
	}
	return []column{{"rows", int64s, shape}, scores, {"certificates", certificates, []int64{n}}}
}

// put writes answers to answerColumns, with SearchScores if these are in float64. The first is to query lo.
func (s *search) put(out *reply, lo int, names *tables, resp *batch.Response) {
	record := out.part(2)
	for j := range resp.Answers {
		at := (lo + j) * certificateBytes
		names.appendCertificate(record[at:at:at+certificateBytes], &resp.Answers[j].Certificate)
	}
	m, threads := len(resp.Answers), s.threads
	if m*s.k < minShared || threads == 1 {
		s.putRange(out, lo, resp.Answers)
		return
	}
	// Much of this time is page faults, which threads take at the same time.
	var writing sync.WaitGroup
	for t := range threads {
		from, to := m*t/threads, m*(t+1)/threads
		writing.Go(func() { s.putRange(out, lo+from, resp.Answers[from:to]) })
	}
	writing.Wait()
}

// putRange writes the atoms and scores of answers, the first of which is to query lo.
func (s *search) putRange(out *reply, lo int, answers []batch.Answer) {
	for j := range answers {
		out.putAnswer(lo+j, s.k, s.index.Metric, &answers[j])
	}
}

// minShared is from how many atoms of answers on several threads write them.
const minShared = 1 << 16

// putAnswer writes the atoms and scores of answer j, and forgets them.
func (r *reply) putAnswer(j, k int, m collection.Metric, a *batch.Answer) {
	from, to := j*k, (j+1)*k
	rows := elements[int64](r.part(0))[from:to]
	for i := copy(rows, a.IDs); i < k; i++ {
		rows[i] = -1
	}
	if r.columns[1].DType == float32s {
		scores := elements[float32](r.part(1))[from:to]
		fill(scores, copy(scores, a.Scores))
	} else {
		scores := elements[float64](r.part(1))[from:to]
		collection.ShowAll(m, scores[:len(a.IDs)], a.SearchScores[:len(a.IDs)])
		fill(scores, len(a.IDs))
	}
	a.IDs, a.Scores, a.SearchScores = nil, nil, nil
}

// fill fills scores from place n on with NaN.
func fill[T float32 | float64](scores []T, n int) {
	for i := n; i < len(scores); i++ {
		scores[i] = T(math.NaN())
	}
}

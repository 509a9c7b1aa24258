package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/verify"
)

// line is atoms 0 to n-1 of one dimension, whose inner products with the query 1 are their numbers.
func line(t *testing.T, n int) (*collection.Collection, *verify.Oracle) {
	t.Helper()
	rows := make([]float32, n)
	for i := range rows {
		rows[i] = float32(i)
	}
	c, err := collection.Build(t.Context(), rows, 1, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	o, err := verify.NewOracle(rows, 1, collection.InnerProduct, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

// proven is a finished answer that cannot be wrong.
func proven(ids ...int64) batch.Answer {
	return batch.Answer{IDs: ids, Certificate: batch.Certificate{Method: batch.Certain, Guarantee: batch.GuaranteeCertain, StoppedBy: batch.Done, Plan: "dense"}}
}

// parts is a stream.
func parts[T any](all ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// TestCompare: of each kind of atom that a query may not have, the answer is not credited, and counts.
func TestCompare(t *testing.T) {
	c, o := line(t, 10)
	limit := 7.
	for _, x := range []struct {
		name     string
		req      batch.Request
		proven   batch.Answer
		stated   []int64
		recall   float64
		missed   []int64
		unwanted int64
	}{
		{"right", batch.Request{K: 3}, proven(9, 8, 7), []int64{9, 8, 7}, 1, nil, 0},
		{"in another order", batch.Request{K: 3}, proven(9, 8, 7), []int64{7, 9, 8}, 1, nil, 0},
		{"lacks one", batch.Request{K: 3}, proven(9, 8, 7), []int64{9, 7, 3}, 2. / 3, []int64{8}, 0},
		{"longer than k", batch.Request{K: 2}, proven(9, 8), []int64{9, 7, 8}, .5, []int64{8}, 0},
		{"itself", batch.Request{K: 3, ExcludeSelf: true, SelfFirst: 9}, proven(8, 7, 6), []int64{9, 8, 7, 6}, 1, nil, 1},
		{"itself in place of another", batch.Request{K: 3, ExcludeSelf: true, Selves: []int64{9}}, proven(8, 7, 6), []int64{9, 8, 7}, 2. / 3, []int64{6}, 1},
		{"excluded", batch.Request{K: 3, Goals: []batch.QueryGoal{{Exclude: []int64{8, 9}}}}, proven(7, 6, 5), []int64{9, 8, 7}, 1. / 3, []int64{6, 5}, 2},
		{"above the greatest score", batch.Request{K: 2, MaxScore: &limit}, proven(7, 6), []int64{8, 7}, .5, []int64{6}, 1},
		{"above the greatest score of the query", batch.Request{K: 2, Goals: []batch.QueryGoal{{MaxScore: &limit}}}, proven(7, 6), []int64{8, 7}, .5, []int64{6}, 1},
		{"k of the query", batch.Request{K: 1, Goals: []batch.QueryGoal{{K: 2}}}, proven(9, 8), []int64{9, 8}, 1, nil, 0},
		{"below the least score", batch.Request{K: 3}, proven(9, 8), []int64{9, 8, 7}, 1, nil, 1},
		{"nothing wanted", batch.Request{K: 3}, proven(), []int64{9}, 1, nil, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.req.Queries = []float32{1}
			p := &Part{Request: &x.req, Proven: []batch.Answer{x.proven}, Stated: []dataset.Result{{Query: 4, Rows: x.stated}}}
			var got Compared
			s, err := Certify(t.Context(), NewComparison(o, c, 3), parts(p), func(c *Compared) error { got = *c; return nil })
			if err != nil {
				t.Fatal(err)
			}
			want := Compared{Query: 4, Known: true, Wanted: len(x.proven.IDs), Recall: x.recall, Missed: x.missed, Unwanted: x.unwanted}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			sum := CertifySummary{Compared: 1, Missed: int64(len(x.missed)), Unwanted: x.unwanted, Recall: x.recall}
			if len(x.missed) == 0 && x.unwanted == 0 {
				sum.Right = 1
			}
			if diff := cmp.Diff(&sum, s); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStoppedIsNotCompared: nothing is said of answers whose best atoms are not known.
func TestStoppedIsNotCompared(t *testing.T) {
	c, o := line(t, 10)
	stopped := proven(3)
	stopped.Certificate.StoppedBy = batch.Deadline
	p := &Part{Request: &batch.Request{K: 1, Queries: []float32{1, 1}}, Proven: []batch.Answer{stopped, proven(9)}, Stated: []dataset.Result{{Rows: []int64{9}}, {Query: 1, Rows: []int64{8}}}}
	var known []bool
	s, err := Certify(t.Context(), NewComparison(o, c, 1), parts(p), func(c *Compared) error { known = append(known, c.Known); return nil })
	if err != nil || s.Compared != 1 || s.Right != 0 || s.Missed != 1 || !slices.Equal(known, []bool{false, true}) {
		t.Errorf("%+v, known %v (%v)", s, known, err)
	}
	if _, err := Recall(t.Context(), NewComparison(o, c, 1), parts(p), nil); !errors.Is(err, ErrUnfinished) {
		t.Errorf("recall: %v", err)
	}
}

// TestResume: a comparison that goes on from the counts of another, kept as JSON, has all.
func TestResume(t *testing.T) {
	c, o := line(t, 10)
	of := func(id int64, score float32) *Part {
		return &Part{Request: &batch.Request{K: 1, Queries: []float32{1}}, Proven: []batch.Answer{proven(9)}, Stated: []dataset.Result{{Rows: []int64{id}, Scores: []float32{score}}}}
	}
	whole, err := Certify(t.Context(), NewComparison(o, c, 1), parts(of(9, 9), of(8, 8.5), of(9, 9)), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := NewComparison(o, c, 1), NewComparison(o, c, 1)
	if _, err := Certify(t.Context(), first, parts(of(9, 9), of(8, 8.5)), nil); err != nil {
		t.Fatal(err)
	}
	counts, scores := first.Counts()
	text, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	counts = CertifyCounts{}
	if err := json.Unmarshal(text, &counts); err != nil {
		t.Fatal(err)
	}
	if former := `{"compared":2,"right":1,"missing":1,"unwanted":0,"shares":1}`; string(text) != former {
		t.Errorf("%s, in runs of before %s", text, former)
	}
	second.Resume(counts, scores)
	resumed, err := Certify(t.Context(), second, parts(of(9, 9)), nil)
	if diff := cmp.Diff(whole, resumed); err != nil || diff != "" || whole.Scores.Wrong != 1 || whole.Compared != 3 {
		t.Errorf("%v (-whole +resumed):\n%s", err, diff)
	}
}

// TestRecallSummary has the figures of package verify and says how the best atoms were found.
func TestRecallSummary(t *testing.T) {
	c, o := line(t, 10)
	p := &Part{Request: &batch.Request{K: 2, Queries: []float32{1}}, Proven: []batch.Answer{proven(9, 8)}, Stated: []dataset.Result{{Rows: []int64{9, 1}}}, Took: 2e6}
	s, err := Recall(t.Context(), NewComparison(o, c, 2), parts(p, p), nil)
	if err != nil || s.Metric != "ip" || s.Method != batch.Certain || s.Plan != "dense" || s.TookMS != 4 || s.Queries != 2 || math.Abs(s.Recall-.5) > 1e-12 {
		t.Errorf("%+v (%v)", s, err)
	}
}

// TestReasonsUntil: looking for reasons ends by itself, and the recall is stated all the same.
func TestReasonsUntil(t *testing.T) {
	c, o := line(t, 10)
	for _, until := range []time.Time{{}, time.Unix(1, 0)} {
		p := &Part{Request: &batch.Request{K: 2, Queries: []float32{1}}, Proven: []batch.Answer{proven(9, 8)}, Stated: []dataset.Result{{Rows: []int64{9, 1}}}}
		of := NewComparison(o, c, 2)
		of.Until = until
		s, err := Recall(t.Context(), of, parts(p), nil)
		if err != nil || s.Recall != .5 || (s.Reasons == nil) != !until.IsZero() {
			t.Errorf("until %v: %+v (%v), reasons %v", until, s, err, s.Reasons)
		}
	}
}

// TestComparisonErrors: answers that cannot be of the collection, scores of another metric, streams that
// fail, visitors that refuse, and contexts that end.
func TestComparisonErrors(t *testing.T) {
	c, o := line(t, 10)
	of := func(ids []int64, scores []float32) *Part {
		return &Part{Request: &batch.Request{K: 1, Queries: []float32{1}}, Proven: []batch.Answer{proven(9)}, Stated: []dataset.Result{{Query: 6, Rows: ids, Scores: scores}}}
	}
	var wrong *AnswersError
	if _, err := Certify(t.Context(), NewComparison(o, c, 1), parts(of([]int64{9, 10}, nil)), nil); !errors.As(err, &wrong) || wrong.OtherMetric || err.Error() != "query 6: vector 10 at rank 2 is outside [0, 10)" {
		t.Error(err)
	}
	if _, err := Recall(t.Context(), NewComparison(o, c, 1), parts(of([]int64{9}, []float32{64})), nil); !errors.As(err, &wrong) || !wrong.OtherMetric {
		t.Error(err)
	}
	failed := errors.New("failed")
	stream := func(yield func(*Part, error) bool) { yield(nil, failed) }
	if _, err := Recall(t.Context(), NewComparison(o, c, 1), stream, nil); err != failed {
		t.Error(err)
	}
	if _, err := Certify(t.Context(), NewComparison(o, c, 1), parts(of([]int64{9}, nil)), func(*Compared) error { return failed }); err != failed {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Certify(ended, NewComparison(o, c, 1), parts(of([]int64{9}, nil)), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	none := &Part{Request: &batch.Request{K: 1, Queries: []float32{1}}, Proven: []batch.Answer{proven()}, Stated: []dataset.Result{{}}}
	if _, err := Recall(t.Context(), NewComparison(o, c, 1), parts(none), nil); !errors.As(err, &wrong) {
		t.Error(err)
	}
}

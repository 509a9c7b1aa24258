package tasks

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/verify"
)

// TestStoppedIsKept: where a search was stopped, the stated answer stays as it was, without what its
// query may not have, and its certificate says no more than what holds for it.
func TestStoppedIsKept(t *testing.T) {
	c, o := line(t, 10)
	number := func(x float64) *float64 { return &x }
	limit := 8.
	for _, x := range []struct {
		name         string
		req          batch.Request
		found        []int64
		open, thresh *float64
		stated, kept []int64
		bound        *float64
	}{
		{"nothing found", batch.Request{K: 3}, nil, number(9), nil, []int64{9, 8, 7}, []int64{9, 8, 7}, number(9)},
		{"better ones found", batch.Request{K: 2}, []int64{9, 8}, number(3), number(8), []int64{2, 1}, []int64{2, 1}, number(9)},
		{"the same found", batch.Request{K: 2}, []int64{6, 5}, number(9), number(5), []int64{5, 6}, []int64{5, 6}, number(9)},
		{"dropped below the threshold", batch.Request{K: 2}, []int64{9, 8}, number(2), number(8.5), []int64{9, 7}, []int64{9, 7}, number(8.5)},
		{"withheld", batch.Request{K: 2}, []int64{6, 5}, nil, nil, []int64{6, 5}, []int64{6, 5}, nil},
		{"longer than k", batch.Request{K: 2}, nil, number(9), nil, []int64{9, 1, 8}, []int64{9, 1}, number(9)},
		{"itself and excluded ones", batch.Request{K: 3, ExcludeSelf: true, SelfFirst: 4, MaxScore: &limit, Goals: []batch.QueryGoal{{Exclude: []int64{7}}}}, nil, number(8), nil, []int64{9, 8, 4, 7}, []int64{8}, number(8)},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.req.Queries = []float32{1}
			stopped := batch.Answer{IDs: x.found, Certificate: batch.Certificate{Method: batch.Certain, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Deadline, OpenBound: x.open, Threshold: x.thresh}}
			p := &Part{Request: &x.req, Proven: []batch.Answer{stopped}, Stated: []dataset.Result{{Query: 4, Rows: x.stated}}}
			var got Compared
			s, err := Certify(t.Context(), NewComparison(o, c, 3), parts(p), func(c *Compared) error { got = *c; return nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&CertifySummary{Kept: 1}, s); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Compared{Query: 4, Kept: true}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := batch.Answer{IDs: x.kept, Certificate: batch.Certificate{Method: batch.Certain, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Deadline, OpenBound: x.bound}}
			for _, id := range x.kept {
				want.Scores = append(want.Scores, float32(id))
			}
			if diff := cmp.Diff(want, p.Proven[0]); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if s.Unproven() == "" || s.Before() != "unknown, as no search was finished in time" {
				t.Errorf("%q, before %q", s.Unproven(), s.Before())
			}
			if x.bound == nil || len(x.kept) < x.req.K {
				return
			}
			report, err := verify.Response(t.Context(), o, x.req, &batch.Response{Answers: p.Proven})
			if err != nil || report.Wrong+report.Malformed > 0 && slices.IsSortedFunc(x.kept, func(a, b int64) int { return int(b - a) }) {
				t.Errorf("%+v (%v): the bound does not hold for what is kept", report, err)
			}
		})
	}
}

// TestComparingAfterTheDeadline: the answers of finished searches are compared after the deadline too, as
// long as that is little work, and no longer; a cancelled call ends.
func TestComparingAfterTheDeadline(t *testing.T) {
	const n = 3
	rows := make([]float32, maxLate/2+1)
	c, err := collection.Build(t.Context(), rows, 1, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw})
	if err != nil {
		t.Fatal(err)
	}
	o, err := verify.NewLazyOracle(rows, 1, collection.InnerProduct)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int64, len(rows))
	for i := range all {
		all[i] = int64(i)
	}
	p := &Part{Request: &batch.Request{Queries: make([]float32, n), K: len(all)}}
	for j := range n {
		p.Proven = append(p.Proven, proven(all[:maxLate/2]...))
		p.Stated = append(p.Stated, dataset.Result{Query: int64(j), Rows: all[:maxLate/2]})
	}
	over, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	var known []bool
	s, err := Certify(over, NewComparison(o, c, len(all)), parts(p), func(c *Compared) error { known = append(known, c.Known); return nil })
	if err != nil || s.Compared != 1 || s.Kept != 0 || !slices.Equal(known, []bool{true, false, false}) {
		t.Errorf("%+v, known %v (%v)", s, known, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Certify(gone, NewComparison(o, c, len(all)), parts(p), nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

package tasks

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/verify"
)

func TestVerdict(t *testing.T) {
	probabilistic := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .01}
	certain := batch.Certificate{Guarantee: batch.GuaranteeCertain}
	luckless := probabilistic
	luckless.Exact = true
	cases := []struct {
		name            string
		certificate     batch.Certificate
		right, wrong    int
		malformed       bool
		loose, strictly bool // whether the verdict is an error
	}{
		{"all right", probabilistic, 100, 0, false, false, false},
		{"as delta allows", probabilistic, 98, 2, false, false, false},
		{"far beyond delta", probabilistic, 80, 20, false, false, true},
		{"one wrong under certain", certain, 99, 1, false, true, true},
		{"one wrong without any chance taken", luckless, 99, 1, false, true, true},
		{"heuristic", batch.Certificate{Guarantee: batch.GuaranteeHeuristic}, 10, 90, false, false, false},
		{"malformed", probabilistic, 99, 0, true, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r VerifySummary
			for range c.right {
				r.Add(0, &c.certificate, verify.Finding{Trials: 1})
			}
			for range c.wrong {
				r.Add(0, &c.certificate, verify.Finding{Missed: []int64{4}, Trials: 1, Failures: 1})
			}
			if c.malformed {
				r.Add(0, &c.certificate, verify.Finding{Malformed: "bad"})
			}
			r.Finish()
			if (r.Verdict(false) != nil) != c.loose || (r.Verdict(true) != nil) != c.strictly {
				t.Errorf("verdicts %v and, strict, %v; report %+v", r.Verdict(false), r.Verdict(true), r)
			}
			if c.wrong > 0 && r.Neighbourhoods != 1 {
				t.Errorf("%d neighbourhoods, all lack the same atom", r.Neighbourhoods)
			}
		})
	}
}

// TestVerify: answers are held to what was asked for, or to what their certificates grant; the
// numbers of queries are those of the stream or as given.
func TestVerify(t *testing.T) {
	_, o := line(t, 10)
	loose := proven(8)
	loose.Certificate.Guarantee, loose.Certificate.Epsilon, loose.Certificate.Delta = batch.GuaranteeProbabilistic, 2, .2
	claims := func(granted bool, numbers []int64, all ...batch.Answer) *Claims {
		queries := make([]float32, len(all))
		for j := range queries {
			queries[j] = 1
		}
		return &Claims{Request: &batch.Request{K: 1, Queries: queries}, Answers: all, Numbers: numbers, Granted: granted}
	}
	for _, x := range []struct {
		name    string
		claims  []*Claims
		summary VerifySummary
	}{
		{"right", []*Claims{claims(false, nil, proven(9), proven(9))}, VerifySummary{Checked: 2}},
		{"granted", []*Claims{claims(true, nil, loose)}, VerifySummary{Checked: 1}},
		{"not granted", []*Claims{claims(false, nil, proven(9), loose)}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Malformed: 1}, Defects: []Defect{{1, "certificate: delta 0.2 where 0.01 was asked for"}}}},
		{"wrong", []*Claims{claims(true, nil, proven(9)), claims(true, nil, proven(8))}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Wrong: 1, WrongSure: 1, WorstGap: 1}, Defects: []Defect{{1, "lacks atom 9, better by 1 (certain)"}}}},
		{"numbered", []*Claims{claims(true, []int64{3, 7}, proven(9), proven())}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Malformed: 1}, Short: 1, Defects: []Defect{{7, "0 atoms where 1 were asked for"}}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var visited []int64
			s, err := Verify(t.Context(), o, parts(x.claims...), func(query int64, _ *verify.Finding) { visited = append(visited, query) })
			if err != nil {
				t.Fatal(err)
			}
			got := VerifySummary{Checked: s.Checked, Short: s.Short, Defects: s.Defects}
			got.Tally.Wrong, got.Tally.WrongSure, got.Tally.Malformed, got.WorstGap = s.Wrong, s.WrongSure, s.Malformed, s.WorstGap
			if diff := cmp.Diff(x.summary, got, cmpopts.IgnoreUnexported(verify.Tally{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(visited) != int(s.Checked) || x.claims[0].Numbers != nil && visited[1] != 7 {
				t.Errorf("visited %v", visited)
			}
		})
	}
	bad := &Claims{Request: &batch.Request{Queries: []float32{1}}, Answers: []batch.Answer{proven(9)}}
	var refused *batch.RequestError
	if _, err := Verify(t.Context(), o, parts(bad), nil); !errors.As(err, &refused) || refused.Field != "k" {
		t.Error(err)
	}
}

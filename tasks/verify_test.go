package tasks

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/verify"
)

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
		c := &Claims{Request: &batch.Request{K: 1, Queries: queries}, Answers: all, Numbers: numbers}
		if granted {
			c.Terms = &verify.Terms{}
		}
		return c
	}
	required := claims(true, nil, proven(9), loose)
	required.Terms.Require = batch.GuaranteeCertain
	for _, x := range []struct {
		name    string
		claims  []*Claims
		summary VerifySummary
	}{
		{"right", []*Claims{claims(false, nil, proven(9), proven(9))}, VerifySummary{Checked: 2}},
		{"granted", []*Claims{claims(true, nil, loose)}, VerifySummary{Checked: 1}},
		{"not granted", []*Claims{claims(false, nil, proven(9), loose)}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Wrong: 1, WorstGap: 1}, Defects: []Defect{{1, "grants epsilon 2 where at most 0 is allowed"}}}},
		{"required", []*Claims{required}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Wrong: 1}, Defects: []Defect{{1, "grants guarantee probabilistic within epsilon 2 where certain is required"}}}},
		{"wrong", []*Claims{claims(true, nil, proven(9)), claims(true, nil, proven(8))}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Wrong: 1, WrongSure: 1, WorstGap: 1}, Defects: []Defect{{1, "lacks vector 9, better by 1 (certain)"}}}},
		{"numbered", []*Claims{claims(true, []int64{3, 7}, proven(9), proven())}, VerifySummary{
			Checked: 2, Tally: verify.Tally{Malformed: 1}, Short: 1, Defects: []Defect{{7, "0 vectors where 1 were asked for"}}}},
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

// TestVerifyOthers: an answer of another program that states a wrong score is malformed, on whatever scale
// the others are.
func TestVerifyOthers(t *testing.T) {
	_, o := line(t, 10)
	answer := func(stated float32) batch.Answer {
		a := proven(9)
		a.Scores = []float32{stated}
		return a
	}
	terms := &verify.Terms{Others: &verify.Others{}}
	all := []batch.Answer{answer(-8), answer(-8), answer(7), answer(-8)}
	claims := &Claims{Request: &batch.Request{K: 1, Queries: []float32{1, 1, 1, 1}}, Answers: all, Terms: terms}
	s, err := Verify(t.Context(), o, parts(claims, claims), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Malformed != 2 || s.Scores == nil || s.Scores.Form != "1 - inner product" || s.Scores.Wrong != 2 || len(s.Defects) != 1 || s.Defects[0].Query != 2 || s.Verdict(false) == nil {
		t.Errorf("%+v, scores %+v", s, s.Scores)
	}
}

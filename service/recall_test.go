package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/service/api"
	"thresher/service/client"
	"thresher/tasks"
	"thresher/verify"
)

// statedBody is a body of recall and certify for the rows of queries.
func statedBody(t *testing.T, queries []float32, answers, extra string) string {
	t.Helper()
	var vectors [][]float32
	for ; len(queries) > 0; queries = queries[dim:] {
		vectors = append(vectors, queries[:dim])
	}
	text, err := json.Marshal(vectors)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"queries":%s,"answers":%s%s}`, text, answers, extra)
}

const (
	recallFilms  = "/v1/collections/films/recall"
	certifyFilms = "/v1/collections/films/certify"
)

// TestRecall: the recall of answers with known gaps, and their scores, are those of a search by
// brute force.
func TestRecall(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(31, 3*dim)
	var order [3][]int
	var scores [3][]float64
	for j := range order {
		order[j], scores[j] = ranked(rows, queries[j*dim:(j+1)*dim])
	}
	// the second answer lacks ranks 1 and 4, the third is short and repeats itself
	answers := fmt.Sprintf(`[{"ids":%s,"scores":[%v,%v,3,%v]},%s,%s]`,
		idsText(order[0][:4]...), scores[0][order[0][0]], scores[0][order[0][1]], scores[0][order[0][3]],
		idsText(order[1][1], order[1][2], order[1][20], order[1][30]), idsText(order[2][0], order[2][0], order[2][2]))
	var r api.Recall
	s.do("POST", recallFilms, statedBody(t, queries, answers, "")).want(200).into(&r)
	if r.Queries != 3 || r.Complete != 1 || r.K != 4 || r.Metric != "ip" || r.Method != "certain" || r.Short != 1 || r.Repeated != 1 || r.Version != 1 {
		t.Errorf("%+v", r)
	}
	if r.Recall != 8./12 || r.ByID != 8./12 || r.Low > r.Recall || r.High < r.Recall || r.Low < .05 || r.High > .999 {
		t.Errorf("recall %v by id %v in [%v, %v]", r.Recall, r.ByID, r.Low, r.High)
	}
	if got := fmt.Sprint(r.Ranks); got != "[{1 1 3 1} {2 4 9 3}]" {
		t.Errorf("ranks %s", got)
	}
	if r.Gaps == nil || !(r.Gaps.Worst > 0) {
		t.Errorf("gaps %+v", r.Gaps)
	}
	if c := r.Scores; c == nil || c.Form != "inner products" || c.Stated != 4 || c.Wrong != 1 || len(c.Sample) != 1 || c.Sample[0].ID != api.IntID(int64(order[0][2])) || c.Sample[0].Stated != 3 {
		t.Errorf("scores %+v", c)
	}
	want := []api.Miss{
		{Query: 1, Recall: .5, Missed: []api.ID{api.IntID(int64(order[1][0])), api.IntID(int64(order[1][3]))}},
		{Query: 2, Recall: .5, Missed: []api.ID{api.IntID(int64(order[2][1])), api.IntID(int64(order[2][3]))}},
	}
	if got := fmt.Sprint(r.Misses); got != fmt.Sprint(want) {
		t.Errorf("misses %v, want %v", got, want)
	}

	r = api.Recall{}
	s.do("POST", recallFilms, statedBody(t, queries, answers, `,"k":1,"method":"exact"`)).want(200).into(&r)
	if r.Recall != 2./3 || r.K != 1 || r.Method != "exact" {
		t.Errorf("at k = 1: %+v", r)
	}
}

// TestRecallSaysWhy: the reason of answers whose rows count from 1, which openapi.yaml describes.
func TestRecallSaysWhy(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(33, 12*dim)
	var lists []string
	for j := range 12 {
		order, _ := ranked(rows, queries[j*dim:(j+1)*dim])
		var ids []int
		for _, row := range order {
			if len(ids) < 5 && row+1 < len(rows)/dim {
				ids = append(ids, row+1)
			}
		}
		lists = append(lists, idsText(ids...))
	}
	body := statedBody(t, queries, "["+strings.Join(lists, ",")+"]", "")
	var r api.Recall
	s.do("POST", recallFilms, body).want(200).into(&r)
	if len(r.Reasons) != 1 || r.Reasons[0].Kind != "shifted" || r.Reasons[0].Of < 10 || !strings.Contains(r.Reasons[0].Text, "1 row after the right one") {
		t.Errorf("%+v", r.Reasons)
	}
}

// TestCertify: the results are those of a search, and say what was wrong with the answers.
func TestCertify(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(32, 2*dim)
	first, _ := ranked(rows, queries[:dim])
	second, _ := ranked(rows, queries[dim:])
	c, err := client.New(s.url, &client.Options{HTTP: s.client, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var stated []api.StatedAnswer
	for _, rows := range [][]int{{first[1], first[0], first[2]}, {second[0], second[5], second[2]}} {
		var a api.StatedAnswer
		for _, row := range rows {
			a.IDs = append(a.IDs, api.IntID(int64(row)))
		}
		stated = append(stated, a)
	}
	body := api.Stated{Queries: [][]float32{queries[:dim], queries[dim:]}, Answers: stated}
	got, err := c.Certify(t.Context(), "films", body)
	if err != nil {
		t.Fatal(err)
	}
	if sum := got.Summary; sum.Compared != 2 || sum.Right != 1 || sum.Missed != 1 || math.Abs(sum.Recall-5./6) > 1e-12 || sum.Scores != nil {
		t.Errorf("%+v", sum)
	}
	for j, want := range [][]int{first[:3], second[:3]} {
		r := got.Results[j]
		var cert batch.Certificate
		if err := json.Unmarshal(r.Certificate, &cert); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(r.IDs) != fmt.Sprint(want) || !r.Complete || cert.Guarantee != batch.GuaranteeCertain && cert.Guarantee != batch.GuaranteeExact || cert.Candidates == nil || cert.Candidates.Given != 3 || cert.Candidates.Right != 3-j {
			t.Errorf("answer %d: %v, want %v; %s", j, r.IDs, want, r.Certificate)
		}
	}
	if a, b := got.Results[0], got.Results[1]; *a.Recall != 1 || len(a.Missed) != 0 || *b.Recall != 2./3 || fmt.Sprint(b.Missed) != fmt.Sprint(second[1:2]) {
		t.Errorf("%+v, %+v", a, b)
	}
	if r, err := c.Recall(t.Context(), "films", body); err != nil || math.Abs(r.Recall-5./6) > 1e-12 || r.Complete != 1 {
		t.Errorf("%+v (%v)", r, err)
	}
}

// TestCertifyByName: answers name atoms as the collection does.
func TestCertifyByName(t *testing.T) {
	s := start(t, nil)
	s.do("PUT", "/v1/collections/films?metric=ip&ids=id&wait", []byte("{\"id\":\"a/b\",\"v\":[1,0]}\n{\"id\":\"c\",\"v\":[0,1]}\n{\"id\":\"d\",\"v\":[0,2]}\n"), "Content-Type", "application/x-ndjson").want(201)
	body := `{"queries":[[3,1],[1,2]],"answers":[{"ids":["a/b"],"scores":[3]},{"ids":["c"],"scores":[9]}]}`
	var got api.Certified
	s.do("POST", certifyFilms, body).want(200).into(&got)
	if fmt.Sprint(got.Results[1].IDs, got.Results[1].Missed, got.Summary.Scores.Sample) != "[d] [d] [{1 c 9 2}]" {
		t.Errorf("%+v", got)
	}
	var r api.Recall
	s.do("POST", recallFilms, body).want(200).into(&r)
	if fmt.Sprint(r.Misses) != "[{1 0 [d]}]" {
		t.Errorf("%+v", r.Misses)
	}
}

func TestBadStated(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Listed, o.Limits.Queries, o.Limits.K = 6, 3, 4 })
	rows := s.fill()
	s.do("PUT", "/v1/collections/l2?wait&metric=l2", npy(rows, dim), "Content-Type", npyType).want(201)
	queries := gaussian(33, 2*dim)
	for _, x := range []struct{ answers, extra, kind, field, says string }{
		{`[[1]]`, "", "invalid-value", "answers", "there are 1 answers to 2 queries"},
		{`[[1],[2],[3],[4]]`, "", "over-limit", "answers", "more than 3 answers"},
		{`[[],[]]`, "", "invalid-value", "answers", "every answer is empty"},
		{`{}`, "", "invalid-value", "answers", "answers is an object"},
		{`[1,2]`, "", "invalid-value", "answers", "answers[0] is a number, an array of ids, or an object with ids and scores, is wanted"},
		{`[[1],[300]]`, "", "unknown-id", "answers[1].ids", "answers[1]: there are 300 vectors"},
		{`[[1],["a"]]`, "", "unknown-id", "answers[1].ids", "answers[1]: ids are strings"},
		{`[[1],{"ids":[1,2],"scores":[1]}]`, "", "invalid-value", "answers[1].scores", "answers[1]: there are 1 scores for 2 ids"},
		{`[[1],{"scores":[1]}]`, "", "invalid-value", "answers[1].ids", "ids is missing"},
		{`[[1],{"ids":[1],"score":[1]}]`, "", "unknown-field", "answers[1].score", `there is no field "score"`},
		{`[[1],{"ids":[1],"scores":[NaN]}]`, "", "malformed-body", "answers[1].scores", "scores"},
		{`[[1],{"ids":[1],"scores":[1e99]}]`, "", "malformed-body", "answers[1].scores", "range of float32"},
		{`[[1],[2,3,4]]`, `,"k":4`, "invalid-value", "k", "k is 4, and the longest answer has 3 vectors"},
		{`[[1],[2,3,4,5,6]]`, "", "over-limit", "answers", "the longest answer has 5 vectors, at most 4"},
		{`[[1,2,3,4],[5,6,7]]`, "", "over-limit", "answers", "have 7 ids, those of a request at most 6"},
		{`[[1],[2]]`, `,"min_score":1`, "unknown-field", "min_score", `there is no field "min_score": it is one of searches`},
		{`[[1],[2]]`, `,"deny":[1]`, "unknown-field", "deny", `there is no field "deny": it is one of searches; stated answers are compared with the best of all vectors that may be returned`},
		{`[[1],[2]]`, `,"goals":[{},{}]`, "unknown-field", "goals", `there is no field "goals": it is one of searches`},
		{`[[1],[2]]`, `,"filter":"year > 3"`, "invalid-value", "filter", "has no columns"},
		{`[[1],[2]]`, `,"exclude":[300]`, "unknown-id", "exclude", "there are 300 vectors"},
		{`[[1],[2]]`, `,"k":0`, "invalid-value", "k", "k is 0"},
		{`[[1],[2]]`, `,"answers":[]`, "invalid-value", "answers", "given twice"},
	} {
		for _, path := range []string{recallFilms, certifyFilms} {
			p := s.do("POST", path, statedBody(t, queries, x.answers, x.extra)).problem(400, x.kind)
			if p.Field != x.field || !strings.Contains(p.Detail, x.says) {
				t.Errorf("%s%s: field %q: %s", x.answers, x.extra, p.Field, p.Detail)
			}
		}
	}
	order, scores := ranked(rows, queries[:dim])
	other := fmt.Sprintf(`[{"ids":%s,"scores":[%v,%v,%v]}]`, idsText(order[:3]...), scores[order[0]], scores[order[1]], scores[order[2]])
	for _, path := range []string{"/v1/collections/l2/recall", "/v1/collections/l2/certify"} {
		p := s.do("POST", path, statedBody(t, queries[:dim], other, "")).problem(400, "invalid-value")
		if p.Field != "answers" || p.Limit != "l2" || !strings.Contains(p.Detail, "3 of 3 scores are inner products, of metric ip; the metric is l2") {
			t.Errorf("%+v", p)
		}
		s.do("POST", path, npy(queries, dim), "Content-Type", npyType).problem(415, "unsupported-media")
	}
}

// TestStatedDeadline: certify says what it could prove by the deadline, and keeps the other answers as they
// were stated; recall needs the best
// atoms of all queries.
func TestStatedDeadline(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.hooks.halve(2) // of two queries the first is answered
	defer s.hooks.halve(0)
	body := statedBody(t, gaussian(34, 2*dim), `[[1,2,3],[4,5,6]]`, `,"timeout_ms":500,"method":"exact"`)
	if p := s.do("POST", recallFilms, body).problem(504, "deadline"); p.Field != "timeout_ms" {
		t.Errorf("%+v", p)
	}
	var got api.Certified
	inTime(t, func(deadline time.Duration) (late bool) {
		asked := strings.Replace(body, `"timeout_ms":500`, `"include":["rows","scores64"],"timeout_ms":`+fmt.Sprint(deadline.Milliseconds()), 1)
		a := s.do("POST", certifyFilms, asked)
		if a.status == 504 {
			return true
		}
		a.want(200).into(&got)
		return !got.Results[0].Complete
	})
	a, b := got.Results[0], got.Results[1]
	for _, r := range got.Results {
		if len(r.Rows) != 3 || len(r.Scores64) != 3 || float32(r.Scores64[2]) != r.Scores[2] {
			t.Errorf("%+v", r)
		}
	}
	if !a.Complete || a.Recall == nil || b.Complete || b.Recall != nil || b.Missed != nil || got.Summary.Compared != 1 || got.Summary.Kept != 1 {
		t.Errorf("%+v", got)
	}
	if a.Guarantee != "exact" || b.Guarantee != "bound" || len(b.IDs) != 3 || b.IDs[0] != api.IntID(4) || b.IDs[1] != api.IntID(5) || b.IDs[2] != api.IntID(6) {
		t.Errorf("%s %v, %s %v; want the stated answer where the search was stopped", a.Guarantee, a.IDs, b.Guarantee, b.IDs)
	}
}

// TestSummaryNames: a client reads every figure of the summaries under the name that the command
// line and the worker give it.
func TestSummaryNames(t *testing.T) {
	for _, c := range []struct {
		name        string
		made, read  any
		server, not []string // names that only the service has, and those that it leaves out
	}{
		{"recall", tasks.RecallSummary{Plan: "dense", RecallReport: &verify.RecallReport{Gaps: &verify.GapReport{}, Scores: &verify.FormCount{}}, Reasons: []verify.Reason{{}}}, api.RecallReport{Gaps: &api.Gaps{}, Scores: &api.ScoreCheck{}, Reasons: []api.Reason{{}}}, []string{"answers_version", "version"}, []string{"plan"}},
		{"certify", tasks.CertifySummary{Scores: &verify.FormCount{}}, api.CertifiedSummary{Scores: &api.ScoreCheck{}}, nil, nil},
	} {
		want := append(namesOf(t, c.made), c.server...)
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(c.not, name) })
		slices.Sort(want)
		if diff := cmp.Diff(want, namesOf(t, c.read)); diff != "" {
			t.Errorf("%s (-tasks +api):\n%s", c.name, diff)
		}
	}
}

// namesOf returns the names of a value's members in JSON, sorted.
func namesOf(t *testing.T, v any) []string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(members))
}

package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/problem"
)

const twoQueries = `{"queries":[[1,2,3],[4,5,6]]`

func at(x float64) *float64 { return &x }

func TestGoals(t *testing.T) {
	for _, x := range []struct {
		name, body string
		want       []QueryGoal
	}{
		{"none", `}`, nil},
		{"empty ones", `,"goals":[{},{ }]}`, []QueryGoal{{K: 10, CutK: true}, {K: 10, CutK: true}}},
		{"k of one", `,"goals":[{"k":3},{}]}`, []QueryGoal{{K: 3}, {K: 10, CutK: true}}},
		{"k of one and of the body", `,"k":7,"goals":[{"k":3},{}]}`, []QueryGoal{{K: 3}, {K: 7}}},
		{"cut", `,"goals":[{"k":3},{}],"cut_k":true}`, []QueryGoal{{K: 3, CutK: true}, {K: 10, CutK: true}}},
		{"all that reach a score", `,"goals":[{"min_score":-.5},{"k":2,"min_score":1e3}]}`,
			[]QueryGoal{{K: 50, CutK: true, MinScore: at(-.5)}, {K: 2, MinScore: at(1000)}}},
		{"all that reach the score of the body", `,"min_score":2,"goals":[{},{"k":2}]}`, []QueryGoal{{K: 50, CutK: true}, {K: 2}}},
		{"everything", `,"goals":[{"k":4,"min_score":-1,"max_score":2.5,"exclude":[5,-6],"candidates":["a"]},{"exclude":[]}]}`,
			[]QueryGoal{
				{K: 4, MinScore: at(-1), MaxScore: at(2.5), Exclude: &IDList{Ints: []int64{5, -6}}, Candidates: &IDList{Names: []string{"a"}}},
				{K: 10, CutK: true, Exclude: &IDList{}},
			}},
	} {
		t.Run(x.name, func(t *testing.T) {
			body := strings.ReplaceAll(twoQueries+x.body, ":-.5", ":-0.5")
			s, err := DecodeSearch([]byte(body), dim, limits())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.want, s.Goals); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadGoals(t *testing.T) {
	l := limits()
	l.Listed = 4
	for _, x := range []struct {
		goals string
		kind  problem.Kind
		field string
		index int
		says  string
	}{
		{`{}`, problem.InvalidValue, "goals", -1, "goals is an object, an array of objects, one a query, is wanted"},
		{`[]`, problem.InvalidValue, "goals", -1, "goals has 0 entries for 2 queries"},
		{`[{}]`, problem.InvalidValue, "goals", -1, "goals has 1 entries for 2 queries; one a query is wanted"},
		{`[{},{},{}]`, problem.InvalidValue, "goals", -1, "goals has 3 entries for 2 queries"},
		{`[{},{},{},{}]`, problem.OverLimit, "goals", -1, "more than 3 goals"},
		{`[{},null]`, problem.InvalidValue, "goals", 1, "goals[1] is null, an object is wanted"},
		{`[{},{"kk":1}]`, problem.UnknownField, "goals[1].kk", -1, `goals[1]: there is no field "kk"`},
		{`[{},{"k":0}]`, problem.InvalidValue, "goals[1].k", -1, "goals[1]: k is 0, at least 1 is wanted"},
		{`[{},{"k":51}]`, problem.OverLimit, "goals[1].k", -1, "goals[1]: k is 51, at most 50 is accepted"},
		{`[{},{"k":"1"}]`, problem.InvalidValue, "goals[1].k", -1, "goals[1]: k is a string, a whole number is wanted"},
		{`[{"k":1,"k":1},{}]`, problem.InvalidValue, "goals[0].k", -1, "goals[0]: k is given twice"},
		{`[{"min_score":1e999},{}]`, problem.InvalidValue, "goals[0].min_score", -1, "beyond the range of float64"},
		{`[{"max_score":NaN},{}]`, problem.Malformed, "goals[0].max_score", -1, "goals[0]: max_score"},
		{`[{"max_score":null},{}]`, problem.InvalidValue, "goals[0].max_score", -1, "goals[0]: max_score is null"},
		{`[{"exclude":3},{}]`, problem.InvalidValue, "goals[0].exclude", -1, "goals[0]: exclude is a number, an array of ids or of true and false is wanted"},
		{`[{},{"candidates":[3,"a"]}]`, problem.InvalidValue, "goals[1].candidates", 1, "goals[1]: candidates[1] is a string, a whole number like the ids before"},
		{`[{"exclude":[1,2,3]},{"candidates":[3,4]}]`, problem.OverLimit, "goals", 1, "goals[1]: the goals up to this one list 5 ids, those of a search at most 4"},
		{`[{`, problem.Malformed, "goals", -1, "goals: "},
	} {
		_, err := DecodeSearch([]byte(twoQueries+`,"goals":`+x.goals+`}`), dim, l)
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Errorf("%s: %v", x.goals, err)
			continue
		}
		if p.Kind != x.kind || p.Field != x.field || p.Index != x.index || !strings.Contains(p.Detail, x.says) {
			t.Errorf("%s: %s, field %q, index %d: %s\nwant %s, field %q, index %d: %s", x.goals, p.Kind, p.Field, p.Index, p.Detail, x.kind, x.field, x.index, x.says)
		}
	}
}

// TestGoalsAsParameter: the parameter of a body of vectors is the member of a JSON body.
func TestGoalsAsParameter(t *testing.T) {
	goals := `[{"k":2},{"exclude":[4]}]`
	want, err := DecodeSearch([]byte(twoQueries+`,"goals":`+goals+`}`), dim, limits())
	if err != nil {
		t.Fatal(err)
	}
	body := npyOf(t, 2, 3, 1, 2, 3, 4, 5, 6)
	got, err := DecodeSearchNPY(body, url.Values{"goals": {" " + goals}}, dim, limits())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, values := range [][]string{{goals, goals}, {goals + "]"}, {""}, {`[{},{"k":0}]`}} {
		_, err := DecodeSearchNPY(body, url.Values{"goals": values}, dim, limits())
		if p := problem.Of(err); p.Kind.Status() != 400 || !strings.HasPrefix(p.Field, "goals") {
			t.Errorf("%q: %v, field %q", values, err, p.Field)
		}
	}
}

// TestQueryGoals: members of a goal replace those of the body, lists are resolved, and problems
// name the goal.
// TestEqualFilters: a filter that is given twice is one list, however long.
func TestEqualFilters(t *testing.T) {
	l := limits()
	l.Listed = 0
	ids := "[" + strings.Repeat("1,", 1<<17) + "2]"
	for _, filter := range []string{"[1,2]", ids} {
		s, err := DecodeSearch([]byte(twoQueries+`,"goals":[{"filter":`+filter+`},{"filter":`+filter+`}]}`), dim, l)
		if err != nil {
			t.Fatal(err)
		}
		if s.Goals[0].Filter != s.Goals[1].Filter {
			t.Errorf("equal filters of %d bytes are two lists", len(filter))
		}
	}
}

func TestQueryGoals(t *testing.T) {
	rows := func(l *IDList, field string) ([]int64, error) {
		if l == nil {
			return nil, nil
		}
		for i, id := range l.Ints {
			if id > 9 {
				return nil, problem.New(problem.UnknownID, "no vector has the id %d", id).At(field, i)
			}
		}
		return append([]int64{}, l.Ints...), nil
	}
	decode := func(rest string) *Search {
		s, err := DecodeSearch([]byte(twoQueries+rest), dim, limits())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := decode(`,"k":7,"max_score":3,"goals":[{"k":2,"max_score":1,"exclude":[4,5]},{"candidates":[6]}]}`)
	got, err := s.QueryGoals(collection.InnerProduct, rows)
	want := []batch.QueryGoal{{K: 2, MaxScore: at(1), Exclude: []int64{4, 5}}, {K: 7, Candidates: []int64{6}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if r := s.Request(); r.K != 0 || *r.MaxScore != 3 {
		t.Errorf("k %d of the request where the goals have it, greatest score %v", r.K, r.MaxScore)
	}
	if got, err = decode(`}`).QueryGoals(collection.InnerProduct, rows); got != nil || err != nil {
		t.Error(got, err)
	}
	for _, field := range []string{"exclude", "candidates"} {
		_, err = decode(fmt.Sprintf(`,"goals":[{},{%q:[1,10]}]}`, field)).QueryGoals(collection.InnerProduct, rows)
		if p := problem.Of(err); p.Kind != problem.UnknownID || p.Field != "goals[1]."+field || p.Index != 1 || p.Detail != "goals[1]: no vector has the id 10" {
			t.Errorf("%+v", p)
		}
	}
	// Limits are checked as those of all doors are, by the metric.
	for _, x := range []struct {
		metric     collection.Metric
		rest       string
		field, say string
	}{
		{collection.InnerProduct, `,"goals":[{},{"min_score":2,"max_score":1.5}]}`, "goals[1].max_score", "goals[1]: max_score: 1.5, but min_score is 2: no score is within both"},
		{collection.InnerProduct, `,"max_score":1.5,"goals":[{"min_score":2},{}]}`, "goals[0].min_score", "goals[0]: min_score: 2, but max_score is 1.5: no score is within both"},
		{collection.InnerProduct, `,"min_score":2,"goals":[{},{"max_score":1.5}]}`, "goals[1].max_score", "goals[1]: max_score: 1.5, but min_score is 2: no score is within both"},
		{collection.InnerProduct, `,"min_score":2,"max_score":1.5,"goals":[{},{}]}`, "goals[0].max_score", "goals[0]: max_score: 1.5, but min_score is 2: no score is within both"},
		{collection.Euclidean, `,"goals":[{},{"max_distance":1.5,"min_distance":2}]}`, "goals[1].min_distance", "goals[1]: min_distance: 2, but max_distance is 1.5: no score is within both"},
		{collection.Euclidean, `,"goals":[{},{"max_distance":2,"min_distance":1.5}]}`, "", ""},
		{collection.Euclidean, `,"min_score":2,"goals":[{},{}]}`, "min_score", "min_score: the metric is l2, which has squared distances, the least of which are best: max_distance says it"},
		{collection.Euclidean, `,"goals":[{},{"max_score":2}]}`, "goals[1].max_score", "goals[1].max_score: the metric is l2, which has squared distances, the least of which are best: min_distance says it"},
		{collection.InnerProduct, `,"goals":[{},{"max_distance":2}]}`, "goals[1].max_distance", "goals[1].max_distance: the metric is ip, which has scores, the greatest of which are best: min_score says it"},
	} {
		_, err := decode(x.rest).QueryGoals(x.metric, rows)
		if x.field == "" && err == nil {
			continue
		}
		if p := problem.Of(err); p.Kind != problem.InvalidValue || p.Field != x.field || p.Detail != x.say {
			t.Errorf("%s: %+v", x.rest, p)
		}
	}
	if _, err := decode(`,"goals":[{"k":3},{"k":9}]}`).CheckK(8); problem.Of(err).Field != "goals[1].k" {
		t.Error(err)
	}
	if n, err := decode(`,"goals":[{"k":3},{"k":9}],"cut_k":true}`).CheckK(8); n != 11 || err != nil {
		t.Error(n, err)
	}
}

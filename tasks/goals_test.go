package tasks

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
)

// TestGoals: columns become what an engine takes, of any part of the queries.
func TestGoals(t *testing.T) {
	var none Goals
	if !none.None() || none.Queries(0, 3) != nil || none.MaxK(7) != 7 || none.Exclude.Of(2) != nil {
		t.Errorf("%v", none.Queries(0, 3))
	}
	nan := math.NaN()
	g := Goals{
		K: []int64{2, 0, 1 << 40}, MinScore: []float64{nan, 1, 2}, MaxScore: []float64{nan, nan, 3},
		Exclude: &Lists{Lims: []int64{0, 0, 2, 3}, Rows: []int64{5, 6, 7}}, Candidates: &Lists{Lims: []int64{0, 1, 1, 1}, Rows: []int64{9}},
	}
	one, two, three := 1., 2., 3.
	want := []batch.QueryGoal{{MinScore: &one, Exclude: []int64{5, 6}, Candidates: []int64{}}, {K: math.MaxInt32, MinScore: &two, MaxScore: &three, Exclude: []int64{7}, Candidates: []int64{}}}
	if diff := cmp.Diff(want, g.Queries(1, 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := g.MaxK(3); got != math.MaxInt32 {
		t.Errorf("most %d", got)
	}
	if g.K[2] = 1; g.MaxK(3) != 3 || g.MaxK(1) != 2 {
		t.Errorf("most %d and %d", g.MaxK(3), g.MaxK(1))
	}
}

// TestCheckGoal names what is wrong, of goals and of columns of them.
func TestCheckGoal(t *testing.T) {
	nan, inf, one, two := math.NaN(), math.Inf(1), 1., 2.
	for _, c := range []struct {
		name   string
		goal   batch.QueryGoal
		all    batch.Request
		metric collection.Metric
		field  string
		says   string
	}{
		{"k", batch.QueryGoal{K: 3}, batch.Request{}, collection.InnerProduct, "", ""},
		{"k of all", batch.QueryGoal{}, batch.Request{K: 1}, collection.InnerProduct, "", ""},
		{"least score", batch.QueryGoal{MinScore: &one}, batch.Request{}, collection.InnerProduct, "", ""},
		{"least score of all", batch.QueryGoal{}, batch.Request{MinScore: &one}, collection.InnerProduct, "", ""},
		{"neither", batch.QueryGoal{MaxScore: &one}, batch.Request{}, collection.InnerProduct, "k", "neither k nor a least score"},
		{"k below 0", batch.QueryGoal{K: -1}, batch.Request{}, collection.InnerProduct, "k", "-1, at least 1"},
		{"least not finite", batch.QueryGoal{K: 1, MinScore: &nan}, batch.Request{}, collection.InnerProduct, "min_score", "NaN is not finite"},
		{"greatest not finite", batch.QueryGoal{K: 1, MaxScore: &inf}, batch.Request{}, collection.InnerProduct, "max_score", "+Inf is not finite"},
		{"both", batch.QueryGoal{K: 1, MinScore: &one, MaxScore: &two}, batch.Request{}, collection.Cosine, "", ""},
		{"none within", batch.QueryGoal{K: 1, MinScore: &two, MaxScore: &one}, batch.Request{}, collection.Cosine, "max_score", "1, but min_score is 2: no score is within both"},
		{"none within that of all", batch.QueryGoal{K: 1, MaxScore: &one}, batch.Request{MinScore: &two}, collection.InnerProduct, "max_score", "1, but min_score is 2"},
		{"none within the greatest of all", batch.QueryGoal{K: 1, MinScore: &two}, batch.Request{MaxScore: &one}, collection.InnerProduct, "min_score", "2, but max_score is 1"},
		{"distances", batch.QueryGoal{K: 1, MinScore: &two, MaxScore: &one}, batch.Request{}, collection.Euclidean, "", ""},
		{"no distance within", batch.QueryGoal{K: 1, MinScore: &one, MaxScore: &two}, batch.Request{}, collection.Euclidean, "max_score", "2, but min_score is 1"},
	} {
		err := CheckGoal(&c.goal, &c.all, c.metric)
		if (err != nil) != (c.field != "") || err != nil && (err.Field != c.field || !strings.Contains(err.Err.Error(), c.says) || err.Query != -1) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	columns := Goals{MinScore: []float64{0, 2}, MaxScore: []float64{1, 1}}
	var wrong *batch.RequestError
	if err := columns.Check(&batch.Request{K: 1}, collection.InnerProduct); !errors.As(err, &wrong) || wrong.Query != 1 || wrong.Field != "max_score" {
		t.Error(err)
	}
	columns.MaxScore[1] = nan
	if err := columns.Check(&batch.Request{K: 1}, collection.InnerProduct); err != nil {
		t.Error(err)
	}
	if err := CheckGoal(&batch.QueryGoal{}, &batch.Request{}, collection.InnerProduct); !errors.Is(err.Err, ErrUnbounded) {
		t.Error(err)
	}
}

// TestColumns reads the numbers of rows, null as NaN.
func TestColumns(t *testing.T) {
	nan, one, two := math.NaN(), 1., 2.
	all := Columns{K: "k", MinScore: "low", MaxScore: "high"}
	for _, c := range []struct {
		columns Columns
		numbers []float64
		want    batch.QueryGoal
		says    string
	}{
		{Columns{}, nil, batch.QueryGoal{}, ""},
		{all, []float64{3, 1, 2}, batch.QueryGoal{K: 3, MinScore: &one, MaxScore: &two}, ""},
		{all, []float64{nan, nan, nan}, batch.QueryGoal{}, ""},
		{Columns{MaxScore: "high"}, []float64{2}, batch.QueryGoal{MaxScore: &two}, ""},
		{Columns{K: "k", MaxScore: "high"}, []float64{math.MaxInt32, nan}, batch.QueryGoal{K: math.MaxInt32}, ""},
		{all, []float64{0, nan, nan}, batch.QueryGoal{}, "k is 0; an integer from 1 to 2147483647 is wanted"},
		{all, []float64{1.5, nan, nan}, batch.QueryGoal{}, "k is 1.5; "},
		{all, []float64{1e30, nan, nan}, batch.QueryGoal{}, "k is 1e+30; "},
	} {
		got, err := c.columns.Goal(c.numbers)
		if (err != nil) != (c.says != "") || err != nil && (err.Field != "k" || !strings.Contains(err.Err.Error(), c.says)) {
			t.Errorf("%v: %v", c.numbers, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.numbers, diff)
		}
	}
	if got := strings.Join(all.Names(), " "); got != "k low high" || all.Of("k") != "k" || all.Of("min_score") != "low" || all.Of("max_score") != "high" {
		t.Error(got)
	}
}

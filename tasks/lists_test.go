package tasks

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/dataset"
)

// TestNewLists: limits of lists begin at 0, ascend and end at the last entry.
func TestNewLists(t *testing.T) {
	for _, x := range []struct {
		lims  []int64
		want  string
		query int
	}{
		{[]int64{0, 1, 3}, "", 0},
		{[]int64{0, 0, 3}, "", 0},
		{[]int64{0, 3}, "lims: 2 entries for 2 queries", -1},
		{[]int64{1, 1, 3}, "lims: from 1 to 3; they go from 0 to the 3 entries", -1},
		{[]int64{0, 1, 2}, "lims: from 0 to 2; they go from 0 to the 3 entries", -1},
		{[]int64{0, 4, 3}, "3 after 4; they ascend", 1},
	} {
		l, err := NewLists(x.lims, []int64{7, 8, 9}, 2)
		var wrong *batch.RequestError
		switch {
		case x.want == "":
			if err != nil || len(l.Of(0))+len(l.Of(1)) != 3 {
				t.Errorf("%v: %v, %v", x.lims, l, err)
			}
		case !errors.As(err, &wrong) || wrong.Query != x.query || wrong.Field != "lims":
			t.Errorf("%v: %v", x.lims, err)
		}
	}
}

// TestAddList: lists are made for the first that has an entry, and columns of limits for the first that is set.
func TestAddList(t *testing.T) {
	var all *Lists
	AddList(&all, nil, 0, 4)
	if all != nil {
		t.Fatal("lists without an entry")
	}
	AddList(&all, []int64{5, 6}, 1, 4)
	AddList(&all, nil, 2, 4)
	AddList(&all, []int64{7}, 3, 4)
	if diff := cmp.Diff(&Lists{Lims: []int64{0, 0, 2, 2, 3}, Rows: []int64{5, 6, 7}}, all); diff != "" {
		t.Error(diff)
	}
	var limits []float64
	SetLimit(&limits, nil, 0, 3)
	if limits != nil {
		t.Fatal("a column without a limit")
	}
	two := 2.
	SetLimit(&limits, &two, 1, 3)
	if len(limits) != 3 || !math.IsNaN(limits[0]) || limits[1] != 2 || !math.IsNaN(limits[2]) {
		t.Error(limits)
	}
}

// source is a source of lists.
type source struct {
	lists  []dataset.List
	closed *int
}

func (s *source) Next() (dataset.List, error) {
	if len(s.lists) == 0 {
		return dataset.List{}, io.EOF
	}
	next := s.lists[0]
	s.lists = s.lists[1:]
	return next, nil
}

func (s *source) Close() error { *s.closed++; return nil }

// numbers is rows of one column.
type numbers struct {
	rows   []float64
	closed *int
}

func (n *numbers) Next() ([]float64, error) {
	if len(n.rows) == 0 {
		return nil, io.EOF
	}
	next := n.rows[:1]
	n.rows = n.rows[1:]
	return next, nil
}

func (n *numbers) Close() error { *n.closed++; return nil }

// TestGoalReader: goals have the numbers and the lists of their queries; an error says of which query and of what.
func TestGoalReader(t *testing.T) {
	bad := errors.New("no vector has the id 9")
	rows := func(l dataset.List) ([]int64, error) {
		if len(l.IDs) > 0 && l.IDs[0] == 9 {
			return nil, bad
		}
		return l.IDs, nil
	}
	closed := 0
	open := func(k []float64, exclude ...dataset.List) *GoalReader {
		return &GoalReader{Columns: Columns{K: "k"}, Numbers: &numbers{k, &closed}, Exclude: &ListReader{Source: &source{exclude, &closed}, Rows: rows, Max: 2}}
	}
	list := func(ids ...int64) dataset.List { return dataset.List{IDs: ids} }
	r := open([]float64{3, math.NaN(), 5}, list(1), list(9), list(2, 4))
	for j, want := range []batch.QueryGoal{{K: 3, Exclude: []int64{1}}, {}, {K: 5, Exclude: []int64{2, 4}}} {
		got, err := r.Next(j != 1)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("query %d: %v\n%s", j, err, diff)
		}
	}
	if ended := r.Ended(); ended != "" || r.Read() != 3 {
		t.Errorf("%q goes on after %d", ended, r.Read())
	}
	if r.Close(); closed != 2 {
		t.Errorf("%d are closed", closed)
	}
	for name, x := range map[string]struct {
		r     *GoalReader
		field string
		err   error
		text  string
	}{
		"no numbers": {open(nil, list()), FieldNumbers, ErrNoNumbers, "numbers: there are more queries than rows of numbers"},
		"no list":    {open([]float64{1}), "exclude", ErrNoList, "exclude: there are more queries than lists"},
		"k":          {open([]float64{.5}, list()), "k", nil, "k: k is 0.5; an integer from 1 to 2147483647 is wanted, or null for the k of all"},
		"unknown id": {open([]float64{1}, list(9)), "exclude", bad, "exclude: query 0: no vector has the id 9"},
		"many ids":   {open([]float64{1}, list(1, 2, 3)), "exclude", nil, "exclude: query 0: 3 ids, at most 2 are accepted"},
	} {
		_, err := x.r.Next(true)
		var of *GoalError
		if !errors.As(err, &of) || of.Field != x.field || of.Query != 0 || x.err != nil && !errors.Is(err, x.err) || err.Error() != x.text {
			t.Errorf("%s: %v", name, err)
		}
	}
	r = open([]float64{1}, list(), list())
	if _, err := r.Next(true); err != nil || r.Ended() != "exclude" {
		t.Error(err)
	}
	r = open([]float64{1, 2}, list())
	if _, err := r.Next(true); err != nil || r.Ended() != FieldNumbers {
		t.Error(err)
	}
	r = open([]float64{1}, list())
	r.Complete = func(q *batch.QueryGoal) *batch.RequestError {
		return &batch.RequestError{Field: "min_score", Query: -1, Err: bad}
	}
	var of *GoalError
	if _, err := r.Next(true); !errors.As(err, &of) || of.Field != "min_score" || of.Err != bad {
		t.Error(err)
	}
}

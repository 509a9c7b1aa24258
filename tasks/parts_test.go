package tasks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
)

// TestDivideRequest: parts have the queries, changes and goals of a request, in order, and know which vectors they are.
func TestDivideRequest(t *testing.T) {
	all := &batch.Request{K: 2, Queries: []float32{0, 1, 10, 11, 20, 21}, Changes: []float64{.1, .2, .3}, ExcludeSelf: true, SelfFirst: 5}
	goals := &Goals{K: []int64{7, 8, 9}}
	var got []batch.Request
	for part, err := range DivideRequest(all, goals, 2, 2) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *part)
	}
	want := []batch.Request{
		{K: 2, Queries: []float32{0, 1, 10, 11}, Changes: []float64{.1, .2}, Goals: []batch.QueryGoal{{K: 7}, {K: 8}}, ExcludeSelf: true, SelfFirst: 5, Part: true},
		{K: 2, Queries: []float32{20, 21}, Changes: []float64{.3}, Goals: []batch.QueryGoal{{K: 9}}, ExcludeSelf: true, SelfFirst: 7, Part: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for part := range DivideRequest(all, &Goals{}, 2, 3) {
		if part.Part || part.Goals != nil || len(part.Queries) != 6 {
			t.Errorf("the only part is %+v", part)
		}
	}
}

// footprint takes so many bytes for a query, as many for its answer, and a tenth if no vector is dropped.
type footprint int64

func (f footprint) Footprint(_ batch.Request, queries int) (batch.Footprint, error) {
	if f < 0 {
		return batch.Footprint{}, errors.New("no footprint")
	}
	return batch.Footprint{Run: int64(queries) * int64(f), Survivors: int64(queries) * int64(f) / 10, Answers: int64(queries) * int64(f)}, nil
}

// TestPartLimits: a part has as many queries as their answers, and what is free, have room for.
func TestPartLimits(t *testing.T) {
	for name, x := range map[string]struct {
		limits PartLimits
		k      int
		each   footprint
		want   PartMemory
		err    error
	}{
		"all":           {PartLimits{Queries: 10, Answers: 1000, Written: 1}, 5, 20, PartMemory{10, 470}, nil},
		"answers":       {PartLimits{Queries: 10, Answers: 100, Written: 1}, 5, 20, PartMemory{4, 188}, nil},
		"one at least":  {PartLimits{Queries: 10, Answers: 1, Written: 1}, 5, 20, PartMemory{1, 47}, nil},
		"free":          {PartLimits{Queries: 10, Answers: 1000, Written: 1, Free: 100}, 5, 20, PartMemory{2, 94}, nil},
		"as forecast":   {PartLimits{Queries: 10, Answers: 1000, Written: 1, Free: 45}, 5, 20, PartMemory{1, 45}, nil},
		"none is free":  {PartLimits{Queries: 10, Answers: 1000, Written: 1, Free: 44}, 5, 20, PartMemory{1, 45}, ErrMemory},
		"any number":    {PartLimits{Queries: 10, Answers: 1}, 0, 20, PartMemory{10, 0}, nil},
		"few of any":    {PartLimits{Queries: 10, Answers: 1000, Free: 100}, 0, 20, PartMemory{2, 0}, nil},
		"one of any":    {PartLimits{Queries: 10, Answers: 1000, Free: 1}, 0, 20, PartMemory{1, 0}, nil},
		"without plans": {PartLimits{Queries: 10, Answers: 1}, 5, -1, PartMemory{}, errors.New("no footprint")},
	} {
		req := batch.Request{K: x.k}
		if x.k == 0 {
			req.MinScore = new(float64)
		}
		got, err := x.limits.Divide(x.each, req)
		if got != x.want || (err == nil) != (x.err == nil) || errors.Is(x.err, ErrMemory) && !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %+v, %v; %+v, %v are wanted", name, got, err, x.want, x.err)
		}
	}
	// Limits that goals have are not known yet.
	l := PartLimits{Queries: 10, Answers: 1000, Free: 1}
	if got, err := l.Divide(footprint(-1), batch.Request{}); got != (PartMemory{Queries: 10}) || err != nil {
		t.Errorf("without k and score: %+v, %v", got, err)
	}
}

// waiting answers once its context ends.
type waiting struct{ resp *batch.Response }

func (w waiting) Search(ctx context.Context, _ batch.Request) (*batch.Response, error) {
	<-ctx.Done()
	return w.resp, ctx.Err()
}

// TestSearchRun: a deadline keeps the best so far, a cancelled search is not answered, and errors have the number of
// the query in the whole search.
func TestSearchRun(t *testing.T) {
	run := SearchRun{Engine: waiting{stoppedAt(batch.Deadline)}, Until: time.Now()}
	if resp, err := run.Answer(t.Context(), 0, &batch.Request{}); err != nil || resp == nil || run.Unfinished != 1 {
		t.Errorf("at the deadline: %v, %v, %d partial", resp, err, run.Unfinished)
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	run.Until = time.Time{}
	if resp, err := run.Answer(ctx, 0, &batch.Request{}); resp != nil || err != over || run.SearchCounts.Queries != 1 {
		t.Errorf("cancelled: %v, %v", resp, err)
	}
	run.Engine = searched{err: &batch.RequestError{Field: "k", Query: 3, Err: errors.New("wrong")}}
	var wrong *batch.RequestError
	if _, err := run.Answer(t.Context(), 40, &batch.Request{}); !errors.As(err, &wrong) || wrong.Query != 43 {
		t.Errorf("an error of query 43: %v", err)
	}
	run.Engine = searched{err: &batch.RequestError{Field: "k", Query: -1, Err: errors.New("wrong")}}
	if _, err := run.Answer(t.Context(), 40, &batch.Request{}); !errors.As(err, &wrong) || wrong.Query != -1 {
		t.Errorf("an error of all queries: %v", err)
	}
}

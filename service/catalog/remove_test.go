package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/problem"
)

// byID makes a collection of 6 rows, whose ids 10 to 15 are their years, of which even ones have the lang "go".
func (f *fixture) byID(name string, o CreateOptions) {
	f.t.Helper()
	src := Source{Rows64: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Dim: 2, IDs: ints(15, 14, 13, 12, 11, 10)}
	src.Values = values(f.t, `{"year":[15,14,13,12,11,10],"lang":[null,"go",null,"go",null,"go"]}`)
	o.Metric = "ip"
	f.ready(f.c.Create(context.Background(), name, src, o, ""))
}

// left returns the ids of a collection.
func (f *fixture) left(name string) string {
	f.t.Helper()
	v := f.use(name, 0)
	defer v.Release()
	var ids []int
	for id := range held(f.t, v) {
		var n int
		fmt.Sscan(id, &n)
		ids = append(ids, n)
	}
	slices.Sort(ids)
	return strings.Trim(fmt.Sprint(ids), "[]")
}

// TestFirstChangeIsByRows: the first append or removal makes a collection change by rows, as a first Put does, with the columns of all rows; one
// that is refused leaves it as it was.
func TestFirstChangeIsByRows(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	more := func(ids *Keys) Source {
		src := Source{Rows64: []float64{1, 2, 3, 4}, Dim: 2, IDs: ids}
		src.Values = values(t, `{"year":[20,21],"lang":["c",null]}`)
		return src
	}
	for name, x := range map[string]struct {
		bad  func(context.Context) error
		want string // of the error
		do   func(context.Context, string) (Info, error)
		left string
	}{
		"append": {
			func(ctx context.Context) error {
				_, err := f.c.Append(ctx, "append", more(ints(20, 13)), "")
				return err
			},
			"row 1 has the id 13, which the collection has already",
			func(ctx context.Context, key string) (Info, error) {
				return f.c.Append(ctx, "append", more(ints(20, 21)), key)
			},
			"10 11 12 13 14 15 20 21",
		},
		"next": {
			func(ctx context.Context) error {
				_, err := f.c.Append(ctx, "next", Source{Body: strings.NewReader("1,2,3\n4,5,6\n"), Format: dataset.CSV}, "")
				return err
			},
			"rows of 3 columns",
			func(ctx context.Context, key string) (Info, error) { return f.c.Append(ctx, "next", more(nil), key) },
			"10 11 12 13 14 15 16 17",
		},
		"remove": {
			func(ctx context.Context) error { _, err := f.c.Remove(ctx, "remove", *ints(12, 3), ""); return err },
			"no vector has the id 3",
			func(ctx context.Context, key string) (Info, error) {
				return f.c.Remove(ctx, "remove", *ints(12, 14), key)
			},
			"10 11 13 15",
		},
		"where": {
			func(ctx context.Context) error {
				_, err := f.c.RemoveWhere(ctx, "where", parsed(t, "years > 3"), "years > 3", "")
				return err
			},
			`there is no column "years"`,
			func(ctx context.Context, key string) (Info, error) {
				return f.c.RemoveWhere(ctx, "where", parsed(t, "year > 11 and lang = 'go'"), "year > 11 and lang = 'go'", key)
			},
			"10 11 13 15",
		},
	} {
		f.byID(name, CreateOptions{})
		if err := x.bad(ctx); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		if _, err := x.do(OnlyOn(ctx, 2, nil), ""); kindOf(err) != problem.Conflict {
			t.Errorf("%s of another version: %v", name, err)
		}
		if i, err := f.c.Get(name); err != nil || i.Tag() != "1" {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		for again := range 2 {
			if i, err := x.do(OnlyOn(ctx, 1, nil), "key of "+name); err != nil || i.Tag() != "2-1" || i.State != Ready || i.Change == nil || i.Change.Written+i.Change.Deleted != 2 {
				t.Errorf("%s, time %d: %+v, %v", name, again, i, err)
			}
		}
		if got := f.left(name); got != x.left {
			t.Errorf("%s: rows %s, want %s", name, got, x.left)
		}
		v := f.use(name, 0)
		if rows, err := v.RowsFor(parsed(t, "year >= 10"), "filter"); err != nil || len(rows) != v.Len() {
			t.Errorf("%s: %d rows have a year, of %d: %v", name, len(rows), v.Len(), err)
		}
		v.Release()
	}
}

// TestAppendOfManyBuilds: rows that are more than are written at once are appended by building a version, as long as the collection does not
// change by rows.
func TestAppendOfManyBuilds(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 1<<14, nil), CreateOptions{Metric: "ip", Basis: "raw"}, ""))
	many := func() Source {
		return Source{Body: strings.NewReader(strings.Repeat("{\"vector\":[1"+strings.Repeat(",0", 1<<14-1)+"]}\n", 3)), Format: dataset.JSONL}
	}
	f.c.o.atOnce = 1 << 17
	if i := f.ready(f.c.Append(ctx, "a", many(), "")); i.Tag() != "2" || i.Count != 13 {
		t.Errorf("%+v", i)
	}
	if i, err := f.c.Append(ctx, "a", rowsOf(0, 1, 1<<14, nil), ""); err != nil || i.Tag() != "3-1" || i.Count != 14 {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := f.c.Append(ctx, "a", many(), ""); kindOf(err) != problem.OverLimit {
		t.Errorf("too many rows for a write: %v", err)
	}
}

// TestRemoveWhere: an expression deletes what it is true of, of a version that is built as of a folder; none is no error, and all is one.
func TestRemoveWhere(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	for name, place := range map[string]Placer{"versions": nil, "rows": f.c.o.Place} {
		f.c.o.Place = place
		f.byID(name, CreateOptions{})
		remove := func(text, key string) (Info, error) { return f.c.RemoveWhere(ctx, name, parsed(t, text), text, key) }
		for range 2 {
			if i, err := remove("year > 90", "none of "+name); err != nil || *i.Change != (api.RowChange{}) || i.Count != 6 || i.Tag() != "1" {
				t.Errorf("%s: of none: %+v, %v", name, i, err)
			}
		}
		if _, err := remove("year > 12", "none of "+name); kindOf(err) != problem.KeyReused {
			t.Errorf("another expression under the same key: %v", err)
		}
		if place == nil { // the others may be empty
			if _, err := remove("year > 2", ""); kindOf(err) != problem.InvalidValue || !strings.Contains(err.Error(), "these are all 6 rows") {
				t.Errorf("%s: of all: %v", name, err)
			}
		}
		f.ready(remove("lang is null and year < 15", ""))
		f.ready(remove(`{"must":[{"has_id":[14]}]}`, ""))
		if got := f.left(name); got != "10 12 15" {
			t.Errorf("%s: rows %s", name, got)
		}
		if i, err := f.c.Get(name); err != nil || (i.Writes != nil) != (place != nil) || len(i.Columns) != 2 {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}

	f.c.o.Place = f.o.Place
	// beside writers of rows that the expression is true of, or is not any more, nothing else is deleted
	f.byID("busy", CreateOptions{})
	f.c.o.Patience = 1 << 40 // the first makes it change by rows
	var all sync.WaitGroup
	for w := range int64(3) {
		all.Go(func() {
			for n := range int64(20) {
				src := Source{Rows64: []float64{1, 2, 3, 4}, Dim: 2, IDs: ints(100+w, 200+w), Values: values(t, fmt.Sprintf(`{"year":[%d,50]}`, 1000*(n%2)))}
				if _, err := f.c.Put(ctx, "busy", src, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if _, err := f.c.RemoveWhere(ctx, "busy", parsed(t, "year = 0"), "year = 0", ""); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	if got := f.left("busy"); got != "10 11 12 13 14 15 100 101 102 200 201 202" {
		t.Errorf("rows %s", got) // the last write of each of the first has the year 1000
	}
}

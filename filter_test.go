package thresher_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher"
	"thresher/columns"
)

// described are the words of the examples with columns.
func described(t *testing.T, o thresher.Options) *thresher.Index {
	t.Helper()
	c, err := columns.New(columns.Of("letters", []int{4, 5, 6, 8, 3, 5, 5, 4}), columns.Of("royal", []bool{true, true, true, true, false, false, false, false}))
	if err != nil {
		t.Fatal(err)
	}
	o.Metric, o.Columns = thresher.InnerProduct, c
	x, err := thresher.New(context.Background(), meaning, 4, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestFilter: filters in both forms, of columns that were given, saved, and read.
func TestFilter(t *testing.T) {
	ctx := context.Background()
	x := described(t, thresher.Options{IDs: thresher.IDsOf(words)})
	path := filepath.Join(t.TempDir(), "words.thresher")
	if err := x.Save(ctx, path, false); err != nil {
		t.Fatal(err)
	}
	saved, err := thresher.Open(ctx, path, thresher.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	for _, x := range []*thresher.Index{x, saved} {
		rows, err := x.Filter("royal and letters >= 5")
		if err != nil || !slices.Equal(rows, []int64{1, 2, 3}) {
			t.Errorf("rows %v %v", rows, err)
		}
		rows, err = x.FilterJSON([]byte(`{"must_not":[{"key":"royal","match":{"value":true}},{"has_id":["pear"]}]}`))
		if err != nil || !slices.Equal(rows, []int64{4, 5, 6}) {
			t.Errorf("rows %v %v", rows, err)
		}
		found, err := x.Search(ctx, thresher.Request{Queries: []float32{0, 0, 1, 0}, K: 2, Filter: rows})
		if err != nil || !slices.Equal(found.Answers[0].Rows, []int64{5, 4}) {
			t.Errorf("answer %v %v", found, err)
		}
	}
	if rows, err := indexed(thresher.InnerProduct).FilterJSON([]byte(`{"must":[{"has_id":[3,9]}]}`)); err != nil || !slices.Equal(rows, []int64{3}) {
		t.Errorf("ids without columns: %v %v", rows, err)
	}
}

// TestFilterErrors: what is wrong with a filter or with columns is said.
func TestFilterErrors(t *testing.T) {
	ctx := context.Background()
	x := described(t, thresher.Options{})
	var of *columns.ExprError
	if _, err := x.Filter("letters > 'a'"); !errors.As(err, &of) || of.Offset != 10 {
		t.Errorf("error %v", err)
	}
	bare := indexed(thresher.InnerProduct)
	defer bare.Close()
	dir := t.TempDir()
	file, path := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.thresher")
	if err := os.WriteFile(file, []byte("year,d0,d1\n1999,1,2\n,3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bare.Save(ctx, path, false); err != nil {
		t.Fatal(err)
	}
	three := columns.Of("three", []float64{1, 2, 3})
	for _, test := range []struct {
		want string
		err  func() error
	}{
		{"no vector is allowed", func() error { _, err := x.Filter("letters > 99"); return err }},
		{"have no columns; Options.Columns", func() error { _, err := bare.Filter("letters > 99"); return err }},
		{`there is no column "colour"; the columns are letters, royal`, func() error { _, err := x.Filter("colour = 1"); return err }},
		{"columns: 3 rows for 8 vectors", func() error {
			c, err := columns.New(three)
			if err != nil {
				return err
			}
			_, err = thresher.New(ctx, meaning, 4, thresher.Options{Metric: thresher.Cosine, Columns: c})
			return err
		}},
		{`two columns are called "three"`, func() error { _, err := columns.New(three, three); return err }},
		{`column "four" has 1 rows, "three" has 3`, func() error { _, err := columns.New(three, columns.Of("four", []string{"a"})); return err }},
		{"a.thresher has no columns", func() error {
			_, err := thresher.Open(ctx, path, thresher.Options{ColumnNames: []string{"year"}})
			return err
		}},
		{`no column "yeer"`, func() error {
			_, err := thresher.Open(ctx, file, thresher.Options{Metric: thresher.Cosine, Column: "d0,d1", ColumnNames: []string{"yeer"}})
			return err
		}},
	} {
		if err := test.err(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
	read, err := thresher.Open(ctx, file, thresher.Options{Metric: thresher.InnerProduct, Column: "d0,d1", ColumnNames: []string{columns.All}})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if rows, err := read.Filter("year is null"); err != nil || !slices.Equal(rows, []int64{1}) || read.Columns().Rows() != 2 {
		t.Errorf("rows %v %v", rows, err)
	}
}

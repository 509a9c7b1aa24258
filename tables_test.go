package thresher_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher"
	"thresher/columns"
	"thresher/internal/vectors"
)

// TestJoin compares joins of tables in float32 and float64 with all pairs of equal keys.
func TestJoin(t *testing.T) {
	const m, n, dim, keys, k = 60, 300, 8, 4, 5
	left32, right32 := vectors.Gaussian(vectors.Rand(1), m, dim), vectors.Gaussian(vectors.Rand(2), n, dim)
	keyed := func(rows int) (*columns.Columns, []int64) {
		values := make([]int64, rows)
		for i := range values {
			values[i] = int64(i % keys)
		}
		return columnsOf(t, columns.Of("key", values)), values
	}
	leftColumns, leftKeys := keyed(m)
	rightColumns, rightKeys := keyed(n)
	for _, by := range [][]string{nil, {"key"}} {
		o := thresher.JoinOptions{Metric: thresher.Euclidean, K: k, By: by, LeftColumns: leftColumns, RightColumns: rightColumns}
		done := int64(0)
		o.Progress = func(at, total int64) { done = at + total - m }
		narrow, err := thresher.Join(t.Context(), left32, right32, dim, o)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := thresher.Join(t.Context(), widened(left32), widened(right32), dim, o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(narrow.Rows, wide.Rows) || !slices.Equal(narrow.Lims, wide.Lims) || done != m {
			t.Fatalf("by %v: %d rows done; of float32 and float64 differ", by, done)
		}
		if s := narrow.Summary; s.Pairs != m*k || s.Rows != m || s.Guarantee != "exact" && s.Guarantee != "certain" {
			t.Errorf("by %v: %+v", by, s)
		}
		for j := range m {
			var scores []float64
			for i := range n {
				if by != nil && leftKeys[j] != rightKeys[i] {
					continue
				}
				sum := 0.
				for d := range dim {
					x := float64(left32[j*dim+d]) - float64(right32[i*dim+d])
					sum += x * x
				}
				scores = append(scores, sum)
			}
			slices.Sort(scores)
			got := narrow.Scores[narrow.Lims[j]:narrow.Lims[j+1]]
			if len(got) != k {
				t.Fatalf("by %v: row %d has %d partners", by, j, len(got))
			}
			for i, s := range got {
				if math.Abs(s-scores[i]) > 1e-12*s {
					t.Fatalf("by %v: row %d: distance %g at rank %d, want %g", by, j, s, i+1, scores[i])
				}
			}
		}
	}
}

// columnsOf returns a table of columns.
func columnsOf(t *testing.T, of ...*columns.Column) *columns.Columns {
	t.Helper()
	c, err := columns.New(of...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func widened(rows []float32) []float64 {
	wide := make([]float64, len(rows))
	for i, x := range rows {
		wide[i] = float64(x)
	}
	return wide
}

// TestJoinRefuses: an error names the table and the row.
func TestJoinRefuses(t *testing.T) {
	two := []float64{1, 0, 0, 1}
	bad := []float64{1, 0, math.NaN(), 1}
	of := columnsOf(t, columns.Of("key", []int64{1, 0}))
	good := thresher.JoinOptions{Metric: thresher.InnerProduct, K: 1}
	with := func(change func(o *thresher.JoinOptions)) thresher.JoinOptions {
		o := good
		change(&o)
		return o
	}
	keyed := with(func(o *thresher.JoinOptions) { o.By, o.LeftColumns, o.RightColumns = []string{"key"}, of, of })
	for _, c := range []struct {
		left, right []float64
		dim         int
		o           thresher.JoinOptions
		err         string
	}{
		{two, two, 3, good, "no rows of 3 values"},
		{two, two, 2, thresher.JoinOptions{K: 1}, "no metric"},
		{two, two, 2, thresher.JoinOptions{Metric: thresher.Cosine}, "MinScore"},
		{two, two, 2, with(func(o *thresher.JoinOptions) { o.Method = "strict" }), "a join has"},
		{two, two, 2, with(func(o *thresher.JoinOptions) { o.By = []string{"key"} }), "the left table has 2 rows"},
		{two, two, 2, with(func(o *thresher.JoinOptions) { o.By, o.LeftColumns, o.RightColumns = []string{"none"}, of, of }), "none"},
		{bad, two, 2, good, "left: row 1"},
		{two, bad, 2, good, "right: row 1"},
		{two, bad, 2, keyed, "right: row 1"},
	} {
		_, err := thresher.Join(t.Context(), c.left, c.right, c.dim, c.o)
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("error %v, want %q", err, c.err)
		}
	}
}

// Each user gets the best item of their language.
func ExampleJoin() {
	users := []float32{1, 0, 0, 1, 1, 1}
	items := []float32{3, 4, 4, 3, 4, 3}
	speak, err := columns.New(columns.Of("lang", []string{"de", "fr", "it"}))
	if err != nil {
		log.Fatal(err)
	}
	written, err := columns.New(columns.Of("lang", []string{"de", "de", "fr"}))
	if err != nil {
		log.Fatal(err)
	}
	joined, err := thresher.Join(context.Background(), users, items, 2, thresher.JoinOptions{
		Metric: thresher.Cosine, K: 1, By: []string{"lang"}, LeftColumns: speak, RightColumns: written,
	})
	if err != nil {
		log.Fatal(err)
	}
	for user := range 3 {
		for at := joined.Lims[user]; at < joined.Lims[user+1]; at++ {
			fmt.Println(user, joined.Rows[at], joined.Scores[at])
		}
	}
	fmt.Println(joined.Summary.Promise)
	// Output:
	// 0 1 0.8
	// 1 2 0.6
	// exact: none wrong
}

// TestJoinEmpty: a table without rows joins with nothing.
func TestJoinEmpty(t *testing.T) {
	one := []float32{1, 2}
	for _, c := range []struct{ left, right []float32 }{{nil, one}, {one, nil}, {nil, nil}} {
		r, err := thresher.Join(t.Context(), c.left, c.right, 2, thresher.JoinOptions{Metric: thresher.Cosine, K: 3})
		if err != nil {
			t.Fatal(err)
		}
		if want := make([]int, len(c.left)/2+1); !slices.Equal(r.Lims, want) || len(r.Rows) != 0 || r.Summary.Rows != int64(len(c.left)/2) || r.Summary.Promise != "exact: none wrong" {
			t.Errorf("%v with %v: %+v, summary %+v", c.left, c.right, r, r.Summary)
		}
	}
}

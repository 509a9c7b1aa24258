package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/service/api"
)

// contents returns the ids and rows of a version.
func contents(t testing.TB, c *Catalog, name string, version int64) (ids []string, rows [][]float32) {
	t.Helper()
	v, err := c.Use(name, version)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	for i := range int64(v.Len()) {
		ids = append(ids, v.IDs().Name(i))
		rows = append(rows, slices.Clone(v.Row(i)))
	}
	return ids, rows
}

// search returns the exact best k atoms of one query.
func search(t testing.TB, v *Version, q []float32, k int) []int64 {
	t.Helper()
	r, err := v.Search(context.Background(), batch.Request{Queries: q, K: k, Method: batch.Exact})
	if err != nil {
		t.Fatal(err)
	}
	return r.Answers[0].IDs
}

func TestLifeOfACollection(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	i := f.ready(f.c.Create(ctx, "films", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip"}, ""))
	want := Info{Collection: api.Collection{Name: "films", Version: 1, State: Ready, Count: 5, Dim: 4, Dimension: 4, DType: "float32", Metric: "ip", Basis: "rotated",
		IDs: RowNumbers, Bytes: i.Bytes, Backend: i.Backend, Methods: []string{"auto", "exact", "certain"}, CreatedAt: i.CreatedAt}}
	if d := cmp.Diff(want, i); d != "" || i.Bytes == 0 || i.Backend == "" {
		t.Fatal(d, i)
	}

	i = f.ready(f.c.Append(ctx, "films", rowsOf(5, 2, 4, nil), ""))
	if i.Version != 2 || i.Count != 7 || i.IDs != RowNumbers {
		t.Fatal(i)
	}
	i = f.ready(f.c.Remove(ctx, "films", *ints(6, 1), ""))
	if i.Version != 3 || i.Count != 5 || i.IDs != Integers {
		t.Fatal(i)
	}
	i = f.ready(f.c.Append(ctx, "films", rowsOf(7, 2, 4, nil), ""))
	ids, rows := contents(t, f.c, "films", 0)
	if d := cmp.Diff([]string{"0", "2", "3", "4", "5", "7", "8"}, ids); d != "" {
		t.Fatal("6 was an id before and must not be one again:", d)
	}
	all := vectors(0, 9, 4)
	for r, id := range []int{0, 2, 3, 4, 5, 7, 8} {
		if !slices.Equal(rows[r], all[4*id:4*id+4]) {
			t.Errorf("row %d is %v", r, rows[r])
		}
	}

	before := f.c.List()
	f.close()
	f.open()
	if d := cmp.Diff(before, f.c.List()); d != "" {
		t.Fatal("opened again:", d)
	}
	v, err := f.c.Use("films", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := search(t, v, []float32{0, 0, 0, 1}, 2); !slices.Equal(got, []int64{5, 2}) {
		t.Error("rows found:", got) // ids 7 and 3
	}
	if got := len(f.files()); got != 2 {
		t.Error(f.files())
	}

	// a version in use outlives its collection
	if err := f.c.Delete("films"); err != nil {
		t.Fatal(err)
	}
	if got := search(t, v, []float32{0, 0, 0, 1}, 1); got[0] != 5 {
		t.Error(got)
	}
	v.Release()
	v.Release()
	if got := f.files(); len(got) != 0 {
		t.Error("files of nobody:", got)
	}
	if i = f.ready(f.c.Create(ctx, "films", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}, "")); i.Version != 5 {
		t.Error("number used again:", i.Version)
	}
}

package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// TestCreateFrom: a folder of a collection's file has its vectors under its ids, without a copy of the file where the rows are in
// order, and goes on as any folder.
func TestCreateFrom(t *testing.T) {
	const n, dim = 300, 8
	b, ctx := newBackend(t), context.Background()
	far := make([]float64, n*dim)
	for i, x := range vectors.Gaussian(draws.Rand(5), n, dim) {
		far[i] = 1e6 + float64(x)/3
	}
	near := vectors.Gaussian(draws.Rand(6), n, dim)
	list := func(id func(i int) string, texts bool) *dataset.IDs {
		var all []string
		for i := range n {
			all = append(all, id(i))
		}
		return idsOf(all, texts)
	}
	for name, test := range map[string]struct {
		metric collection.Metric
		ids    *dataset.IDs
		linked bool
	}{
		"row numbers": {collection.Cosine, nil, true},
		"ascending":   {collection.InnerProduct, list(func(i int) string { return fmt.Sprint(10 * i) }, false), true},
		"descending":  {collection.Euclidean, list(func(i int) string { return fmt.Sprint(1000 - i) }, false), false},
		"great":       {collection.InnerProduct, list(func(i int) string { return fmt.Sprint(uint64(1<<63) - uint64(i)) }, false), true},
		"texts":       {collection.Euclidean, list(func(i int) string { return fmt.Sprint("id ", 1000-i) }, true), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, path := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "folder")
			o := collection.Options{Metric: test.metric, Seed: 3}
			var c *collection.Collection
			var err error
			if test.metric.Differences() {
				c, err = collection.BuildFloat64(ctx, far, dim, &o)
			} else {
				c, err = collection.Build(ctx, near, dim, &o)
			}
			if err == nil {
				c, err = collection.Create(ctx, file, inOrder(c, make([]int64, n)), true, &o)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := CreateFrom(ctx, path, file, c, test.ids, nil); err != nil {
				t.Fatal(err)
			}
			if err := CreateFrom(ctx, path, file, c, test.ids, nil); !errors.Is(err, os.ErrExist) {
				t.Errorf("made twice: %v", err)
			}
			a, err1 := os.Stat(file)
			s, err2 := os.Stat(filepath.Join(path, "1.thresher"))
			if err := errors.Join(err1, err2); err != nil || os.SameFile(a, s) != test.linked {
				t.Errorf("linked: %v, want %v; %v", os.SameFile(a, s), test.linked, err)
			}
			for range 2 {
				f := opened(t, path, Options{Backend: b, ByHand: true})
				if got := f.Form(); got.Metric != test.metric || got.Dim != dim || got.Seed != 3 || (got.Origin == nil) == test.metric.Differences() {
					t.Errorf("form %+v", got)
				}
				now := f.Snapshot()
				for row := range n {
					id := fmt.Sprint(row)
					if test.ids != nil {
						id = test.ids.Text(int64(row))
					}
					v := now.Vector(now.Numbers(idsOf([]string{id}, test.ids.Textual()))[0])
					for j := range dim {
						if v == nil || v[j] != c.Row(row)[j] {
							t.Fatalf("vector %s is %v, want %v", id, v, c.Row(row))
						}
					}
				}
				if now.Len() != n {
					t.Errorf("%d vectors", now.Len())
				}
				now.Release()
				closed(t, f)
			}
			f := opened(t, path, Options{Backend: b, ByHand: true, SealRows: 4})
			defer closed(t, f)
			added := idsOf([]string{"5000", "5001", "5002", "5003", "5004"}, test.ids.Textual())
			if _, err := f.Apply(ctx, Change{IDs: added, Rows: make5(dim), Only: OnlyNew}); err != nil {
				t.Fatal(err)
			}
			if err := f.Maintain(ctx); err != nil {
				t.Fatal(err)
			}
			now := f.Snapshot()
			defer now.Release()
			if _, err := now.Search(ctx, batch.Request{Queries: near[:dim], K: 3}); err != nil || now.Len() != n+5 {
				t.Errorf("%d vectors: %v", now.Len(), err)
			}
		})
	}

	c, err := collection.Build(ctx, near, dim, &collection.Options{Metric: collection.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a")
	for want, ids := range map[string]*dataset.IDs{
		"1 ids for 300 vectors": idsOf([]string{"1"}, false),
		`has the id "7"`:        list(func(int) string { return "7" }, false),
	} {
		if err := CreateFrom(ctx, path, path+".thresher", c, ids, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestCreateFromTyped: the folder of a file keeps its type, whatever the order of the rows.
func TestCreateFromTyped(t *testing.T) {
	const n, dim = 40, 24
	b, ctx := newBackend(t), context.Background()
	rows := make([]int8, n*dim)
	for i := range rows {
		rows[i] = int8(i*i%23 - 11)
	}
	given, err := dataset.VectorsOf(rows, dim)
	if err != nil {
		t.Fatal(err)
	}
	o := collection.Options{Metric: collection.Euclidean}
	built, err := collection.BuildVectors(ctx, given, &o)
	if err != nil {
		t.Fatal(err)
	}
	for _, falling := range []bool{false, true} {
		dir := t.TempDir()
		file, path := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "folder")
		c, err := collection.Create(ctx, file, inOrder(built, make([]int64, n)), true, &o)
		if err != nil {
			t.Fatal(err)
		}
		if c.Elem() != dataset.ElemInt8 {
			t.Fatalf("the file keeps %v", c.Elem())
		}
		ids := idsFrom(5, n)
		if falling {
			var list []uint64
			for i := range uint64(n) {
				list = append(list, 100-i)
			}
			ids = dataset.IDsOf(list)
		}
		places := make([]int, n)
		for i := range places {
			places[i] = i
		}
		described, err := columns.New(columns.Of("place", places))
		if err != nil {
			t.Fatal(err)
		}
		if err := CreateFrom(ctx, path, file, c, ids, described.Slice(1, n)); err == nil || !strings.Contains(err.Error(), "columns of 39 rows for 40 vectors") {
			t.Errorf("a row without columns: %v", err)
		}
		if err := CreateFrom(ctx, path, file, c, ids, described); err != nil {
			t.Fatal(err)
		}
		f := opened(t, path, Options{Backend: b, ByHand: true})
		now := f.Snapshot()
		expr, err := columns.Parse("place = 3")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := now.Select(expr); err != nil || !slices.Equal(got.IDs(), now.Numbers(ids)[3:4]) {
			t.Errorf("at place 3: %+v, %v", got, err)
		}
		if more := now.Size().Bytes - c.Bytes(); more < described.Bytes() {
			t.Errorf("%d bytes beside the vectors, and the columns have %d", more, described.Bytes())
		}
		if f.Form().Elem != dataset.ElemInt8 || now.Holdings()[0].Segment.Collection().Elem() != dataset.ElemInt8 {
			t.Errorf("form %+v", f.Form())
		}
		for row, number := range now.Numbers(ids) {
			if v := now.Vector(number); !slices.Equal(v, c.Row(row)) {
				t.Fatalf("vector %d is %v, want %v", row, v, c.Row(row))
			}
		}
		if err := errors.Join(now.Release(), c.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Upsert(ctx, idsFrom(5, 1), slices.Repeat([]float32{.5}, dim)); err == nil || !strings.Contains(err.Error(), "value 0.5 is no int8") {
			t.Errorf("a fraction: %v", err)
		}
		closed(t, f)
	}
}

// TestCreateFromFloat64: the folder of a file of float64, far from zero, keeps its vectors as they are given, takes others near them, and no
// rounding is to be said.
func TestCreateFromFloat64(t *testing.T) {
	const n, dim = 40, 24
	b, ctx := newBackend(t), context.Background()
	rows := make([]float64, n*dim)
	for i, x := range vectors.Gaussian(draws.Rand(5), n, dim) {
		rows[i] = 1e20 + 1e6*float64(x)
	}
	given, err := dataset.VectorsOf(rows, dim)
	if err != nil {
		t.Fatal(err)
	}
	for _, falling := range []bool{false, true} {
		dir := t.TempDir()
		file, path := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "folder")
		c, err := collection.Create(ctx, file, given.Reader(), true, &collection.Options{Metric: collection.Euclidean, Elem: dataset.ElemFloat64})
		if err != nil {
			t.Fatal(err)
		}
		ids := idsFrom(5, n)
		if falling {
			var list []uint64
			for i := range uint64(n) {
				list = append(list, 100-i)
			}
			ids = dataset.IDsOf(list)
		}
		if err := CreateFrom(ctx, path, file, c, ids, nil); err != nil {
			t.Fatal(err)
		}
		f := opened(t, path, Options{Backend: b, ByHand: true, SealRows: 4})
		if form := f.Form(); form.Elem != dataset.ElemFloat64 || !slices.Equal(form.Origin, c.Origin) || c.Origin == nil {
			t.Errorf("form %+v", form)
		}
		if _, err := f.Apply(ctx, Change{IDs: idsFrom(500, 5), Rows64: rows[:5*dim]}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Upsert(ctx, idsFrom(600, 1), make([]float32, dim)); err == nil {
			t.Error("a vector that cannot be merged with the others was taken")
		}
		if err := f.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
		now := f.Snapshot()
		for row, number := range now.Numbers(ids) {
			if v := now.Given(number); !slices.Equal(v, rows[row*dim:(row+1)*dim]) {
				t.Fatalf("vector %d is %v, want %v", row, v, rows[row*dim:(row+1)*dim])
			}
		}
		resp, err := now.Search(ctx, batch.Request{Queries64: rows[:dim], K: 2, Method: batch.Exact})
		if err != nil {
			t.Fatal(err)
		}
		if got := now.IDs(resp.Answers[0].IDs); resp.Answers[0].Scores[1] != 0 || got.Number(1) != 500 || resp.Stats.VectorsChange != 0 {
			t.Errorf("%v of scores %v, a change of %g", resp.Answers[0].IDs, resp.Answers[0].Scores, resp.Stats.VectorsChange)
		}
		if err := errors.Join(now.Release(), c.Close()); err != nil {
			t.Fatal(err)
		}
		closed(t, f)
	}
}

// make5 returns five rows.
func make5(dim int) []float32 {
	rows := make([]float32, 5*dim)
	for i := range rows {
		rows[i] = float32(i%7) + 1
	}
	return rows
}

// TestOnly: a change for new ids, or for those that are there, is refused by the others, also by those of changes in the same group.
func TestOnly(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 1), context.Background()
	f := opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	ids := func(all ...string) *dataset.IDs { return idsOf(all, true) }
	one, two := []float32{1}, []float32{1, 2}
	for i, test := range []struct {
		c    Change
		want error
		row  int64
	}{
		{Change{IDs: ids("a"), Only: OnlyThere}, ErrMissing, 0},
		{Change{IDs: ids("a", "b"), Rows: two, Only: OnlyNew}, nil, 0},
		{Change{IDs: ids("c", "b"), Rows: two, Only: OnlyNew}, ErrThere, 1},
		{Change{IDs: ids("a", "c"), Only: OnlyThere}, ErrMissing, 1},
		{Change{IDs: ids("a"), Only: OnlyThere}, nil, 0},
		{Change{IDs: ids("a"), Only: OnlyThere}, ErrMissing, 0},
		{Change{IDs: ids("a"), Rows: one, Only: OnlyThere}, ErrMissing, 0},
		{Change{IDs: ids("a"), Rows: one, Only: OnlyNew}, nil, 0},
		{Change{IDs: ids("a"), Rows: one, Only: OnlyThere}, nil, 0},
	} {
		_, err := f.Apply(ctx, test.c)
		var at *dataset.Error
		if !errors.Is(err, test.want) || err != nil && (!errors.As(err, &at) || at.Row != test.row) {
			t.Errorf("change %d: %v, want %v of row %d", i, err, test.want, test.row)
		}
	}
	group := []*write{
		{Change: &Change{IDs: ids("x"), Rows: one, Only: OnlyNew}},
		{Change: &Change{IDs: ids("x"), Rows: one, Only: OnlyNew}}, // there by then
		{Change: &Change{IDs: ids("x"), Only: OnlyThere}},
		{Change: &Change{IDs: ids("x"), Only: OnlyThere}}, // gone by then
		{Change: &Change{IDs: ids("x", "b"), Rows: two, Only: OnlyNew}},
		{Change: &Change{IDs: ids("x"), Rows: one, Only: OnlyNew}},
	}
	f.committing.Lock()
	f.commitGroup(group)
	f.committing.Unlock()
	for i, want := range []error{nil, ErrThere, nil, ErrMissing, ErrThere, nil} {
		if !errors.Is(group[i].err, want) || !group[i].done {
			t.Errorf("change %d of a group: %v, want %v", i, group[i].err, want)
		}
	}
}

// TestRounding: what rounding changed of rows, and the greatest id, are there when a folder is opened again, from the log, and from segments.
func TestRounding(t *testing.T) {
	const dim = 2
	b, ctx := newBackend(t), context.Background()
	path := t.TempDir() + "/vectors"
	form := Form{Metric: collection.Euclidean, Dim: dim, Origin: []float64{1e6, .1}, Basis: collection.Raw}
	if err := Create(path, form); err != nil {
		t.Fatal(err)
	}
	f := opened(t, path, Options{Backend: b, ByHand: true, SealRows: 2})
	change := dataset.Change{Values: 3, Largest: .25}
	c := Change{IDs: dataset.IDsOf([]uint64{7, 900, 8}), Rows: []float32{1, 2, 3, 4, 5, 6}, Rounding: change}
	if _, err := f.Apply(ctx, c); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Delete(ctx, dataset.IDsOf([]uint64{900})); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		now := f.Snapshot()
		resp, err := now.Search(ctx, batch.Request{Queries64: []float64{1e6, .1}, K: 2, Method: batch.Exact})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Stats.VectorsChange != change.Largest {
			t.Errorf("round %d: a change of %v, want %v", round, resp.Stats.VectorsChange, change.Largest)
		}
		if got := f.Form(); got.Basis != collection.Raw || len(got.Origin) != dim || got.Origin[1] != .1 || f.Greatest() != 900 {
			t.Errorf("round %d: %+v, greatest id %d", round, got, f.Greatest())
		}
		now.Release()
		if round == 1 {
			if err := f.Maintain(ctx); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, f)
		f = opened(t, path, Options{Backend: b, ByHand: true, SealRows: 2})
	}
	if info := f.Info(); len(info.Segments) != 1 || info.Unsealed != 0 {
		t.Errorf("%+v", info)
	}
	c.Rounding.Values = -1
	if _, err := f.Apply(ctx, c); err == nil || !strings.Contains(err.Error(), "changed -1 values") {
		t.Error(err)
	}
	closed(t, f)
	form.Origin = form.Origin[:1]
	if err := Create(path+"2", form); err == nil || !strings.Contains(err.Error(), "an origin of 1 columns") {
		t.Error(err)
	}
}

package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// described is a row of a test, with its columns; no lang is "".
type described struct {
	vector []float32
	year   int
	lang   string
}

// describedModel are rows by id, as a collection that changes is to hold them.
type describedModel map[int64]described

// selected returns the ids of rows for which wanted is true, the best for a query first.
func (m describedModel) selected(query []float32, wanted func(described) bool) []string {
	score := func(id int64) (sum float64) {
		for j, x := range m[id].vector {
			sum += float64(x) * float64(query[j])
		}
		return sum
	}
	var ids []int64
	for id, row := range m {
		if wanted(row) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a, b)) })
	all := []string{}
	for _, id := range ids {
		all = append(all, fmt.Sprint(id))
	}
	return all
}

// filters of rows, in both languages.
var filters = []struct {
	text   string
	wanted func(described) bool
}{
	{"year >= 5 and lang in ('go', 'c')", func(d described) bool { return d.year >= 5 && (d.lang == "go" || d.lang == "c") }},
	{"lang is null", func(d described) bool { return d.lang == "" }},
	{"year < 0", func(d described) bool { return false }},
	{`{"must":[{"key":"year","range":{"lt":7}}],"must_not":[{"key":"lang","match":{"value":"go"}}]}`, func(d described) bool { return d.year < 7 && d.lang != "go" }},
}

func parsed(t testing.TB, text string) *columns.Expr {
	t.Helper()
	parse := columns.Parse
	if strings.HasPrefix(text, "{") {
		parse = func(text string) (*columns.Expr, error) { return columns.ParseJSON([]byte(text)) }
	}
	e, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// answersAs asserts that searches among the rows that filters select find what the model has, and that the rows have a type.
func (m describedModel) answersAs(t *testing.T, v *Version, elem dataset.Elem) {
	t.Helper()
	if got := v.Info(); got.DType != elem.String() || got.Count != int64(len(m)) || len(got.Columns) != 2 {
		t.Errorf("%+v", got)
	}
	query := []float32{1, 3, 2, 5, 1, 0}
	for _, filter := range filters {
		rows, err := v.RowsFor(parsed(t, filter.text), "filter")
		if err != nil {
			t.Fatal(err)
		}
		want := m.selected(query, filter.wanted)
		got := []string{}
		for _, row := range rows {
			got = append(got, v.IDs().Name(row))
		}
		slices.Sort(got)
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Fatalf("%s: rows %v, want %v", filter.text, got, want)
		}
		resp, err := v.Search(context.Background(), batch.Request{Queries: query, K: 5, Filter: rows, Method: batch.Exact})
		if err != nil {
			t.Fatal(err)
		}
		got = []string{}
		for _, row := range resp.Answers[0].IDs {
			got = append(got, v.IDs().Name(row))
		}
		if want = want[:min(5, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("%s: found %v, want %v", filter.text, got, want)
		}
	}
}

// TestColumnsAndTypesThatChange: rows with columns, of every type, are written, appended and deleted; filters select them in searches from
// segment to segment, in one block, in a pinned copy, and after a restart, as a model does.
func TestColumnsAndTypesThatChange(t *testing.T) {
	const n, dim = 60, 6
	for _, elem := range []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat16, dataset.ElemBFloat16, dataset.ElemInt8, dataset.ElemUint8} {
		t.Run(elem.String(), func(t *testing.T) {
			root, ctx, r := t.TempDir(), context.Background(), rand.New(rand.NewPCG(3, uint64(elem)))
			f := newFolder(t, Options{Place: placer(t), Roots: []string{root}})
			m := describedModel{}
			draw := func(id int64) described {
				d := described{year: r.IntN(10), lang: []string{"go", "c", "rust", ""}[r.IntN(4)]}
				for range dim {
					d.vector = append(d.vector, float32(r.IntN(9)+1))
				}
				m[id] = d
				return d
			}
			var rows []float32
			var years []int
			var langs []string
			var ids []string
			for i := range int64(n) {
				id := (i*7 + 3) % n // not in order
				d := draw(id)
				if d.lang == "" {
					d.lang = "none" // a column of a Go slice has a value in every row
					m[id] = d
				}
				rows, years, langs, ids = append(rows, d.vector...), append(years, d.year), append(langs, d.lang), append(ids, fmt.Sprint(id))
			}
			path := filepath.Join(root, "a.thresher")
			typed := make([]byte, len(rows)*elem.Size())
			elem.Encode(typed, rows)
			vectors, err := dataset.NewVectors(elem, dim, typed)
			if err != nil {
				t.Fatal(err)
			}
			built, err := collection.Create(ctx, path, &vectorSource{Vectors: vectors}, true, &collection.Options{Metric: collection.InnerProduct})
			if err != nil {
				t.Fatal(err)
			}
			kept, err := columns.New(columns.Of("year", years), columns.Of("lang", langs))
			var named dataset.IDsBuilder
			for _, id := range ids {
				named.Add(id)
			}
			if err := errors.Join(err, built.Close(), columns.Save(path, kept), collection.SaveIDs(path, named.IDs())); err != nil {
				t.Fatal(err)
			}
			if i := f.ready(f.c.Create(ctx, "a", Source{Path: "a.thresher"}, CreateOptions{}, "")); i.DType != elem.String() {
				t.Fatalf("%+v", i)
			}
			write := func(do func(context.Context, string, Source, string) (Info, error), ids ...int64) {
				t.Helper()
				src := Source{Dim: dim, IDs: ints(ids...)}
				var years, langs []string
				for _, id := range ids {
					d := draw(id)
					src.Rows = append(src.Rows, d.vector...)
					years, langs = append(years, strconv.Itoa(d.year)), append(langs, "null")
					if d.lang != "" {
						langs[len(langs)-1] = strconv.Quote(d.lang)
					}
				}
				if src.Values, err = columns.FromJSON([]byte(`{"year":[` + strings.Join(years, ",") + `],"lang":[` + strings.Join(langs, ",") + `]}`)); err != nil {
					t.Fatal(err)
				}
				if i, err := do(ctx, "a", src, ""); err != nil || i.Warnings != nil {
					t.Fatal(err, i.Warnings)
				}
			}
			write(f.c.Put, 5, 100)
			for step := range 12 {
				switch step % 3 {
				case 0:
					write(f.c.Put, int64(r.IntN(n)), 200+int64(step))
				case 1:
					write(f.c.Append, 300+int64(step))
				default:
					gone := slices.Sorted(maps.Keys(m))[r.IntN(len(m))]
					delete(m, gone)
					if _, err := f.c.Remove(ctx, "a", *ints(gone), ""); err != nil {
						t.Fatal(err)
					}
				}
				v := f.use("a", 0)
				m.answersAs(t, v, elem)
				whole, err := f.c.Whole(ctx, v)
				if err != nil {
					t.Fatal(err)
				}
				m.answersAs(t, whole, elem)
				if whole.Collection().Elem() != elem {
					t.Errorf("a block of %v", whole.Collection().Elem())
				}
				whole.Release()
				v.Release()
				if step == 6 {
					f.close()
					f.open()
				}
			}
			version, err := f.c.PinNow(ctx, "a", "owner")
			if err != nil {
				t.Fatal(err)
			}
			then := maps.Clone(m)
			write(f.c.Put, 7, 8, 9)
			for range 2 {
				v := f.use("a", version)
				then.answersAs(t, v, elem)
				if v.Collection().Elem() != elem {
					t.Errorf("a copy of %v", v.Collection().Elem())
				}
				v.Release()
				v = f.use("a", 0)
				m.answersAs(t, v, elem)
				v.Release()
				f.close()
				f.open()
			}
			if err := f.c.Unpin("owner"); err != nil {
				t.Fatal(err)
			}
			if names := f.files(); len(names) != 1 {
				t.Errorf("files %v", names)
			}
		})
	}
}

// TestColumnsOfWrittenFiles: rows of files bring the columns that the collection has, in its types, or those that are named; what they lack
// is null, with a warning, and what does not fit is refused and leaves the collection as it is.
func TestColumnsOfWrittenFiles(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	csv := func(text string, named ...string) Source {
		return Source{Body: strings.NewReader(text), Format: dataset.CSV, Columns: named}
	}
	f.ready(f.c.Create(ctx, "a", csv("id,year,lang,d0,d1\n1,1979,en,1,4\n2,1985,,2,3\n3,1927,de,3,1\n", "year", "lang"), CreateOptions{Metric: "ip"}, ""))
	var table bytes.Buffer
	type film struct {
		ID     int64     `parquet:"id"`
		Vector []float32 `parquet:"vector,list"`
		Year   int32     `parquet:"year"`
		Lang   string    `parquet:"lang"`
	}
	if err := parquet.Write(&table, []film{{9, []float32{1, 1}, 2001, "it"}}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		src      Source
		warning  string // its beginning; "" for none
		bad      string // the error; "" for none
		selected string // ids of the rows for which the filter is true then
		filter   string
	}{
		{src: csv("id,year,lang,d0,d1\n3,2001,ja,3,3\n4,1972,ru,2,2\n"), filter: "year = 2001 and lang = 'ja' or lang = 'ru'", selected: "3 4"},
		{src: csv("id,year,d0,d1\n4,1973,3,3\n"), warning: "columns of the collection that the body lack are null: lang", filter: "lang is null", selected: "2 4"},
		{src: csv("id,lang,year,d0,d1\n5,pl,1999,3,3\n", "lang"), warning: "not kept of the body: year", filter: "lang = 'pl' and year is null", selected: "5"},
		{src: csv("id,d0,d1\n6,3,3\n"), warning: "columns of the collection that the body lack are null: year, lang", filter: "year is null", selected: "5 6"},
		{src: csv("id,year,lang,d0,d1\n6,soon,x,3,3\n"), bad: `columns: the body: row 0 (0-based): column "year"`, filter: `{"must":[{"has_id":[6]},{"is_empty":{"key":"lang"}}]}`, selected: "6"},
		{src: csv("id,month,d0,d1\n6,3,3,3\n", "month"), bad: `columns: collection a has no column "month": it has year, lang`},
		{src: Source{Body: &table, Format: dataset.Parquet}, filter: "year = 2001 and lang = 'it'", selected: "9"},
		{src: Source{Rows: []float32{1, 2}, Dim: 2, IDs: ints(7)}, warning: "columns of the collection that the rows lack are null: year, lang", filter: "year is null", selected: "5 6 7"},
		{src: Source{Rows: []float32{1, 2}, Dim: 2, IDs: ints(7), Values: values(t, `{"year":["soon"]}`)}, bad: `source.columns: column "year"`},
		{src: Source{Rows: []float32{1, 2}, Dim: 2, IDs: ints(7), Values: values(t, `{"year":[1,2]}`)}, bad: "columns of 2 rows for 1 vectors"},
		{src: Source{Rows: []float32{1, 2}, Dim: 2, IDs: ints(7), Values: values(t, `{"month":[1]}`)}, bad: `source.columns: there is no column "month"`},
		{src: Source{Rows: []float32{1, 2}, Dim: 2, IDs: ints(7), Columns: []string{"year"}}, bad: "columns says how a file is read"},
	} {
		i, err := f.c.Put(ctx, "a", x.src, "")
		if (err == nil) != (x.bad == "") || err != nil && (!strings.HasPrefix(err.Error(), x.bad) || kindOf(err) != problem.InvalidValue) {
			t.Errorf("%v, want %q", err, x.bad)
		}
		if got := strings.Join(i.Warnings, "; "); (got == "") != (x.warning == "") || !strings.HasPrefix(got, x.warning) {
			t.Errorf("%s: warnings %q, want %q", x.filter, got, x.warning)
		}
		if x.filter == "" {
			continue
		}
		v := f.use("a", 0)
		rows, err := v.RowsFor(parsed(t, x.filter), "filter")
		var ids []string
		for _, row := range rows {
			ids = append(ids, v.IDs().Name(row))
		}
		if got := strings.Join(ids, " "); err != nil || got != x.selected {
			t.Errorf("%s selects %q, want %q; %v", x.filter, got, x.selected, err)
		}
		v.Release()
	}

	v := f.use("a", 0)
	defer v.Release()
	var p *problem.Problem
	if _, err := v.RowsFor(parsed(t, "month = 3"), "filter"); !errors.As(err, &p) || p.Field != "filter" || !strings.Contains(p.Detail, "month") {
		t.Errorf("an unknown column: %v", err)
	}
	f.ready(f.c.Create(ctx, "plain", rowsOf(0, 3, 4, nil), CreateOptions{Metric: "ip"}, ""))
	for range 2 {
		src := rowsOf(0, 1, 4, ints(9))
		src.Values = values(t, `{"year":[1]}`)
		if _, err := f.c.Put(ctx, "plain", src, ""); kindOf(err) != problem.InvalidValue || !strings.Contains(err.Error(), "has no columns, which come with its first rows") {
			t.Errorf("columns for a collection without: %v", err)
		}
		if _, err := f.c.Put(ctx, "plain", rowsOf(0, 1, 4, ints(9)), ""); err != nil {
			t.Fatal(err)
		}
	}
	plain := f.use("plain", 0)
	defer plain.Release()
	if _, err := plain.RowsFor(parsed(t, "year = 3"), "filter"); err == nil || !strings.Contains(err.Error(), "collection plain has no columns") {
		t.Errorf("a filter of a collection without columns: %v", err)
	}
	if rows, err := plain.RowsFor(parsed(t, `{"must":[{"has_id":[9,1]}]}`), "filter"); err != nil || len(rows) != 2 {
		t.Errorf("by id: %v, %v", rows, err)
	}
}

// vectorSource is a source of vectors of any type.
type vectorSource struct {
	dataset.Vectors
	read int
}

func (s *vectorSource) Read(dst []float32) (int, error) {
	row := s.Dim() * s.Elem().Size()
	typed := make([]byte, len(dst)/s.Dim()*row)
	n, err := s.ReadTyped(typed)
	for i := range n * s.Dim() {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(typed[4*i:])) // other types are not read so
	}
	return n, err
}

func (s *vectorSource) ReadTyped(dst []byte) (int, error) {
	row := s.Dim() * s.Elem().Size()
	n := copy(dst[:len(dst)/row*row], s.Bytes()[s.read*row:]) / row
	if s.read += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func values(t testing.TB, text string) *columns.Columns {
	t.Helper()
	c, err := columns.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

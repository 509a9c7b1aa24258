package catalog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
)

func npy(t testing.TB, rows, dim int, data []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dataset.WriteNPY(&b, rows, dim, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSources makes the same three rows from every kind of source.
func TestSources(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}})
	data := vectors(0, 3, 4)
	matrix := npy(t, 3, 4, data)
	var lines, idLines strings.Builder
	for i := range 3 {
		r := data[4*i : 4*i+4]
		fmt.Fprintf(&lines, "[%g,%g,%g,%g]\n", r[0], r[1], r[2], r[3])
		fmt.Fprintf(&idLines, `{"id":"t%d","v":[%g,%g,%g,%g]}`+"\n", i, r[0], r[1], r[2], r[3])
	}
	write(t, filepath.Join(root, "m.npy"), matrix)
	col, err := collection.Create(ctx, filepath.Join(root, "c.thresher"), &memorySource{data: data, dim: 4}, false,
		&collection.Options{Metric: collection.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	col.Close()
	stored, err := f.store.Create(ctx, "my.vectors.npy", "", "", bytes.NewReader(matrix))
	if err != nil {
		t.Fatal(err)
	}

	for name, tc := range map[string]struct {
		src    Source
		o      CreateOptions
		ids    []string
		kind   Kind
		metric string
	}{
		"npy body":       {src: Source{Body: bytes.NewReader(matrix), Format: dataset.NPY}},
		"unnamed body":   {src: Source{Body: bytes.NewReader(matrix)}},
		"JSONL body":     {src: Source{Body: strings.NewReader(lines.String()), Format: dataset.JSONL}},
		"JSONL with ids": {src: Source{Body: strings.NewReader(idLines.String()), Format: dataset.JSONL, Column: "v", IDColumn: "id"}, ids: []string{"t0", "t1", "t2"}, kind: Strings},
		"integer ids": {src: Source{Body: strings.NewReader(strings.ReplaceAll(idLines.String(), `"t`, `"9`)), Column: "v", IDColumn: "id"},
			ids: []string{"90", "91", "92"}, kind: Integers},
		"integers as strings": {src: Source{Body: strings.NewReader(strings.ReplaceAll(idLines.String(), `"t`, `"9`)), Column: "v", IDColumn: "id"},
			o: CreateOptions{Metric: "ip", IDs: Strings}, ids: []string{"90", "91", "92"}, kind: Strings},
		"no integers after all": {src: Source{Body: strings.NewReader(strings.ReplaceAll(idLines.String(), `"t`, `"0`)), Column: "v", IDColumn: "id"},
			ids: []string{"00", "01", "02"}, kind: Strings},
		"path":           {src: Source{Path: "m.npy"}},
		"absolute path":  {src: Source{Path: filepath.Join(root, "m.npy")}, o: CreateOptions{Metric: "l2", Basis: "raw"}, metric: "l2"},
		"file":           {src: Source{File: stored.ID}, o: CreateOptions{Metric: "cosine"}, metric: "cosine"},
		"prepared":       {src: Source{Path: "c.thresher"}, metric: "cosine"},
		"prepared, same": {src: Source{Path: "c.thresher"}, o: CreateOptions{Metric: "cosine"}, metric: "cosine"},
		"rows":           {src: Source{Rows: data, Dim: 4}},
		"rows with ids":  {src: Source{Rows: data, Dim: 4, IDs: ints(7, 1, 9)}, ids: []string{"7", "1", "9"}, kind: Integers},
		"rows with names": {src: Source{Rows: data, Dim: 4, IDs: &Keys{Names: []string{"a", "7", "c"}}}, ids: []string{"a", "7", "c"},
			kind: Strings},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			if tc.o.Metric == "" && !isPrepared(tc.src.Path) {
				tc.o.Metric = "dot"
			}
			i := f.ready(f.c.Create(ctx, "c", tc.src, tc.o, ""))
			if tc.ids == nil {
				tc.ids, tc.kind = []string{"0", "1", "2"}, RowNumbers
			}
			if tc.metric == "" {
				tc.metric = "ip"
			}
			if i.IDs != tc.kind || i.Metric != tc.metric || i.Count != 3 {
				t.Error(i)
			}
			for range 2 { // as built, and as loaded
				ids, rows := contents(t, f.c, "c", 0)
				if d := cmp.Diff(tc.ids, ids); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff([][]float32{data[:4], data[4:8], data[8:]}, rows); d != "" {
					t.Error(d)
				}
				f.close()
				f.open()
			}
			if err := f.c.Delete("c"); err != nil {
				t.Error(err)
			}
			if left := f.files(); len(left) > 0 {
				t.Error("left:", left)
			}
		})
	}
	f.t = t
}

// TestSavedIDsBeside: the ids of a prepared collection are in a file beside it, and are read, unless row numbers are
// wanted; those of another collection are refused.
func TestSavedIDsBeside(t *testing.T) {
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}})
	path := filepath.Join(root, "c.thresher")
	col, err := collection.Create(t.Context(), path, &memorySource{data: vectors(0, 3, 4), dim: 4}, false, &collection.Options{Metric: collection.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	col.Close()
	for _, x := range []struct {
		ids  []string
		kind Kind
	}{{[]string{"7", "9", "8"}, Integers}, {[]string{"ash", "7", "18446744073709551615"}, Strings}} {
		if err := collection.SaveIDs(path, dataset.IDsOf(x.ids)); err != nil {
			t.Fatal(err)
		}
		i := f.ready(create("c", Source{Path: "c.thresher"}, CreateOptions{Replace: true})(f.c))
		if i.IDs != x.kind || i.Warnings != nil {
			t.Errorf("%+v", i)
		}
		v, err := f.c.Use("c", 0)
		if err != nil {
			t.Fatal(err)
		}
		for row, want := range x.ids {
			if got := v.IDs().Name(int64(row)); got != want {
				t.Errorf("row %d has the id %s, want %s", row, got, want)
			}
		}
		v.Release()
	}
	i := f.ready(create("c", Source{Path: "c.thresher"}, CreateOptions{IDs: RowNumbers, Replace: true})(f.c))
	if i.IDs != RowNumbers || len(i.Warnings) != 1 || i.Warnings[0] != "not kept of c.thresher: c.thresher.ids.npz" {
		t.Errorf("%+v", i)
	}
	if p := f.failed(create("texts", Source{Path: "c.thresher"}, CreateOptions{IDs: Integers})(f.c)); !strings.Contains(p.Detail, `"ash"`) {
		t.Errorf("texts as integers: %v", p)
	}
	write(t, path+dataset.SavedIDsSuffix, nil)
	if p := f.failed(create("empty", Source{Path: "c.thresher"}, CreateOptions{})(f.c)); !strings.Contains(p.Detail, "c.thresher.ids.npz") || strings.Contains(p.Detail, root) {
		t.Errorf("an empty file: %v", p)
	}
}

func create(name string, src Source, o CreateOptions) func(*Catalog) (Info, error) {
	return func(c *Catalog) (Info, error) { return c.Create(context.Background(), name, src, o, "") }
}

func add(name string, src Source) func(*Catalog) (Info, error) {
	return func(c *Catalog) (Info, error) { return c.Append(context.Background(), name, src, "") }
}

func remove(name string, ids *Keys) func(*Catalog) (Info, error) {
	return func(c *Catalog) (Info, error) { return c.Remove(context.Background(), name, *ids, "") }
}

// memorySource reads rows in memory.
type memorySource struct {
	data []float32
	dim  int
}

func (m *memorySource) Dim() int   { return m.dim }
func (m *memorySource) Len() int64 { return int64(len(m.data) / m.dim) }
func (m *memorySource) Read(dst []float32) (int, error) {
	if len(m.data) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, m.data)
	m.data = m.data[n:]
	return n / m.dim, nil
}

// want is an expected problem.
type want struct {
	kind   problem.Kind
	field  string
	index  int
	detail string // part of it
}

func (w want) check(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	p := problem.Of(err)
	if p.Kind != w.kind || p.Field != w.field || p.Index != w.index || !strings.Contains(p.Error(), w.detail) {
		t.Errorf("%s at %q %d: %s", p.Kind, p.Field, p.Index, p.Error())
	}
	if strings.Contains(p.Error(), os.TempDir()) {
		t.Errorf("tells where files lie: %s", p.Error())
	}
}

func TestRefusedAtOnce(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{MaxDim: 8, MaxRows: 9, MaxIDBytes: 5, Memory: 1 << 16})
	f.ready(f.c.Create(ctx, "n", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "s", rowsOf(0, 2, 4, names("a", "b")), CreateOptions{Metric: "ip"}, ""))
	empty := bytes.Replace(npy(t, 1, 4, make([]float32, 4)), []byte("(1,"), []byte("(0,"), 1)
	empty = empty[:len(empty)-16]
	inf := []float32{0, 0, 0, float32(math.Inf(1))}
	for name, tc := range map[string]struct {
		do func(c *Catalog) (Info, error)
		want
	}{
		"no name":       {create("", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "name", -1, `""`}},
		"hidden name":   {create(".a", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "name", -1, `".a"`}},
		"a way up":      {create("../a", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "name", -1, `"../a"`}},
		"long name":     {create(strings.Repeat("a", 65), rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "name", -1, "aaa"}},
		"line in name":  {create("a\n", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "name", -1, `"a\n"`}},
		"taken":         {create("n", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip"}), want{problem.NameTaken, "name", -1, "n already"}},
		"metric":        {create("a", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "manhattan"}), want{problem.InvalidValue, "metric", -1, `"manhattan" is none of ip (largest`}},
		"no metric":     {create("a", rowsOf(0, 1, 4, nil), CreateOptions{Replace: true}), want{problem.InvalidValue, "metric", -1, "collection a is new, and no metric is given: ip (largest"}},
		"basis":         {create("a", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip", Basis: "x"}), want{problem.InvalidValue, "basis", -1, `"x"`}},
		"kind of ids":   {create("a", rowsOf(0, 1, 4, ints(1)), CreateOptions{Metric: "ip", IDs: "uuid"}), want{problem.InvalidValue, "ids", -1, `"uuid"`}},
		"ids of none":   {create("a", rowsOf(0, 1, 4, nil), CreateOptions{Metric: "ip", IDs: Integers}), want{problem.InvalidValue, "ids", -1, "int"}},
		"no source":     {create("a", Source{}, CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "source", -1, "0 sources"}},
		"two sources":   {create("a", Source{Path: "p", File: "f"}, CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "source", -1, "2 sources"}},
		"no roots":      {create("a", Source{Path: "p"}, CreateOptions{Metric: "ip"}), want{problem.Forbidden, "source.path", -1, "no root"}},
		"no store":      {create("a", Source{File: "p"}, CreateOptions{Metric: "ip"}), want{problem.UnknownFile, "source.file_id", -1, `"p"`}},
		"no rows":       {create("a", Source{Body: bytes.NewReader(empty)}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "the body: no rows"}},
		"empty body":    {create("a", Source{Body: strings.NewReader("")}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "empty"}},
		"garbage":       {create("a", Source{Body: strings.NewReader("garbage of some length")}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "the body"}},
		"cut header":    {create("a", Source{Body: bytes.NewReader(npy(t, 1, 4, make([]float32, 4))[:20])}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "the body"}},
		"cut":           {create("a", Source{Body: bytes.NewReader([]byte("\x93NUMPY")), Format: dataset.NPY}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "the body"}},
		"cut data":      {create("a", Source{Body: bytes.NewReader(npy(t, 1, 4, make([]float32, 4))[:140])}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", 0, "truncated"}},
		"other format":  {create("a", Source{Body: bytes.NewReader(npy(t, 1, 4, make([]float32, 4))), Format: dataset.Parquet}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, "the body"}},
		"no columns":    {create("a", Source{Body: bytes.NewReader(npy(t, 1, 4, make([]float32, 4))), IDColumn: "id"}, CreateOptions{Metric: "ip"}), want{problem.Malformed, "rows", -1, `"id"`}},
		"infinite":      {create("a", Source{Rows: inf, Dim: 2}, CreateOptions{Metric: "ip"}), want{problem.NotFinite, "rows", 1, "row 1, column 1"}},
		"none":          {create("a", Source{Rows: inf[:0], Dim: 3}, CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "rows", -1, "no rows"}},
		"ragged":        {create("a", Source{Rows: inf, Dim: 3}, CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "rows", -1, "4 values do not make whole rows of 3"}},
		"wide":          {create("a", rowsOf(0, 1, 9, nil), CreateOptions{Metric: "ip"}), want{problem.OverLimit, "rows", -1, "9 columns, at most 8"}},
		"many":          {create("a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}), want{problem.OverLimit, "rows", -1, "10 rows, at most 9"}},
		"ids too few":   {create("a", rowsOf(0, 2, 4, ints(1)), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", -1, "1 ids for 2 rows"}},
		"same ids":      {create("a", rowsOf(0, 3, 4, ints(1, 2, 1)), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", 2, "rows 0 and 2 have the same id 1"}},
		"same names":    {create("a", rowsOf(0, 3, 4, names("x", "y", "x")), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", 2, `rows 0 and 2 have the same id "x"`}},
		"empty id":      {create("a", rowsOf(0, 2, 4, names("x", "")), CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", 1, "row 1 has an empty id"}},
		"long id":       {create("a", rowsOf(0, 1, 4, names("123456")), CreateOptions{Metric: "ip"}), want{problem.OverLimit, "ids", 0, "6 bytes, at most 5"}},
		"ids elsewhere": {create("a", Source{Body: strings.NewReader("x"), IDs: ints(1)}, CreateOptions{Metric: "ip"}), want{problem.InvalidValue, "ids", -1, "list of ids"}},

		"append to nothing":     {add("x", rowsOf(0, 1, 4, nil)), want{problem.UnknownCollection, "name", -1, `"x"`}},
		"append other columns":  {add("n", rowsOf(0, 1, 3, nil)), want{problem.WrongDimension, "rows", -1, "rows of 3 columns, and those of collection n have 4"}},
		"append names to rows":  {add("n", rowsOf(0, 1, 4, names("a"))), want{problem.InvalidValue, "ids", 0, "are integers"}},
		"append without a name": {add("s", rowsOf(0, 1, 4, nil)), want{problem.InvalidValue, "ids", -1, "have none"}},
		"append an integer":     {add("s", rowsOf(0, 1, 4, ints(1))), want{problem.InvalidValue, "ids", 0, "are strings"}},
		"append too many":       {add("n", rowsOf(0, 5, 4, nil)), want{problem.OverLimit, "rows", -1, "10 rows, at most 9"}},

		"remove from nothing": {remove("x", ints(1)), want{problem.UnknownCollection, "name", -1, `"x"`}},
		"remove nobody":       {remove("n", ints(0, 5)), want{problem.UnknownID, "ids", 1, "5 vectors, numbered from 0, and none has the id 5"}},
		"remove below":        {remove("n", ints(-1)), want{problem.UnknownID, "ids", 0, "-1"}},
		"remove a name":       {remove("n", names("a")), want{problem.UnknownID, "ids", 0, "integers"}},
		"remove a number":     {remove("s", ints(1)), want{problem.UnknownID, "ids", 0, "strings"}},
		"remove no name":      {remove("s", names("a", "c")), want{problem.UnknownID, "ids", 1, `"c"`}},
		"remove none":         {remove("n", ints()), want{problem.InvalidValue, "ids", -1, "no ids"}},
		"remove all":          {remove("n", ints(4, 3, 2, 1, 0, 0)), want{problem.InvalidValue, "ids", -1, "all 5 rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, list := f.files(), f.c.List()
			_, err := tc.do(f.c)
			tc.check(t, err)
			if d := cmp.Diff(before, f.files()); d != "" {
				t.Error("files:", d)
			}
			if d := cmp.Diff(list, f.c.List()); d != "" {
				t.Error(d)
			}
		})
	}
}

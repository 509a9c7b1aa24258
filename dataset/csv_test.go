package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCSV(t *testing.T) {
	find := &Options{FindIDs: true}
	for _, c := range []struct {
		name, text string
		opt        *Options
		data       []float32
		dim        int
		ids        []string
		dropped    []string
	}{
		{"numbers", "1,2.5,-3e-4\n4, 5,6\n", nil, []float32{1, 2.5, -3e-4, 4, 5, 6}, 3, nil, nil},
		{"header", "\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4", nil, []float32{1, 2, 3, 4}, 2, nil, nil},
		{"id", "id,x,y\na,1,2\n\"b,c\",3,4\n", find, []float32{1, 2, 3, 4}, 2, []string{"a", "b,c"}, nil},
		{"id unasked", "id,x,y\n7,1,2\n8,3,4\n", &Options{Column: "x,y"}, []float32{1, 2, 3, 4}, 2, nil, []string{"id"}},
		{"id by name", "x,key,y\n1,a,2\n3,b,4\n", &Options{IDs: "key"}, []float32{1, 2, 3, 4}, 2, []string{"a", "b"}, nil},
		{"texts", "title,x,id,y,lang\nOne,1,7,2,en\nTwo,3,8,4,de\n", find, []float32{1, 2, 3, 4}, 2, []string{"7", "8"}, []string{"title", "lang"}},
		{"row numbers", ",x,y\n0,1,2\n1,3,4\n", find, []float32{1, 2, 3, 4}, 2, nil, []string{"the one without a name"}},
		{"columns by number", "id,0,1\na,1,2\nb,3,4\n", find, []float32{1, 2, 3, 4}, 2, []string{"a", "b"}, nil},
		{"arrays", "id,n,embedding\na,5,\"[1, 2]\"\nb,6,\"[3,4]\"\n", find, []float32{1, 2, 3, 4}, 2, []string{"a", "b"}, []string{"n"}},
		{"array by name", "u,v\n\"[9]\",\"[1, 2]\"\n\"[8]\",\"[3,4]\"\n", &Options{Column: "v"}, []float32{1, 2, 3, 4}, 2, nil, []string{"u"}},
		{"semicolons", "x;y\n1;2\n3;4\n", nil, []float32{1, 2, 3, 4}, 2, nil, nil},
		{"tabs", "5\t2\n3\t4\n", nil, []float32{5, 2, 3, 4}, 2, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.csv")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if diff := cmp.Diff(c.dropped, LayoutOf(r).Dropped); diff != "" {
				t.Error("dropped", diff)
			}
			m, err := Drain(t.Context(), r)
			if err != nil || m.Dim != c.dim || cmp.Diff(c.data, m.Data) != "" || cmp.Diff(c.ids, textsOf(m.IDs)) != "" {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestMalformedCSV(t *testing.T) {
	csv := func(name, text string, opt *Options, row, column int64, want string) malformed {
		return malformed{name, "a.csv", []byte(text), opt, row, column, want}
	}
	runMalformed(t, []malformed{
		csv("blank", "\n\n\n", nil, -1, -1, "only blank lines"),
		csv("header alone", "x,y\n", nil, -1, -1, "nothing below it"),
		csv("word", "x,y\n1,2\n3,four\n", nil, 1, 1, `line 3: y: "four" is no number`),
		csv("NaN", "5,2\n3,nan\n", nil, 1, 1, "line 2: value is NaN"),
		csv("infinite", "5,2\ninf,3\n", nil, 1, 0, "value is +Inf"),
		csv("large", "5,2\n1e39,3\n", nil, 1, 0, "beyond the range of float32"),
		csv("short row", "x,y\n1,2\n3\n", nil, 1, -1, "line 3: row has 1 fields, 2 are wanted"),
		csv("long row", "5,2\n3,4,5\n", nil, 1, -1, "row has 3 fields, the first has 2"),
		csv("short header", "x\n1,2\n", nil, 0, -1, "row has 2 fields, the header 1"),
		csv("quote", "5,2\n3,\"4\n", nil, 1, -1, `line 2: extraneous or missing " in quoted-field`),
		csv("no numbers", "x,y\na,b\n", nil, 0, -1, "no column of the first row is a number"),
		csv("two arrays", "u,v\n[1],[2]\n", nil, -1, -1, "several columns could be the vectors, Options.Column names one: u, v"),
		csv("array", "v\n\"[1,2]\"\n\"[1,x]\"\n", nil, 1, 1, "line 3"),
		csv("array of another length", "v\n\"[1,2]\"\n[1]\n", nil, 1, -1, "row has 1 columns, the first has 2"),
		csv("no such ids", "x,y\n1,2\n", &Options{IDs: "key"}, -1, -1, `no column "key" for the ids; the file has x, y`),
		csv("no such column", "x,y\n1,2\n", &Options{Column: "v"}, -1, -1, `no column "v"; the file has x, y`),
		csv("ids without header", "5,2\n", &Options{IDs: "id"}, -1, -1, "no header"),
		csv("empty id", "id,x\na,1\n,2\n", &Options{IDs: "id"}, 1, -1, "the id is empty"),
		csv("texts and no header", "film,1.5,2\nother,3,4\n", nil, 0, -1, "a header that names the columns is needed"),
	})
}

// TestCSVRowsAreBounded: an unclosed quote does not read the rest of the file into memory.
func TestCSVRowsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("holds a line of 256 MiB")
	}
	r := &endless{head: "5,2\n3,\""}
	c, err := NewReader(r, CSV, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, 4)
	if n, err := c.Read(dst); n != 1 || err == nil || !strings.Contains(err.Error(), fmt.Sprint("longer than ", (*Budget)(nil).of(-1).Row)) {
		t.Errorf("%d, %v", n, err)
	}
}

// endless reads head, then the letter a without end.
type endless struct{ head string }

func (e *endless) Read(p []byte) (int, error) {
	if n := copy(p, e.head); n > 0 {
		e.head = e.head[n:]
		return n, nil
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// TestFindIDs: a column or field called id is used if it can hold ids, and unused columns are
// listed.
func TestFindIDs(t *testing.T) {
	vectors := npyOf("<f4", "False", "(2, 1)", floats(1, 2))
	for _, c := range []struct {
		name, file string
		data       []byte
		ids        []string
		layout     Layout
	}{
		{"objects", "a.jsonl", []byte(`{"title":"x","v":[1],"id":7}` + "\n" + `{"id":8,"v":[2],"title":null}` + "\n"), []string{"7", "8"}, Layout{IDs: "id", Vector: []string{"v"}, Dropped: []string{"title"}}},
		{"vector called id", "a.jsonl", []byte(`{"id":[1]}` + "\n" + `{"id":[2]}` + "\n"), nil, Layout{Vector: []string{"id"}}},
		{"arrays", "a.jsonl", []byte("[1]\n[2]\n"), nil, Layout{}},
		{"integers", "a.npz", npzOf(t, map[string][]byte{"vectors": vectors, "ids": npyOf("<i8", "False", "(2,)", le64(7, 1<<64-8))}), []string{"7", "-8"}, Layout{IDs: "ids", Vector: []string{"vectors"}}},
		{"big-endian", "a.npz", npzOf(t, map[string][]byte{"atoms": vectors, "ids": npyOf(">i2", "False", "(2,)", []byte{0, 7, 1, 0})}), []string{"7", "256"}, Layout{IDs: "ids", Vector: []string{"atoms"}}},
		{"texts", "a.npz", npzOf(t, map[string][]byte{"vectors": vectors, "ids": npyOf("<U2", "False", "(2,)", join(le32('a'), le32(0), le32('b'), le32('ü')))}), []string{"a", "bü"}, Layout{IDs: "ids", Vector: []string{"vectors"}}},
		{"bytes", "a.npz", npzOf(t, map[string][]byte{"vectors": vectors, "year": npyOf("<i4", "False", "(2,)", le64(1)), "ids": npyOf("|S3", "False", "(2,)", []byte("ab\x00abc"))}), []string{"ab", "abc"}, Layout{IDs: "ids", Vector: []string{"vectors"}, Dropped: []string{"year"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path, &Options{FindIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if diff := cmp.Diff(c.layout, LayoutOf(r)); diff != "" {
				t.Error(diff)
			}
			m, err := Drain(t.Context(), r)
			if err != nil || cmp.Diff(c.ids, textsOf(m.IDs)) != "" || cmp.Diff([]float32{1, 2}, m.Data) != "" {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
	for name, file := range map[string]string{"Parquet": "list.parquet", "Arrow": "list.arrow"} {
		for _, find := range []bool{false, true} {
			r, err := Open(filepath.Join("testdata", file), &Options{FindIDs: find})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(name, LayoutOf(r))
			if l := LayoutOf(r); (l.IDs == "id") != find || find == (len(l.Dropped) > 0 && l.Dropped[0] == "id") {
				t.Errorf("%s: %+v", name, l)
			}
			r.Close()
		}
	}
}

func TestMalformedNPZIDs(t *testing.T) {
	vectors := npyOf("<f4", "False", "(2, 1)", floats(1, 2))
	npz := func(ids []byte) []byte { return npzOf(t, map[string][]byte{"vectors": vectors, "ids": ids}) }
	find := &Options{FindIDs: true}
	runMalformed(t, []malformed{
		{"floats", "a.npz", npz(npyOf("<f8", "False", "(2,)", le64(1, 2))), find, -1, -1, "ids are integers or texts"},
		{"too few", "a.npz", npz(npyOf("<i8", "False", "(1,)", le64(1))), find, -1, -1, "ids are one a row"},
		{"cut", "a.npz", npz(npyOf("<i8", "False", "(2,)", le64(1))), find, 1, -1, "truncated"},
		{"no character", "a.npz", npz(npyOf("<U1", "False", "(2,)", join(le32('a'), le32(0xd800)))), find, 1, -1, "no character"},
		{"no UTF-8", "a.npz", npz(npyOf("|S1", "False", "(2,)", []byte("a\xff"))), find, 1, -1, "no UTF-8"},
		{"endless", "a.npz", npz(npyOf("|S99999999", "False", "(2,)", nil)), find, -1, -1, "ids of 99999999 characters, at most 65536"},
		{"no array", "a.npz", npzOf(t, map[string][]byte{"vectors": vectors}), &Options{IDs: "keys"}, -1, -1, `no array "keys" for the ids; the file holds vectors`},
	})
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("id,x,y\na,1,2\n\"b,c\",3,4\n"))
	f.Add([]byte("1;2.5\n3;-4e-3\n"))
	f.Add([]byte("\xef\xbb\xbfid,v\n7,\"[1,2]\"\n8,\"[3,4]\"\n"))
	f.Add([]byte(",x,title\r\n0,1,\"a\"\"b\"\r\n"))
	fuzzVectors(f, CSV, &Options{FindIDs: true})
}

func FuzzNPZIDs(f *testing.F) {
	addFixtures(f, ".npz")
	fuzzVectors(f, NPZ, &Options{FindIDs: true})
}

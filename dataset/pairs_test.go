package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// somePairs are the pairs of testdata/pairs.npz.
var somePairs = []Pair{{0, 3, .5, .50000000001}, {0, 4, 1, 1}, {2, 3, -.25, -.25}, {3, 4, 0, math.NaN()}}

func eachPair(pairs []Pair) EachPair {
	return func(do func(p *Pair) error) error {
		for i := range pairs {
			if err := do(&pairs[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func writePairs(t *testing.T, format Format, pairs []Pair, table PairTable) []byte {
	t.Helper()
	table.Count = int64(len(pairs))
	var b bytes.Buffer
	if err := WritePairs(&b, format, eachPair(pairs), &table); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pairRow is a row of a Parquet file of pairs, namedPairRow of one with ids, sidedMemberRow of one of components.
type pairRow struct {
	A       int64    `parquet:"a"`
	B       int64    `parquet:"b"`
	Score   float32  `parquet:"score"`
	Score64 *float64 `parquet:"score64"`
}

type namedPairRow struct {
	A     int64   `parquet:"a"`
	B     int64   `parquet:"b"`
	Score float32 `parquet:"score"`
	AID   string  `parquet:"a_id,optional"`
	BID   string  `parquet:"b_id,optional"`
}

type sidedMemberRow struct {
	Side      string `parquet:"side,dict"`
	ID        string `parquet:"id,optional"`
	Row       int64  `parquet:"row"`
	Component int64  `parquet:"component"`
	Size      int64  `parquet:"size"`
	Keep      bool   `parquet:"keep"`
}

func TestPairsAsText(t *testing.T) {
	names := IDsOf([]string{"a", `b"`, "c,d", "e", "é"})
	for _, c := range []struct {
		format Format
		table  PairTable
		want   string
	}{
		{CSV, PairTable{}, "a,b,score,score64\n0,3,0.5,0.50000000001\n0,4,1,1\n2,3,-0.25,-0.25\n3,4,0,\n"},
		{CSV, PairTable{NamesA: names, NamesB: names}, "a,b,score,a_id,b_id,score64\n0,3,0.5,a,e,0.50000000001\n0,4,1,a,é,1\n2,3,-0.25,\"c,d\",e,-0.25\n3,4,0,e,é,\n"},
		{CSV, PairTable{NamesB: names}, "a,b,score,b_id,score64\n0,3,0.5,e,0.50000000001\n0,4,1,é,1\n2,3,-0.25,e,-0.25\n3,4,0,é,\n"},
		{JSONL, PairTable{}, `{"a":0,"b":3,"score":0.5,"score64":0.50000000001}
{"a":0,"b":4,"score":1,"score64":1}
{"a":2,"b":3,"score":-0.25,"score64":-0.25}
{"a":3,"b":4,"score":0}
`},
		{JSONL, PairTable{NamesA: names}, `{"a":0,"b":3,"score":0.5,"a_id":"a","score64":0.50000000001}
{"a":0,"b":4,"score":1,"a_id":"a","score64":1}
{"a":2,"b":3,"score":-0.25,"a_id":"c,d","score64":-0.25}
{"a":3,"b":4,"score":0,"a_id":"e"}
`},
	} {
		if d := cmp.Diff(c.want, string(writePairs(t, c.format, somePairs, c.table))); d != "" {
			t.Errorf("%s: %s", c.format, d)
		}
	}
}

func TestPairsAsParquet(t *testing.T) {
	const n = parquetGroup + 5000 // more than a row group
	many := make([]Pair, n)
	for i := range many {
		many[i] = Pair{int64(i / 7), int64(i), float32(i) / 4, float64(i) / 3}
	}
	file := writePairs(t, Parquet, many, PairTable{})
	rows, err := parquet.Read[pairRow](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != n {
		t.Fatalf("%d rows of %d", len(rows), n)
	}
	for i, r := range rows {
		if r.Score64 == nil || (Pair{r.A, r.B, r.Score, *r.Score64}) != many[i] {
			t.Fatalf("row %d is %v", i, r)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(f.RowGroups()); groups != 2 {
		t.Errorf("%d row groups", groups)
	}

	file = writePairs(t, Parquet, somePairs, PairTable{NamesB: IDsOf([]string{"", "", "", "x", "y"})})
	named, err := parquet.Read[namedPairRow](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := []namedPairRow{{0, 3, .5, "", "x"}, {0, 4, 1, "", "y"}, {2, 3, -.25, "", "x"}, {3, 4, 0, "", "y"}}
	if d := cmp.Diff(want, named); d != "" {
		t.Error(d)
	}
}

// TestPairsAsMatrix: the arrays are those of scipy.sparse.save_npz.
func TestPairsAsMatrix(t *testing.T) {
	file := writePairs(t, NPZ, somePairs, PairTable{RowsA: 4, RowsB: 5})
	want, err := os.ReadFile(filepath.Join("testdata", "pairs.npz"))
	if err != nil {
		t.Fatal(err)
	}
	got := arraysOf(t, file)
	scores64 := got[scores64Name+".npy"]
	delete(got, scores64Name+".npy") // beside those of scipy
	if d := cmp.Diff(arraysOf(t, want), got); d != "" {
		t.Error(d)
	}
	if len(scores64) < 32 || binary.LittleEndian.Uint64(scores64[len(scores64)-32:]) != math.Float64bits(.50000000001) {
		t.Errorf("scores64 is % x", scores64)
	}
}

func TestPairsMiscounted(t *testing.T) {
	err := WritePairs(io.Discard, NPZ, eachPair(somePairs), &PairTable{Count: 5})
	if err == nil || err.Error() != "array row: 4 pairs, not 5" {
		t.Error(err)
	}
	if err := WritePairs(io.Discard, IVecs, eachPair(somePairs), &PairTable{}); err == nil {
		t.Error("written as ivecs")
	}
}

// TestPairsErrors: the error of a source and that of the output are returned.
func TestPairsErrors(t *testing.T) {
	broken, full := errors.New("broken"), errors.New("full")
	members := func(do func(m *Member) error) error { return broken }
	for _, format := range []Format{CSV, JSONL, Parquet, NPZ} {
		each := func(do func(p *Pair) error) error { return broken }
		if err := WritePairs(io.Discard, format, each, &PairTable{}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
		if err := WritePairs(failing{full}, format, eachPair(somePairs), &PairTable{Count: 4}); !errors.Is(err, full) {
			t.Errorf("%s: %v", format, err)
		}
		if err := WriteComponents(io.Discard, format, members, &ComponentTable{}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
		if err := WriteComponents(failing{full}, format, eachMember(someMembers), &ComponentTable{Rows: 4}); !errors.Is(err, full) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// failing is a full disk.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var someMembers = []Member{
	{"a", 0, "x", 0, 2, 0, true},
	{"a", 1, "y", 1, 1, 1, true},
	{"b", 0, "", 0, 2, 0, false},
	{"b", 1, "z,", 3, 1, 2, true},
}

func eachMember(members []Member) EachMember {
	return func(do func(m *Member) error) error {
		for i := range members {
			if err := do(&members[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func writeMembers(t *testing.T, format Format, table ComponentTable) []byte {
	t.Helper()
	table.Rows = int64(len(someMembers))
	var b bytes.Buffer
	if err := WriteComponents(&b, format, eachMember(someMembers), &table); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestComponentsAsText(t *testing.T) {
	for _, c := range []struct {
		format Format
		table  ComponentTable
		want   string
	}{
		{CSV, ComponentTable{}, "row,component,size,keep\n0,0,2,true\n1,1,1,true\n0,0,2,false\n1,3,1,true\n"},
		{CSV, ComponentTable{Sides: true, Named: true}, "side,id,row,component,size,keep\na,x,0,0,2,true\na,y,1,1,1,true\nb,,0,0,2,false\nb,\"z,\",1,3,1,true\n"},
		{JSONL, ComponentTable{Named: true}, `{"id":"x","row":0,"component":0,"size":2,"keep":true}
{"id":"y","row":1,"component":1,"size":1,"keep":true}
{"id":"","row":0,"component":0,"size":2,"keep":false}
{"id":"z,","row":1,"component":3,"size":1,"keep":true}
`},
		{JSONL, ComponentTable{Sides: true}, `{"side":"a","row":0,"component":0,"size":2,"keep":true}
{"side":"a","row":1,"component":1,"size":1,"keep":true}
{"side":"b","row":0,"component":0,"size":2,"keep":false}
{"side":"b","row":1,"component":3,"size":1,"keep":true}
`},
	} {
		if d := cmp.Diff(c.want, string(writeMembers(t, c.format, c.table))); d != "" {
			t.Errorf("%s: %s", c.format, d)
		}
	}
}

func TestComponentsAsParquet(t *testing.T) {
	columns := func(file []byte) (names []string) {
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Root().Columns() {
			names = append(names, c.Name())
		}
		return names
	}
	for _, c := range []struct {
		table ComponentTable
		want  []string
	}{
		{ComponentTable{}, []string{"row", "component", "size", "keep"}},
		{ComponentTable{Named: true}, []string{"id", "row", "component", "size", "keep"}},
		{ComponentTable{Sides: true, Named: true}, []string{"side", "id", "row", "component", "size", "keep"}},
	} {
		file := writeMembers(t, Parquet, c.table)
		if d := cmp.Diff(c.want, columns(file)); d != "" {
			t.Error(d)
		}
	}
	file := writeMembers(t, Parquet, ComponentTable{Sides: true, Named: true})
	rows, err := parquet.Read[sidedMemberRow](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range someMembers {
		if want := (sidedMemberRow{m.Side, m.Name, m.Row, m.Component, m.Size, m.Keep}); rows[i] != want {
			t.Errorf("row %d: %v, want %v", i, rows[i], want)
		}
	}
}

// TestComponentsAsArrays: the labels are those that numpy saves of
// scipy.sparse.csgraph.connected_components.
func TestComponentsAsArrays(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "labels.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if got := writeMembers(t, NPY, ComponentTable{}); !bytes.Equal(want, got) {
		t.Errorf("%q, want %q", got, want)
	}
	arrays := arraysOf(t, writeMembers(t, NPZ, ComponentTable{}))
	labels := arrays["labels.npy"]
	if d := cmp.Diff(want, labels); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{"component.npy": "\x00\x01\x00\x03", "size.npy": "\x02\x01\x02\x01"} {
		var got []byte
		for i := range 4 {
			a := arrays[name]
			got = append(got, a[len(a)-32+8*i])
		}
		if string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if keep := arrays["keep.npy"]; string(keep[len(keep)-4:]) != "\x01\x01\x00\x01" {
		t.Errorf("keep: %q", keep)
	}
}

// arraysOf returns the files of an npz.
func arraysOf(t *testing.T, file []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if arrays[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return arrays
}

package dataset

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func wideBytes(vs ...float64) []byte {
	var b []byte
	for _, v := range vs {
		b = append(b, le64(math.Float64bits(v))...)
	}
	return b
}

// TestOpenFiles: files that are read as one have the rows, ids and changes of one that holds all rows.
func TestOpenFiles(t *testing.T) {
	f8 := func(rows int, values ...float64) []byte {
		return npyOf("<f8", "False", fmt.Sprintf("(%d, 2)", rows), wideBytes(values...))
	}
	files := map[string][]byte{
		"w/1.npy": f8(1, 1e6+.1, 2), "w/2.npy": f8(2, 1e6+.2, 3, 1e6+.3, 4), "w/10.npy": f8(1, 1e6+.4, 5), "w.npy": f8(4, 1e6+.1, 2, 1e6+.2, 3, 1e6+.3, 4, 1e6+.4, 5),
		"b/1.bvecs": join(le32(2), []byte{1, 2}), "b/2.bvecs": join(le32(2), []byte{3, 4}, le32(2), []byte{5, 6}), "b.bvecs": join(le32(2), []byte{1, 2}, le32(2), []byte{3, 4}, le32(2), []byte{5, 6}),
		"c/1.csv": []byte("id,x,y\na,1,2.1\n"), "c/2.csv": []byte("y,id,x\n4,b,3\n6,c,5\n"), "c.csv": []byte("id,x,y\na,1,2.1\nb,3,4\nc,5,6\n"),
		"j/1.jsonl": []byte("{\"id\":1,\"v\":[1,2]}\n"), "j/2.jsonl": []byte("{\"id\":2,\"v\":[3,4]}\n"), "j.jsonl": []byte("{\"id\":1,\"v\":[1,2]}\n{\"id\":2,\"v\":[3,4]}\n"),
		"q/1.npy": npyOf("<f4", "False", "(2,)", floats(1, 2)), "q/2.npy": npyOf("<f4", "False", "(2,)", floats(3, 4)), "q.npy": npyOf("<f4", "False", "(2, 2)", floats(1, 2, 3, 4)),
	}
	zipped := func(ids, vectors []byte) []byte { return npzOf(t, map[string][]byte{"ids": ids, "v": vectors}) }
	whole := func(shape string, v ...uint64) []byte { return npyOf("<i8", "False", shape, le64(v...)) }
	files["z/1.npz"], files["z/2.npz"] = zipped(whole("(1,)", 7), f8(1, 1e6+.1, 2)), zipped(whole("(2,)", 8, 9), f8(2, 1e6+.2, 3, 1e6+.3, 4))
	files["z.npz"] = zipped(whole("(3,)", 7, 8, 9), f8(3, 1e6+.1, 2, 1e6+.2, 3, 1e6+.3, 4))
	inFolder(t, files)
	for _, c := range []struct {
		folder, whole string
		opt           Options
	}{
		{"w", "w.npy", Options{}},
		{"w", "w.npy", Options{Centre: true}},
		{"w", "w.npy", Options{Origin: []float64{1, 1}}},
		{"b", "b.bvecs", Options{}},
		{"b", "b.bvecs", Options{Origin: []float64{1, 1}}},
		{"c", "c.csv", Options{FindIDs: true}},
		{"c", "c.csv", Options{FindIDs: true, OneRow: true, Like: []string{"y", "x"}}},
		{"j", "j.jsonl", Options{IDs: "id"}},
		{"z", "z.npz", Options{FindIDs: true}},
		{"z", "z.npz", Options{}},
		{"q", "q.npy", Options{OneRow: true}},
	} {
		t.Run(fmt.Sprintf("%s %+v", c.folder, c.opt), func(t *testing.T) {
			set, err := FindFiles(c.folder)
			if err != nil {
				t.Fatal(err)
			}
			var read [2]*Matrix
			var readers [2]Reader
			for i, paths := range [][]string{{c.whole}, set.Paths()} {
				r, err := OpenFiles(paths, &c.opt)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if read[i], err = Drain(context.Background(), KeepRests(r)); err != nil {
					t.Fatal(err)
				}
				if n := r.Len(); n >= 0 && n != int64(read[i].Rows) {
					t.Errorf("Len is %d of %d rows", n, read[i].Rows)
				}
				readers[i] = r
			}
			if diff := gocmp.Diff(read[0], read[1], gocmp.Comparer(sameIDs)); diff != "" {
				t.Errorf("(-one +several)\n%s", diff)
			}
			if one, several := readers[0], readers[1]; ChangeOf(one) != ChangeOf(several) || !slices.Equal(OriginOf(one), OriginOf(several)) || one.Len() != several.Len() {
				t.Errorf("%v from %v, %d rows, and as several files %v from %v, %d rows", ChangeOf(one), OriginOf(one), one.Len(), ChangeOf(several), OriginOf(several), several.Len())
			}
		})
	}
}

func sameIDs(a, b *IDs) bool {
	if a == nil || b == nil {
		return a == b
	}
	for row := range int64(a.Len()) {
		if a.Len() != b.Len() || a.Text(row) != b.Text(row) {
			return false
		}
	}
	return a.Len() == b.Len()
}

// TestEmptyParts: of several files those of Parquet and Arrow without rows are passed over, unless all are.
func TestEmptyParts(t *testing.T) {
	text := func(s string) *string { return &s }
	inFolder(t, map[string][]byte{
		"none.parquet": parquetOf(t), "a.parquet": parquetOf(t, optional{text("a"), pointers(1, 2)}), "b.parquet": parquetOf(t, optional{text("b"), pointers(3, 4)}),
		"none.arrows": arrowWith(t, 0, 0, 2, "c", false), "c.arrows": arrowWith(t, 1, 1, 2, "c", false),
	})
	for names, want := range map[string]string{
		"none.parquet a.parquet none.parquet b.parquet": "[1 2 3 4] a b",
		"b.parquet none.parquet":                        "[3 4] b",
		"none.parquet none.parquet":                     "none.parquet: no rows: the file is empty",
		"none.arrows c.arrows":                          "[0 0] c",
	} {
		files := strings.Fields(names)
		given := strings.Join(files, " ")
		r, err := OpenFiles(files, &Options{FindIDs: true})
		got := fmt.Sprint(err)
		if err == nil {
			m, err := Drain(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(m.Data)
			for row := range int64(m.IDs.Len()) {
				got += " " + m.IDs.Text(row)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got != want || strings.Join(files, " ") != given {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

func TestRefusedSets(t *testing.T) {
	f4 := func(shape string, values ...float32) []byte { return npyOf("<f4", "False", shape, floats(values...)) }
	nan := float32(math.NaN())
	inFolder(t, map[string][]byte{
		"a.npy": f4("(2, 2)", 1, 2, 3, 4), "three.npy": f4("(1, 3)", 1, 2, 3), "none.npy": f4("(0, 2)"), "empty.npy": nil, "cube.npy": f4("(1, 2, 1)", 1, 2), "nan.npy": f4("(2, 2)", 1, 2, nan, 4),
		"wide.npy": npyOf("<f8", "False", "(1, 2)", wideBytes(1, 2)), "brain.npy": npyOf("<V2", "False", "(1, 2)", []byte{0, 0, 0, 0}), "half.npy": npyOf("<f2", "False", "(1, 2)", []byte{0, 0, 1, 0x7e}),
		"far.npy": npyOf("<f8", "False", "(2, 2)", wideBytes(1, 2, 3, 1e39)), "a.csv": []byte("id,x,y\na,1,2\nb,3,4\n"), "bare.csv": []byte("9,8\n"), "xz.csv": []byte("x,z\n1,2\n"), "noids.csv": []byte("x,y\n1,2\n"),
		"again.csv": []byte("id,x,y\nc,1,2\nb,3,4\n"), "twice.csv": []byte("id,x,y\nc,1,2\nc,3,4\n"), "ragged.csv": []byte("id,x,y\nc,1\n"), "inf.csv": []byte("id,x,y\nc,1,2\nd,3,inf\n"),
		"v.jsonl": []byte("{\"v\":[1,2]}\n"), "w.jsonl": []byte("{\"w\":[1,2]}\n"),
	})
	for names, c := range map[string]struct {
		file     string
		row, col int64
		want     string
	}{
		"a.npy three.npy":    {"three.npy", -1, -1, "has vectors of dimension 3, a.npy of dimension 2"},
		"a.npy wide.npy":     {"wide.npy", -1, -1, "holds float64, a.npy holds float32"},
		"brain.npy half.npy": {"half.npy", -1, -1, "holds float16, brain.npy holds bfloat16"},
		"half.npy half.npy":  {"half.npy", 0, 1, "value is NaN"},
		"a.npy none.npy":     {"none.npy", -1, -1, "no rows"},
		"a.npy empty.npy":    {"empty.npy", -1, -1, "is empty"},
		"a.npy cube.npy":     {"cube.npy", -1, -1, "3-dimensional"},
		"a.npy nan.npy":      {"nan.npy", 1, 0, "value is NaN"},
		"a.npy missing.npy":  {"missing.npy", -1, -1, "no such file"},
		"wide.npy far.npy":   {"far.npy", 1, 1, "beyond the range of float32"},
		"far.npy wide.npy":   {"far.npy", 1, 1, "beyond the range of float32"},
		"a.csv bare.csv":     {"bare.csv", -1, -1, "has no header, and a.csv has a header: Options.Header decides for all files"},
		"noids.csv xz.csv":   {"xz.csv", -1, -1, "the vectors are x, z, those of noids.csv are x, y: Options.Column names those of all files"},
		"a.csv noids.csv":    {"noids.csv", -1, -1, "has no ids, and a.csv has ids in id"},
		"a.csv again.csv":    {"again.csv", 1, -1, `has the id "b", which row 1 of a.csv has already`},
		"a.csv twice.csv":    {"twice.csv", 1, -1, `has the id "c", which row 0 has already`},
		"a.csv ragged.csv":   {"ragged.csv", 0, -1, ""},
		"a.csv inf.csv":      {"inf.csv", 1, -1, ""},
		"v.jsonl w.jsonl":    {"w.jsonl", -1, -1, "the vectors are w, those of v.jsonl are v: Options.Column names those of all files"},
	} {
		t.Run(names, func(t *testing.T) {
			r, err := OpenFiles(strings.Fields(names), &Options{FindIDs: true})
			if err == nil {
				defer r.Close()
				_, err = Drain(context.Background(), r)
			}
			if c.want == "" { // the format says what is wrong
				if err == nil || !strings.Contains(err.Error(), c.file) {
					t.Errorf("%v, which does not name %s", err, c.file)
				}
				return
			}
			checkError(t, nil, err, c.file, c.row, c.col, c.want)
		})
	}
	if _, err := OpenFiles(nil, nil); err == nil {
		t.Error("no files are read")
	}
}

// TestPlacedErrors: an error of a row among all names the row of its file.
func TestPlacedErrors(t *testing.T) {
	inFolder(t, map[string][]byte{"a.csv": []byte("id,x,y\n1,1,2\n2,3,4\n"), "b.csv": []byte("id,x,y\n3,1,2\n-4,3,4\n")})
	r, err := OpenFiles([]string{"a.csv", "b.csv"}, &Options{FindIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := Drain(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, nil, Placed(r, CheckIDs("both", m.IDs)), "b.csv", 1, -1, "id -4 is negative")
	if n, err := r.Read(make([]float32, 2)); n != 0 || err != io.EOF {
		t.Errorf("after the last row: %d, %v", n, err)
	}
}

func TestNumbersOfFiles(t *testing.T) {
	inFolder(t, map[string][]byte{"a.csv": []byte("k,x\n1,1\n2,3\n"), "b.csv": []byte("k,x\n5,1\n"), "c.csv": []byte("x\n5\n")})
	r, err := OpenNumbersOf([]string{"a.csv", "b.csv"}, nil, "k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []float64{1, 2, 5} {
		if row, err := r.Next(); err != nil || row[0] != want {
			t.Fatalf("%v, %v, not %v", row, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the last row: %v", err)
	}
	r, err = OpenNumbersOf([]string{"a.csv", "c.csv"}, nil, "k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	checkError(t, nil, err, "c.csv", -1, -1, `no column "k"`)
}

// TestManyIDs: ids of several files are found again when their table has grown.
func TestManyIDs(t *testing.T) {
	s := newIDsSeen()
	for i := range 3000 {
		if _, ok := s.add(fmt.Sprint(i)); !ok {
			t.Fatalf("id %d is there before it is added", i)
		}
	}
	for _, i := range []int64{0, 1023, 2999} {
		if first, ok := s.add(fmt.Sprint(i)); ok || first != i {
			t.Errorf("id %d is new, or that of row %d", i, first)
		}
	}
}

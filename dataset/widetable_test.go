package dataset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// writeWide writes a table of n rows with the text column id, the text note and the numbers d2, d0 and d1, which differ in type, with a null
// in d0 of one row if that is not negative.
func writeWide(t *testing.T, path string, n, null int) {
	t.Helper()
	columns := []ValueColumn{{"d2", FloatValue}, {"id", TextValue}, {"d0", SingleValue}, {"note", TextValue}, {"d1", IntegerValue}}
	each := func(do func(row []Value) error) error {
		for i := range n {
			row := []Value{
				{Kind: FloatValue, Float: 1/float64(i+1) + 3}, {Kind: TextValue, Text: fmt.Sprint("row ", i)}, {Kind: SingleValue, Float: float64(i) / 4},
				{Kind: TextValue, Text: "7"}, {Kind: IntegerValue, Integer: int64(i - 5)},
			}
			if i == null {
				row[2] = Value{}
			}
			if err := do(row); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	format, _ := FormatOf(path)
	if err := errors.Join(WriteValues(f, format, columns, nil, each), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWideTables: a table with a column for each coordinate is read as comma-separated values of the same columns are.
func TestWideTables(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	for _, ending := range []string{".csv", ".parquet", ".arrow", ".arrows"} {
		writeWide(t, path("a"+ending), 3*blockRows+7, -1)
	}
	for _, opt := range []Options{
		{FindIDs: true, Except: []string{"note"}},
		{FindIDs: true, Column: "d[0-9]*"},
		{FindIDs: true, Column: "d0,d1,d2"},
		{Column: "d1"},
		{IDs: "note", Column: "d?", Centre: true},
		{FindIDs: true, IgnoreIDs: true, Column: "d*"},
		{FindIDs: true, OneRow: true, Except: []string{"note"}, Like: []string{"d0", "d1", "d2"}},
		{FindIDs: true, Column: "d?", Origin: []float64{1, 2, 3}},
	} {
		want, err := ReadAll(t.Context(), path("a.csv"), &opt)
		if err != nil {
			t.Fatal(err)
		}
		said := layoutOf(t, path("a.csv"), &opt)
		said.Header = ""
		for _, ending := range []string{".parquet", ".arrow", ".arrows"} {
			got, err := ReadAll(t.Context(), path("a"+ending), &opt)
			if err != nil {
				t.Fatalf("%s, %+v: %v", ending, opt, err)
			}
			if diff := cmp.Diff(want, got, byText); diff != "" {
				t.Errorf("%s, %+v: %s", ending, opt, diff)
			}
			if diff := cmp.Diff(said, layoutOf(t, path("a"+ending), &opt)); diff != "" {
				t.Errorf("%s, %+v: %s", ending, opt, diff)
			}
		}
	}
}

func layoutOf(t *testing.T, path string, opt *Options) Layout {
	t.Helper()
	r, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return LayoutOf(r)
}

// TestWideTableNull: a null is an error of its row and coordinate, and the rows before it are read.
func TestWideTableNull(t *testing.T) {
	for _, ending := range []string{".parquet", ".arrow"} {
		path := filepath.Join(t.TempDir(), "a"+ending)
		writeWide(t, path, 2*blockRows, blockRows+3)
		r, err := Open(path, &Options{FindIDs: true, Column: "d?"})
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float32, 3*2*blockRows)
		n, err := r.Read(dst)
		if err == nil {
			n2, err2 := r.Read(dst[3*n:])
			n, err = n+n2, err2
		}
		if n != blockRows+3 || dst[3*(n-1)+1] != float32(n-1)/4 {
			t.Errorf("%s: %d rows, the last %v", ending, n, dst[3*(n-1):3*n])
		}
		checkError(t, nil, err, path, blockRows+3, 1, "d0: is null, and every coordinate has a value")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWideTableTypes: coordinates of one type keep it, and those of several are read as float64.
func TestWideTableTypes(t *testing.T) {
	type bytes struct {
		A0 uint8 `parquet:"a0"`
		A1 uint8 `parquet:"a1"`
	}
	type longs struct {
		A0 int64 `parquet:"a0"`
		A1 int64 `parquet:"a1"`
	}
	type mixed struct {
		A0 int64    `parquet:"a0"`
		A1 *float64 `parquet:"a1"`
		A2 uint16   `parquet:"a2"`
	}
	tenth := .1
	for _, c := range []struct {
		name, kind string
		path       string
		values     []float32
		says       string
	}{
		{"bytes", "uint8", parquetFileOf(t, bytes{0, 255}), []float32{0, 255}, ""},
		{"int64", "int64", parquetFileOf(t, longs{1 << 24, -3}), []float32{1 << 24, -3}, ""},
		{"beyond 2^24", "int64", parquetFileOf(t, longs{1<<24 + 1, 0}), nil, "integer 16777217 cannot be held by float32 exactly"},
		{"beyond 2^53", "int64", parquetFileOf(t, longs{0, 1<<53 + 1}), nil, "a1: integer 9007199254740993 is beyond 2^53"},
		{"mixed", "float64", parquetFileOf(t, mixed{1<<24 + 1, &tenth, 65535}), []float32{1 << 24, float32(.1), 65535}, ""},
		{"not finite", "float64", parquetFileOf(t, struct {
			A0 float64 `parquet:"a0"`
		}{math.NaN()}), nil, "a0: value is NaN"},
	} {
		r, err := Open(c.path, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := TypeOf(r); got != c.kind {
			t.Errorf("%s: type %s, want %s", c.name, got, c.kind)
		}
		m, err := Drain(t.Context(), r)
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: error %v lacks %q", c.name, err, c.says)
		case c.says == "" && (err != nil || !slices.Equal(m.Data, c.values)):
			t.Errorf("%s: %v (%v), want %v", c.name, m, err, c.values)
		}
	}
}

// parquetFileOf writes rows to a file of Parquet.
func parquetFileOf[T any](t *testing.T, rows ...T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWideTableFiles: files of a folder are one table, whose columns may stand in another order, and have no other.
func TestWideTableFiles(t *testing.T) {
	first := parquetFileOf(t, struct {
		A float32 `parquet:"x"`
		B float32 `parquet:"y"`
	}{1, 2})
	turned := parquetFileOf(t, struct {
		A float32 `parquet:"y"`
		B float32 `parquet:"x"`
	}{4, 3})
	r, err := OpenFiles([]string{first, turned}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Drain(t.Context(), r); err != nil || !slices.Equal(m.Data, []float32{1, 2, 3, 4}) {
		t.Errorf("%v, error %v", m, err)
	}
	other := parquetFileOf(t, struct {
		A float32 `parquet:"x"`
		B float32 `parquet:"z"`
	}{4, 3})
	if _, err := OpenFiles([]string{first, other}, nil); err == nil || !strings.Contains(err.Error(), "the vectors are x, z, those of "+first+" are x, y") {
		t.Errorf("other columns: %v", err)
	}
}

// TestWideTableBudget: pages of all columns are decoded at once, and counted together.
func TestWideTableBudget(t *testing.T) {
	type row struct {
		A, B, C, D float64
	}
	path := parquetFileOf(t, make([]row, 4096)...)
	one := int64(4096 * 8)
	if _, err := ReadAll(t.Context(), path, &Options{Budget: &Budget{Block: 6 * one}}); err != nil {
		t.Error(err)
	}
	_, err := ReadAll(t.Context(), path, &Options{Budget: &Budget{Block: 3 * one, Word: "--my-limit"}})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Word != "--my-limit" || !strings.Contains(err.Error(), "a page of each of the columns") {
		t.Errorf("error %v", err)
	}
}

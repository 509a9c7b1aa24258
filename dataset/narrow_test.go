package dataset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"thresher/internal/draws"
)

func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		src, origin []float64
		want        []float32
		change      Change
		bad         int
	}{
		{[]float64{1, -2.5, 0}, nil, []float32{1, -2.5, 0}, Change{}, -1},
		{[]float64{1 << 24, 1<<24 + 1}, nil, []float32{1 << 24, 1 << 24}, Change{1, 1}, -1},
		{[]float64{1 << 24, 1<<24 + 1}, []float64{1 << 24, 1 << 24}, []float32{0, 1}, Change{}, -1},
		{[]float64{1e-60}, nil, []float32{0}, Change{1, 1e-60}, -1},
		{[]float64{0, 1e39}, nil, nil, Change{}, 1},
		{[]float64{math.NaN()}, nil, nil, Change{}, 0},
		{[]float64{2e38}, []float64{-2e38}, nil, Change{}, 0},
		{[]float64{1e-30}, []float64{4}, []float32{-4}, Change{1, 1e-30}, -1}, // lost in the difference
	} {
		dst := make([]float32, len(c.src))
		got, bad := Narrow(dst, c.src, c.origin)
		if bad != c.bad || bad < 0 && (got != c.change || !slices.Equal(dst, c.want)) {
			t.Errorf("%v less %v: %v, %+v, bad %d; want %v, %+v, %d", c.src, c.origin, dst, got, bad, c.want, c.change, c.bad)
		}
	}
}

// TestChooseOrigin: columns far from zero have one near them, which float32 values survive exactly.
func TestChooseOrigin(t *testing.T) {
	r := draws.Rand(21)
	const n, dim = 500, 4
	rows := make([]float64, n*dim)
	for i := range n {
		row := rows[i*dim:]
		row[0], row[1], row[2], row[3] = r.NormFloat64(), 1e6+r.NormFloat64(), float64(float32(-300+10*r.Float64())), 42
	}
	rows[1], rows[dim+1] = -1e9, 1e12 // outliers
	o := ChooseOrigin(rows, dim)
	if o == nil || o[0] != 0 || math.Abs(o[1]-1e6) > 16 || math.Abs(o[2]+295) > 16 || o[3] != 42 {
		t.Fatalf("origin %v", o)
	}
	for i := range n {
		if x := rows[i*dim+2] - o[2]; float64(float32(x)) != x {
			t.Fatalf("%v was held by float32, %v is not", rows[i*dim+2], x)
		}
	}
	if o := ChooseOrigin(rows[:0], dim); o != nil {
		t.Errorf("no rows have origin %v", o)
	}
	if o := ChooseOrigin([]float64{1, 2, 3, -1, -2, -3}, 3); o != nil {
		t.Errorf("rows around zero have origin %v", o)
	}
}

// farFiles are the same three rows, 2^24+1 above their differences, in formats whose numbers float32 does not hold.
func farFiles(t *testing.T) map[string][]byte {
	text, lines, values := &strings.Builder{}, &strings.Builder{}, []uint64{}
	for i := range 3 {
		row := []string{}
		for j := range 2 {
			x := 1e9 + float64(3*i+j)
			row = append(row, fmt.Sprintf("%.0f", x))
			values = append(values, math.Float64bits(x))
		}
		fmt.Fprintln(text, strings.Join(row, ","))
		fmt.Fprintf(lines, "[%s]\n", strings.Join(row, ","))
	}
	var packed bytes.Buffer
	w := parquet.NewGenericWriter[doubles](&packed)
	_, err := w.Write([]doubles{{[]float64{1e9, 1e9 + 1}}, {[]float64{1e9 + 3, 1e9 + 4}}, {[]float64{1e9 + 6, 1e9 + 7}}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	columns := []uint64{values[0], values[2], values[4], values[1], values[3], values[5]}
	return map[string][]byte{
		"a.parquet": packed.Bytes(),
		"a.arrows":  arrowOf(t, pointers64(1e9, 1e9+1), pointers64(1e9+3, 1e9+4), pointers64(1e9+6, 1e9+7)),
		"f.npy":     npyOf("<f8", "True", "(3, 2)", le64(columns...)),
		"a.csv":     []byte(text.String()), "a.jsonl": []byte(lines.String()),
		"a.npy": npyOf("<f8", "False", "(3, 2)", le64(values...)),
	}
}

// doubles is a row of a Parquet file.
type doubles struct {
	Vec []float64 `parquet:"vec,list"`
}

// TestChangesAreCounted reads numbers that float32 does not hold: as they are, relative to an origin of
// their own, and to a given one.
func TestChangesAreCounted(t *testing.T) {
	for name, data := range farFiles(t) {
		for _, c := range []struct {
			opt    Options
			first  float32 // the first value
			origin bool
			exact  bool
		}{
			{Options{}, 1e9, false, false},
			{Options{Centre: true}, -4, true, true},
			{Options{Origin: []float64{1e9 - 1, 1e9}}, 1, true, true},
		} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path, &c.opt)
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]float32, 6)
			n, err := r.Read(rows)
			if n != 3 || err != nil && err != io.EOF || rows[0] != c.first {
				t.Errorf("%s %+v: %d rows %v, %v", name, c.opt, n, rows, err)
			}
			change, each := ChangeOf(r), RowChanges(r)
			if (OriginOf(r) != nil) != c.origin || (change == Change{}) != c.exact || len(each) != 3 || slices.Max(each) != change.Largest {
				t.Errorf("%s %+v: origin %v, change %+v, of rows %v", name, c.opt, OriginOf(r), change, each)
			}
			if !c.exact && change != (Change{5, 7}) {
				t.Errorf("%s: change %+v", name, change)
			}
		}
	}
}

// TestFloat32IsAsItWas: files that float32 holds are never given an origin, nor copied through float64.
func TestFloat32IsAsItWas(t *testing.T) {
	data := npyOf("<f4", "False", "(2, 2)", floats(1e9, 1e9, 1e9+64, 1e9))
	r, err := NewReader(bytes.NewReader(data), NPY, "a", &Options{Centre: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sourceOf(r).(*dense); !ok || narrowingOf(r) != nil || OriginOf(r) != nil || RowChanges(r) != nil {
		t.Errorf("%T", r)
	}
	// Queries of a collection with an origin are relative to it, whatever their type.
	r, err = NewReader(bytes.NewReader(data), NPY, "a", &Options{Origin: []float64{1e9, 1e9 + 1}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Drain(context.Background(), r)
	if err != nil || !slices.Equal(m.Data, []float32{0, -1, 64, -1}) {
		t.Errorf("%v, %v", m, err)
	}
}

// TestWholeNumbersAreNotRounded refuses integers that float32 does not hold, unless an origin makes them fit.
func TestWholeNumbersAreNotRounded(t *testing.T) {
	data := npyOf("<i8", "False", "(3, 1)", le64(1<<40, 1<<40+1, 1<<40+2))
	m, _, err := readBytes(t, "a.npy", data, nil)
	checkError(t, m, err, err.(*Error).File, 1, 0, "integer 1099511627777 cannot be held by float32 exactly; given as float64 it is rounded")
	m, _, err = readBytes(t, "a.npy", data, &Options{Centre: true})
	if err != nil || m.Data[1]-m.Data[0] != 1 || m.Data[2]-m.Data[1] != 1 {
		t.Errorf("%v, %v", m, err)
	}
}

// TestNarrowedRowsKeepTheirIDs reads many rows with ids, a few at a time, across blocks.
func TestNarrowedRowsKeepTheirIDs(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,x,y\n")
	const n = 3*narrowBlock/2 + 11
	for i := range n {
		fmt.Fprintf(&text, "r%d,%d.1,7\n", i, i)
	}
	r, err := NewReader(strings.NewReader(text.String()), CSV, "a", &Options{IDs: "id"})
	if err != nil {
		t.Fatal(err)
	}
	rows, at := make([]float32, 2*1000), 0
	for {
		got, err := r.Read(rows)
		for i := range got {
			if want := fmt.Sprintf("r%d", at); r.IDs()[i] != want || rows[2*i] != float32(float64(at)+.1) {
				t.Fatalf("row %d: id %s, %v", at, r.IDs()[i], rows[2*i])
			}
			at++
		}
		if len(r.IDs()) != got || len(RowChanges(r)) != got {
			t.Fatalf("%d ids and %d changes of %d rows", len(r.IDs()), len(RowChanges(r)), got)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := ChangeOf(r); at != n || c.Values < n-1 || c.Largest > 1./128 {
		t.Errorf("%d rows, change %+v", at, c)
	}
}

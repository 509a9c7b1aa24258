package collection

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"thresher/dataset"
)

// halves are three rows of two coordinates in binary16: 1, 2, -1, .5, 0 and 3.
var halves = []uint16{0x3c00, 0x4000, 0xbc00, 0x3800, 0, 0x4200}

func vectorsOf16(t *testing.T, e dataset.Elem, values []uint16) dataset.Vectors {
	t.Helper()
	data, _ := heap{}.bytes("", int64(2*len(values)))
	for i, u := range values {
		data[2*i], data[2*i+1] = byte(u), byte(u>>8)
	}
	v, err := dataset.NewVectors(e, 2, data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTypedFile: a file keeps the type of rows, and Stat says it; the file of a collection in memory is the same.
func TestTypedFile(t *testing.T) {
	v := vectorsOf16(t, dataset.ElemFloat16, halves)
	for _, metric := range metrics {
		path := filepath.Join(t.TempDir(), "halves.thresher")
		c, err := Create(t.Context(), path, v.Reader(), false, &Options{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		if c.Elem() != dataset.ElemFloat16 || c.Rows != nil || !slices.Equal(c.Vectors.Bytes(), v.Bytes()) {
			t.Errorf("%v: rows % x of %v", metric, c.Vectors.Bytes(), c.Elem())
		}
		want := []float32{1, 2, -1, .5, 0, 3}
		if !slices.Equal(c.Floats(), want) || !slices.Equal(c.Row(1), want[2:4]) || c.Coordinate(2, 1) != 3 {
			t.Errorf("%v: rows %v, row 1 %v", metric, c.Floats(), c.Row(1))
		}
		i, err := Stat(path)
		if err != nil || i.Elem != dataset.ElemFloat16 || i.Version != typedVersion || i.Sections["rows"] != 12 {
			t.Errorf("%v: %+v, %v", metric, i, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFloat32FilesStay: files of float32 rows have the version that they had before there were others.
func TestFloat32FilesStay(t *testing.T) {
	v, err := dataset.VectorsOf([]float32{1, 2, 3, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for metric, version := range map[Metric]int{InnerProduct: fileVersion, Euclidean: nearVersion} {
		path := filepath.Join(t.TempDir(), "floats.thresher")
		c, err := Create(t.Context(), path, v.Reader(), false, &Options{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := Stat(path); err != nil || i.Version != version || i.Elem != dataset.ElemFloat32 || c.Rows == nil {
			t.Errorf("%v: %+v, %v", metric, i, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTypedRowsAreRefused: values that are not finite and types that are not kept are named.
func TestTypedRowsAreRefused(t *testing.T) {
	for name, values := range map[string][]uint16{"infinite": {1, 2, 3, 0xfc00, 0, 0}, "not a number": {1, 2, 3, 0x7e00, 0, 0}} {
		_, err := BuildVectors(t.Context(), vectorsOf16(t, dataset.ElemFloat16, values), &Options{Metric: Cosine})
		var at *RowError
		if !errors.As(err, &at) || at.Row != 1 || at.Column != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := BuildVectors(t.Context(), vectorsOf16(t, dataset.ElemBFloat16, []uint16{1, 2, 3, 0x7f80, 0, 0}), &Options{Metric: Euclidean})
	var at *RowError
	if !errors.As(err, &at) || at.Row != 1 || at.Column != 1 {
		t.Errorf("bfloat16: %v", err)
	}
}

// TestFloat64File: a file keeps rows of float64 if it is asked to, in a version of its own, with an origin where
// distances need one; float32 rows are made of them relative to it.
func TestFloat64File(t *testing.T) {
	given := []float64{1e6 + .125, 1e6 + .1, 1e6, 1e6 + .5, 1e6 - .25, 1e6}
	doubles, err := dataset.VectorsOf(given, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range metrics {
		path := filepath.Join(t.TempDir(), "doubles.thresher")
		c, err := Create(t.Context(), path, doubles.Reader(), false, &Options{Metric: metric, Elem: dataset.ElemFloat64})
		if err != nil {
			t.Fatal(err)
		}
		if !c.Float64() || c.Rows != nil || !slices.Equal(c.Vectors.Float64s(), given) || !slices.Equal(c.Given(1), given[2:4]) || c.Change.Values != 0 {
			t.Errorf("%v: rows %v of %v, %+v", metric, c.Vectors.Float64s(), c.Elem(), c.Change)
		}
		if (metric == Euclidean) != (c.Origin != nil) {
			t.Errorf("%v: origin %v", metric, c.Origin)
		}
		for i, x := range given {
			if c.Origin != nil {
				x -= c.Origin[i%2]
			}
			all := c.Floats()
			if all[i] != float32(x) || c.Coordinate(i/2, i%2) != float32(x) || c.Row(i / 2)[i%2] != float32(x) {
				t.Errorf("%v: coordinate %d is %v, want %v", metric, i, all[i], float32(x))
			}
		}
		if i, err := Stat(path); err != nil || i.Elem != dataset.ElemFloat64 || i.Version != wideVersion || i.Sections["rows"] != 48 {
			t.Errorf("%v: %+v, %v", metric, i, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFloat64Refused: what float32 cannot bound is named.
func TestFloat64Refused(t *testing.T) {
	for name, c := range map[string]struct {
		metric Metric
		column int
		rows   []float64
	}{
		"beyond float32": {InnerProduct, 1, []float64{1, 2, 3, -1e300}},
		"not a number":   {Euclidean, 0, []float64{1, 2, math.NaN(), 1}},
		"too short":      {Cosine, -1, []float64{1, 2, 1e-40, 0}},
		"too long":       {InnerProduct, -1, []float64{0, 1, 1e35, 0}},
	} {
		v, err := dataset.VectorsOf(c.rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = BuildVectors(t.Context(), v, &Options{Metric: c.metric})
		var at *RowError
		if !errors.As(err, &at) || at.Row != 1 || at.Column != c.column {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := dataset.VectorsOf([]float64{1, 2, 0, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BuildVectors(t.Context(), v, &Options{Metric: Cosine}); err != nil {
		t.Errorf("a vector of zeros: %v", err)
	}
}

// TestFloat64Reader: rows of float64 are rounded, and the file says how many.
func TestFloat64Reader(t *testing.T) {
	doubles, err := dataset.VectorsOf([]float64{1, .1, 2, .5}, 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Create(t.Context(), filepath.Join(t.TempDir(), "doubles.thresher"), doubles.Reader(), false, &Options{Metric: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	if c.Elem() != dataset.ElemFloat32 || c.Change.Values != 1 || c.Change.Largest != .1-float64(float32(.1)) && c.Change.Largest != float64(float32(.1))-.1 {
		t.Errorf("%v, %+v", c.Elem(), c.Change)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestTypedSize: Size bounds the bytes of typed collections tightly, which are those of the float32 collection less
// what rows take less.
func TestTypedSize(t *testing.T) {
	const n, dim = 2000, 768
	floats := Size(n, dim, &Options{Metric: Cosine})
	for e, less := range map[dataset.Elem]int64{dataset.ElemFloat16: 2, dataset.ElemBFloat16: 2, dataset.ElemInt8: 3, dataset.ElemUint8: 3, dataset.ElemFloat64: -4} {
		if got, want := Size(n, dim, &Options{Metric: Cosine, Elem: e}), floats-less*n*dim; got < want-1<<15 || got > want+1<<15 {
			t.Errorf("%v: %d bytes, want %d", e, got, want)
		}
	}
}

package segments

import (
	"errors"
	"math"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// TestFloat64Refusals: what a set of float64 and another one refuse of each other, and methods that have no float64.
func TestFloat64Refusals(t *testing.T) {
	b := newBackend(t)
	open := func(e dataset.Elem, parts ...Holding) (*Set, error) {
		return Open(2, Options{Collection: collection.Options{Metric: collection.Euclidean, Elem: e}, Backend: b}, parts...)
	}
	narrow, err := open(dataset.ElemFloat32)
	if err != nil {
		t.Fatal(err)
	}
	defer narrow.Close()
	if _, err := narrow.UpsertFloat64([]int64{1}, []float64{.1, .2}, dataset.Change{}, nil); err == nil || !strings.Contains(err.Error(), "float64 for a set of float32") {
		t.Errorf("rows of float64 in a set of float32: %v", err)
	}
	v, err := dataset.VectorsOf([]float64{.1, .2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	part, err := New(t.Context(), c, nil, b, nil, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if _, err := open(dataset.ElemFloat32, Holding{Segment: part}); err == nil || !strings.Contains(err.Error(), "float64") {
		t.Errorf("a segment of float64 in a set of float32: %v", err)
	}
	wide, err := open(dataset.ElemFloat64)
	if err != nil {
		t.Fatal(err)
	}
	defer wide.Close()
	if _, err := wide.Upsert([]int64{1}, []float32{1, 2}); err != nil {
		t.Errorf("float32 in a set of float64: %v", err)
	}
	now := wide.Snapshot()
	defer now.Release()
	var request *batch.RequestError
	if _, err := now.Search(t.Context(), batch.Request{Queries: []float32{1, 2}, K: 1, Method: batch.BanditMIPS}); !errors.As(err, &request) || request.Field != "method" {
		t.Errorf("banditmips: %v", err)
	}
	var row *collection.RowError
	for name, x := range map[string]float64{"not a number": math.NaN(), "beyond float32": 1e300, "a long row": 1e17} {
		if _, err := wide.UpsertFloat64([]int64{1, 2}, []float64{1, 2, 3, x}, dataset.Change{}, nil); !errors.As(err, &row) || row.Row != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFloat64Far: rows that are taken can be merged with any others that are, wherever an origin comes to lie.
func TestFloat64Far(t *testing.T) {
	b := newBackend(t)
	s, err := Open(3, Options{Collection: collection.Options{Metric: collection.Euclidean, Elem: dataset.ElemFloat64}, Backend: b, SealRows: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const limit = 1 << 53
	far := .99 * limit / math.Sqrt(3)
	for round := range int64(4) {
		for i := range int64(20) {
			row := []float64{far, far, far + float64(i)}
			if i%20 == 19 {
				row = []float64{-far, -far, -far}
			}
			if round == 0 && i == 0 {
				over := []float64{1.02 * far, 1.02 * far, 1.02 * far}
				if _, err := s.UpsertFloat64([]int64{0}, over, dataset.Change{}, nil); err == nil {
					t.Error("a row beyond the limit was taken")
				}
			}
			if _, err := s.UpsertFloat64([]int64{round*20 + i}, row, dataset.Change{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	u, err := s.BeginAll()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

package segments_test

import (
	"errors"
	"testing"

	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/segments"
)

// TestFloat64IsRefused: a segment of rows kept as float64 would be rounded by the next merge.
func TestFloat64IsRefused(t *testing.T) {
	v, err := dataset.VectorsOf([]float64{.1, .2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	if _, err := segments.New(t.Context(), c, nil, b, nil, 0, nil); !errors.Is(err, collection.ErrFloat64) {
		t.Errorf("%v", err)
	}
}

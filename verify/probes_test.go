package verify

import (
	"testing"

	"thresher/collection"
)

// TestProbesFit: an answer that has too many vectors to be compared leaves its room to others.
func TestProbesFit(t *testing.T) {
	r := NewReasons(oracle(t, gaussian(1, 8, 4), 4, collection.InnerProduct, 1), nil)
	for _, size := range []int{2, 2 * maxTops, 3, 4} {
		r.lacking = append(r.lacking, &specimen{Specimen: &Specimen{Q: make([]float64, 4), Best: make([]int64, size)}})
	}
	tried := r.try(nil)
	if tried == nil || len(tried.list) != 3 {
		t.Fatalf("%+v; three of the answers fit", tried)
	}
	r.complete = append(r.complete, &specimen{Specimen: &Specimen{Q: make([]float64, 4), Best: make([]int64, maxTops-8)}})
	if tried = r.try(nil); len(tried.list) != 3 {
		t.Errorf("%d answers are compared, with more vectors than %d", len(tried.list), maxTops)
	}
}

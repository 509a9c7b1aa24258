package looks

import (
	"math"
	"testing"

	"thresher/collection"
)

// TestConversion: at distance 5 from a query of norm 12 the search score is -12.5, and bounds
// are of that plus 72.
func TestConversion(t *testing.T) {
	c := &collection.Collection{Dim: 96, Metric: collection.Euclidean}
	s := NewConversion(c, 12, 2)
	score, bound := -12.5/4, (72-12.5)/4
	if s.Lead != 18 || s.Give != 128*0x1p-52 {
		t.Fatalf("%+v", s)
	}
	near := func(what string, got, want float64, sign float64) {
		if off := (got - want) * sign; !(off > 0 && off < 1e-11) {
			t.Errorf("%s is %g, more than %g by %g", what, got, want, got-want)
		}
	}
	near("the threshold of a score", s.Threshold(score), bound, -1)
	near("the threshold of a lower bound", s.LowerThreshold(bound), bound, -1)
	near("the score of a bound", s.UpperScore(bound), score, 1)
	if got := s.UpperScore(1000); got != 0 {
		t.Errorf("a score of %g, and none is positive", got)
	}
	for _, v := range []float64{math.Inf(-1), math.Inf(1)} {
		if s.Threshold(v) != v || s.UpperScore(v) != v {
			t.Errorf("%g becomes %g and %g", v, s.Threshold(v), s.UpperScore(v))
		}
	}
	c.Metric = collection.InnerProduct
	if s := NewConversion(c, 12, 2); s != (Conversion{}) || s.Threshold(3) != 3 || s.LowerThreshold(3) != 3 || s.UpperScore(3) != 3 {
		t.Errorf("products are scaled by %+v", s)
	}
}

package collection

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNormStep compares NormStep with the steps of the order: no atom is longer than the
// first of its step by more, and one can be longer by nearly as much. MaxNorm relies on it in both orders.
func TestNormStep(t *testing.T) {
	if step := math.Exp2(1. / stepsPerOctave); !(NormStep >= step && NormStep <= 1.0001*step) {
		t.Errorf("NormStep is %g, a step %g", NormStep, step)
	}
	r, most := rand.New(rand.NewPCG(1, 2)), 0.0
	for seed := range uint64(50) {
		rows := make([]float32, 64)
		for i := range rows {
			rows[i] = 1 + .043*r.Float32()
		}
		c, err := Build(context.Background(), rows, 1, &Options{Metric: InnerProduct, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Norm {
			most = max(most, float64(n)/float64(c.Norm[0]))
		}
		for i := range rows {
			rows[i] = 1 + r.Float32()
		}
		for _, m := range metrics {
			c, err := Build(context.Background(), rows, 1, &Options{Metric: m, Basis: Raw, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if got, longest := c.MaxNorm(), float64(slices.Max(c.Norm)); !(got >= longest && got <= longest*NormStep) {
				t.Errorf("%v: norms of at most %g, the greatest is %g", c.Metric, got, longest)
			}
		}
	}
	if !(most > 1.03 && most <= NormStep) {
		t.Errorf("an atom is %g times as long as the first", most)
	}
}

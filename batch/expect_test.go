package batch_test

import (
	"errors"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// TestExpect checks that the forecast is that of the plan Search takes, without a
// query, and grows with the costs.
func TestExpect(t *testing.T) {
	const dim = 200
	rows := vectors.PowerLaw(vectors.Rand(1), 3000, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	costs := backend.Portable()
	e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1}), &batch.Options{Costs: &costs})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	req := batch.Request{K: 10, Method: batch.Adaptive}
	got, err := batch.Expect(c, &costs, req)
	if err != nil {
		t.Fatal(err)
	}
	asked := req
	asked.Queries = rows[:dim]
	if want := search(t, e, asked).Answers[0].Certificate.PredictedCost; got != want || got <= 0 {
		t.Errorf("expected %g, the certificate says %g", got, want)
	}
	double := costs
	double.Scan, double.Test = 2*double.Scan, 2*double.Test
	if more, err := batch.Expect(c, &double, req); err != nil || more <= got {
		t.Errorf("expected %g of a faster scan, %g of a slower one (%v)", got, more, err)
	}
	raw := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw})
	if got, err := batch.Expect(raw, &costs, batch.Request{K: 10, Method: batch.BoundedME}); err != nil || got != 0 {
		t.Errorf("a published method: expected %g, %v", got, err)
	}
	var refused *batch.RequestError
	if _, err := batch.Expect(c, &costs, batch.Request{K: -1}); !errors.As(err, &refused) {
		t.Errorf("k -1: %v", err)
	}
	if _, err := batch.Expect(c, &backend.Costs{}, req); err == nil {
		t.Error("costs of nothing: no error")
	}
}

package revisit

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/internal/vectors"
	"thresher/simd"
)

// begun begins a run of one query, the first of n generated rows, for k of them, and prepares it for looks.
func begun(t *testing.T, n, dim, k int) *Query {
	t.Helper()
	rows := vectors.PowerLaw(vectors.Rand(4), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	a := arms.NewResident(c, threads.NewCrew(1, simd.Best(), threads.NewHelpers(1), false))
	b := arms.NewBatch(a)
	if err := b.Begin(t.Context(), backend.Queries{M: 1, Dim: dim, Data: rows[:dim]}, []backend.Goal{{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	x := NewRun(NewCodes(a), b)
	x.Reset()
	if err := x.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x.Query(0)
}

// TestHighHalves compares what looks at signs charge for omitting the low halves of a
// query's codes with the error that this causes.
func TestHighHalves(t *testing.T) {
	s := begun(t, 100, 800, 1)
	if s.C.StageOf(collection.Signs) < 0 {
		t.Fatal("no signs are kept: the test shows nothing")
	}
	s.codeQuery16(&Scratch{Scratch: &threads.Scratch{}})
	var lost, sum float64
	for j, w := range s.Prep.Rest {
		hi := float64(s.rows.codes.Hi[s.C.R+j])
		off := float64(w) - s.rows.highSteps.RestStep*hi
		lost, sum = lost+off*off, sum+hi
	}
	if lost = math.Sqrt(lost); !(lost <= s.rows.highSteps.RestErr) || s.rows.highSteps.RestErr > 1.1*lost {
		t.Errorf("the high halves are off by %g, %g is charged", lost, s.rows.highSteps.RestErr)
	}
	if s.rows.highSum != sum {
		t.Errorf("the high halves add up to %g, not %g", sum, s.rows.highSum)
	}
}

// TestArmsOfThresholdStay: the arms whose lower bounds make the threshold are kept by it.
func TestArmsOfThresholdStay(t *testing.T) {
	const k = 3
	s := begun(t, 200, 64, k)
	var first topk.Entries
	for i := range uint32(20) {
		first.IDs = append(first.IDs, i)
	}
	s.Tighten(&Scratch{Scratch: &threads.Scratch{}}, backend.LowerBound, first)
	if math.IsInf(s.Tau, -1) {
		t.Fatal("no threshold")
	}
	if s.PruneArms(); len(s.Finalists) < k {
		t.Errorf("%d of the %d arms behind the threshold %g are left", len(s.Finalists), k, s.Tau)
	}
}

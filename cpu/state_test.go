package cpu

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// begun begins a run of one query, the first of n generated rows, for k of them.
func begun(t *testing.T, n, dim, k int) *run {
	t.Helper()
	rows := vectors.PowerLaw(vectors.Rand(4), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := New(Options{Threads: 1}).Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	x, err := res.Begin(context.Background(), backend.Queries{M: 1, Dim: dim, Data: rows[:dim]},
		[]backend.Goal{{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(); res.Close() })
	return x.(*run)
}

// TestArmsOfThresholdStay: the arms whose lower bounds make the threshold are kept by it.
func TestArmsOfThresholdStay(t *testing.T) {
	const k = 3
	s := &begun(t, 200, 64, k).states[0]
	var first survivors
	for i := range uint32(20) {
		first.ids = append(first.ids, i)
	}
	s.tighten(&scratch{}, backend.LowerBound, first)
	if math.IsInf(s.tau, -1) {
		t.Fatal("no threshold")
	}
	if s.pruneArms(); len(s.finalists) < k {
		t.Errorf("%d of the %d arms behind the threshold %g are left", len(s.finalists), k, s.tau)
	}
}

// TestStoppedDenseScoresNoListedArm: the rows of a dense scan that was stopped do not count as
// listed arms scored. If these were dropped, the drop can have failed.
func TestStoppedDenseScoresNoListedArm(t *testing.T) {
	s := &begun(t, 200, 64, 3).states[0]
	s.list = survivors{ids: []uint32{1, 2}, bounds: []float32{1, 1}}
	s.noteRandomBound(len(s.list.ids) + len(s.finalists))
	s.takeDense([]denseRange{{read: []int{100}}}, 0)
	s.list.truncate(0) // by a threshold that rose
	if a := s.answer(&scratch{}); !a.Random {
		t.Errorf("%d rows read of %d, and no drop is called random", s.rowsRead, s.rowsIfAllScored)
	}
}

package cpu

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
)

// begun is a batch of one query, the first of n generated rows, for k of them.
func begun(t *testing.T, n, dim, k int) *run {
	t.Helper()
	rows := backendtest.PowerLaw(backendtest.Rand(4), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := New(Options{Threads: 1}).Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	x, err := res.Begin(context.Background(), backend.Queries{M: 1, Dim: dim, Data: rows[:dim]},
		[]backend.Goal{{K: k, Floor: math.Inf(-1), Allowed: n, Skip: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(); res.Close() })
	return x.(*run)
}

// TestSupportersStay gives arms whose bounds have failed to a raise by lower
// bounds: those that make the threshold must not fall below it.
func TestSupportersStay(t *testing.T) {
	const k = 3
	s := &begun(t, 200, 64, k).states[0]
	for i := range uint32(20) {
		a, more := s.lift(backend.LowerBound, arm{bound: -1e9, i: i})
		if !more {
			t.Fatalf("arm %d was scored exactly", i)
		}
		s.list = append(s.list, a)
	}
	if math.IsInf(s.tau, -1) {
		t.Fatal("no threshold")
	}
	if s.prune(); len(s.list) < k {
		t.Errorf("%d of the %d arms behind the threshold %g are left", len(s.list), k, s.tau)
	}
}

// TestStoppedDenseScoresNobody counts the rows of a dense scan that was stopped:
// they are none of the listed arms, whose drops can fail.
func TestStoppedDenseScoresNobody(t *testing.T) {
	s := &begun(t, 200, 64, 3).states[0]
	s.list = []arm{{bound: 1, i: 1}, {bound: 1, i: 2}}
	s.owe()
	s.settleDense([]denseWork{{rows: [4]int{100}}}, 0)
	s.list = nil // by a threshold that rose
	if a := s.answer(); !a.Random {
		t.Errorf("%d rows read of %d owed, and no drop is called random", s.rowsRead, s.owed)
	}
}

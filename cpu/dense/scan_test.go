package dense

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestStoppedScanScoresNoListedArm: the rows of a dense scan that was stopped do not count as
// listed arms scored. If these were dropped, the drop can have failed.
func TestStoppedScanScoresNoListedArm(t *testing.T) {
	const n, dim = 200, 64
	rows := vectors.PowerLaw(vectors.Rand(4), n, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	x := begin(t, rowsOf(t, c, simd.Best(), 1), rows[:dim], []backend.Goal{{K: 3, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}})
	s := &x.queries[0]
	s.List = topk.Entries{IDs: []uint32{1, 2}, Bounds: []float32{1, 1}}
	s.NoteRandomBound(len(s.List.IDs) + len(s.Finalists))
	x.take(s, []rowRange{{read: []int{100}}}, 0)
	s.List.Truncate(0) // by a threshold that rose
	if a := s.Answer(&threads.Scratch{}, 1); !a.Random {
		t.Errorf("%d rows read, and no drop is called random", s.RowsRead)
	}
}

package cpu

import (
	"thresher/backend"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// scratch is the memory of one goroutine at the end of runs.
type scratch struct {
	*revisit.Scratch
	order  backend.IndexSorter
	rows   arms.RowLists
	values []float32
	listed topk.Entries
}

// scratchOf returns the memory of the goroutine that has w.
func scratchOf(w *threads.Scratch) *scratch {
	s := threads.Memory[scratch](w)
	s.Scratch = revisit.ScratchOf(w)
	return s
}

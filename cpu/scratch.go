package cpu

import (
	"thresher/backend"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/threads"
)

// scratch is the memory of one goroutine at the end of runs.
type scratch struct {
	*revisit.Scratch
	order  backend.IndexSorter
	rows   arms.RowLists
	values []float32
}

// scratchOf returns memory for the goroutine that has w, to be returned by release.
func (r *resident) scratchOf(w *threads.Scratch) *scratch {
	s, ok := r.ends.Get().(*scratch)
	if !ok {
		s = &scratch{}
	}
	s.Scratch = r.codes.GetScratch(w)
	return s
}

// release returns a scratch to the pool, which may drop it.
func (r *resident) release(s *scratch) {
	r.codes.PutScratch(s.Scratch)
	s.Scratch = nil
	r.ends.Put(s)
}

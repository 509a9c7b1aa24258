package scan

import (
	"sync"

	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/simd"
)

// Panels are a loaded collection's codes as first looks read them.
type Panels struct {
	*revisit.Codes
	once sync.Once
	all  []uint32 // the numbers of all panels, computed at first use
}

// NewPanels returns the panels of the collection whose codes are c.
func NewPanels(c *revisit.Codes) *Panels { return &Panels{Codes: c} }

// panels returns the numbers of all panels.
func (r *Panels) panels() []uint32 {
	r.once.Do(func() {
		r.all = make([]uint32, r.C.PanelCount())
		for p := range r.all {
			r.all[p] = uint32(p)
		}
	})
	return r.all
}

// Query is a query as first looks know it.
type Query struct {
	*revisit.Query
	lowers  []float32 // memory for lower bounds
	raised  bool      // they have raised the threshold
	stopped *scanning // a look that a context stopped and that can be resumed
}

// Run is the queries of a batch as first looks know them.
type Run struct {
	*arms.Batch
	r       *Panels
	later   *revisit.Run
	queries []Query
	pieces  *pieces // of a look that helpers share; nil if none was

	gathered gatheredMemory
}

// NewRun returns a run of the queries of later, which Reset prepares.
func NewRun(r *Panels, later *revisit.Run) *Run { return &Run{Batch: later.Batch, r: r, later: later} }

// Reset prepares the run for the queries that its batch has begun, after that for later looks.
func (x *Run) Reset() {
	m := len(x.Queries)
	if cap(x.queries) < m {
		x.queries = append(x.queries[:cap(x.queries)], make([]Query, m-cap(x.queries))...)
	}
	x.queries = x.queries[:m]
	for j := range x.queries {
		x.queries[j] = Query{Query: x.later.Query(j), lowers: x.queries[j].lowers}
	}
}

// Query returns query j of the batch.
func (x *Run) Query(j int) *Query { return &x.queries[j] }

// scratch is the memory of one goroutine.
type scratch struct {
	*revisit.Scratch

	scan      simd.ScanScratch
	codes     []int8 // 8-bit codes of the queries of a scan
	liveCodes []int8 // those of the queries that have not ended it, contiguous
	tests     []simd.ScanQuery
	lanes     simd.PanelTerms
	masks     []uint64
	slacks    []float32 // bound of the rounding in a strip, for each query
	taus      []float64 // thresholds that the scan of panels compares with, for each query
	values    []float32
	sample    []float32 // lower bounds of sampled atoms, for each query
	passed    chunkLists
	hidden    []uint64 // bits of the hidden atoms of a chunk

	selected   topk.Entries // part of a list
	eligible   topk.Entries // the arms of a chunk whose estimates are at most the ceiling
	candidates topk.Entries
	sums8      []simd.RowSums8 // of the rows of a strip
	rows       []uint8         // codes of a panel that is gathered
	panelSums  [arms.PanelAtoms]simd.RowSums8
}

// getScratch returns memory for a goroutine that has none, to be returned by putScratch.
func (r *Panels) getScratch() *scratch { return scratchOf(r.GetScratch()) }

// putScratch returns all memory of a goroutine.
func (r *Panels) putScratch(s *scratch) { r.PutScratch(s.Scratch.Scratch) }

// scratchOf returns the memory of the goroutine that has w.
func scratchOf(w *threads.Scratch) *scratch {
	s := threads.Memory[scratch](w)
	s.Scratch = revisit.ScratchOf(w)
	return s
}

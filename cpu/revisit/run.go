package revisit

import (
	"context"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// Codes are a loaded collection's rows of codes.
type Codes struct {
	*arms.Resident
	looks *looks.Set
}

// NewCodes returns the codes of r, with the looks that runs compile.
func NewCodes(r *arms.Resident) *Codes { return &Codes{Resident: r, looks: looks.NewSet(r.C)} }

// Compile compiles look l, once for all runs that take it. For looks at rows it also stores
// the terms of each atom contiguously, except for Cauchy looks at prefixes.
func (r *Codes) Compile(ctx context.Context, l backend.Look) (*looks.Compiled, error) {
	t, err := r.looks.Compile(ctx, l)
	if err == nil {
		r.looks.LayOut(t)
	}
	return t, err
}

// Kept is the memory of what looks have made of the collection, in bytes.
func (r *Codes) Kept() int64 { return r.looks.Kept() }

// Making is by how much runs that take these looks would raise Kept.
func (r *Codes) Making(these []backend.Look) int64 {
	if len(these) == 0 || !r.C.Coded() {
		return 0
	}
	return r.looks.Making(append([]backend.Look{r.wholeRows()}, these...))
}

// wholeRows is the deterministic look at whole rows, of which all runs with looks read the terms.
func (r *Codes) wholeRows() backend.Look {
	return backend.Look{Rep: backend.RowCodes, To: r.C.D, Rule: backend.Cauchy}
}

// Query is a query as later looks know it.
type Query struct {
	*arms.Query
	rows           rowCodes
	fullWidthTerms *looks.Compiled // of the deterministic look at whole rows
	fullWidth      looks.Bound     // of that look, set once rows is ready
	stopped        *revisitState   // a look that a context stopped and that can be resumed
	last           backend.Look    // the last look that was completed
}

// Run is the queries of a batch as later looks know them.
type Run struct {
	*arms.Batch
	r       *Codes
	queries []Query
	heads   []float32 // [queries][R]
	rests   []float32 // [queries][D]
	ready   bool      // heads and rests are set
}

// NewRun returns a run of the queries of b, which Reset prepares.
func NewRun(r *Codes, b *arms.Batch) *Run { return &Run{Batch: b, r: r} }

// Reset prepares the run for the queries that its batch has begun.
func (x *Run) Reset() {
	m := len(x.Queries)
	if cap(x.queries) < m {
		x.queries = append(x.queries[:cap(x.queries)], make([]Query, m-cap(x.queries))...)
	}
	x.queries, x.ready = x.queries[:m], false
	for j := range x.queries {
		rows := &x.queries[j].rows // whose memory is reused
		x.queries[j] = Query{Query: &x.Queries[j], rows: rowCodes{codes: rows.codes, stageBiases: rows.stageBiases}}
	}
}

// Query returns query j of the batch.
func (x *Run) Query(j int) *Query { return &x.queries[j] }

// Scratch is the memory of one goroutine.
type Scratch struct {
	*threads.Scratch

	prepare collection.PrepareScratch
	scales  []float64
	queries []collection.Query

	Codes16    []int16      // 16-bit codes of one query
	selected   topk.Entries // part of a list
	candidates topk.Entries
	sums       rowSums
	estimates  []float64 // of the arms of a look
	uppers     []float64 // their upper bounds
	lowers     []float64 // lower bounds that raise a threshold together
	fetchSink  float32   // stores the result of fetchSides, so that the compiler keeps its reads
}

// ScratchOf returns the memory of the goroutine that has w.
func ScratchOf(w *threads.Scratch) *Scratch {
	s := threads.Memory[Scratch](w)
	s.Scratch = w
	return s
}

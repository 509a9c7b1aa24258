package dense

import (
	"sync"

	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// Rows are a loaded collection's rows with what scans know of them.
type Rows struct {
	*arms.Resident
	once     sync.Once
	computed terms // at first use
	known    readTraits
}

// NewRows returns the rows of r.
func NewRows(r *arms.Resident) *Rows { return &Rows{Resident: r} }

// WantTraits makes the next scan read what the rows have in common, if they are not too few.
func (r *Rows) WantTraits() { r.known.wanted.Store(true) }

// Query is a query as scans know it.
type Query struct {
	*arms.Query
	hiddenRows []uint32      // the numbers of the rows of Hidden, ascending
	partial    []topk.Scored // found by scans that a context stopped
	scanned    topk.Entries  // memory of the rows that a scan scores at its end
	dots       dotError      // of a scan
	grain      float64       // with dots noError: what the query's products with rows are multiples of
	scored     int           // rows that scans have scored in float64
}

// Scans are scans for the queries of one batch.
type Scans struct {
	*arms.Batch
	r       *Rows
	queries []Query
}

// NewScans returns scans for the queries of b, which Reset prepares.
func NewScans(r *Rows, b *arms.Batch) *Scans { return &Scans{Batch: b, r: r} }

// Reset prepares scans for the queries that the batch has begun.
func (x *Scans) Reset() {
	m := len(x.Queries)
	if cap(x.queries) < m {
		x.queries = append(x.queries[:cap(x.queries)], make([]Query, m-cap(x.queries))...)
	}
	x.queries = x.queries[:m]
	for j := range x.queries {
		q := &x.queries[j] // whose memory is reused
		*q = Query{Query: &x.Queries[j], hiddenRows: q.hiddenRows[:0], scanned: q.scanned}
	}
}

// scratch is the memory of one goroutine.
type scratch struct {
	*threads.Scratch
	rows  arms.RowLists
	tests tests
}

// scratchOf returns the memory of the goroutine that has w.
func scratchOf(w *threads.Scratch) *scratch {
	s := threads.Memory[scratch](w)
	s.Scratch = w
	return s
}

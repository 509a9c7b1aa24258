package batch

import (
	"cmp"

	"thresher/collection"
)

const (
	// partBytes bounds the memory of the queries of one run unless Options.RunBytes does. Larger
	// batches are answered in parts, with the same answers.
	partBytes = 1 << 28
	// wideShare of the collection's memory, or minWideBytes if that is more, bounds what the coordinates
	// of the queries of one run take: a few rows of a million dimensions are small beside as many queries.
	// minWideBytes has room for the largest run of 4,096 dimensions.
	wideShare, minWideBytes = 1. / 8, 7 << 24
	// maxPart is the greatest number of queries of one run.
	maxPart = 1024
	// lookedBytes is the memory of a backend for each atom that a query wants and looks find:
	// four arms of the first chunk, the arm in the list and among the finalists, its lower bound,
	// its score, and its copies in the answer. scannedBytes is that of a dense scan: twice a row
	// that may be in the answer, its score, and the copies.
	lookedBytes, scannedBytes = 128, 80
	// rangeBytes is the memory of a dense scan for each atom that a thread finds among the best of
	// its range of rows: the threads divide the rows into 2 ranges each.
	rangeBytes = 24
	// coordinateBytes is the memory of a coordinate of a query: as it is given, in float64, rotated and coded.
	coordinateBytes = 24
	// gatheredTerms is the memory of the terms of an atom whose codes are gathered, and of its part of a panel's places.
	gatheredTerms = int64(4*4 + 1)
)

// maxQueries bounds the queries of one run of w.
func (w *work) maxQueries() int {
	wide := max(minWideBytes, int64(wideShare*float64(w.e.c.Bytes())))
	return int(max(1, min(maxPart, w.e.runBytes()/w.queryBytes(), wide/w.wideBytes())))
}

// together returns how many of so many queries like those of w share a run that begins now: at most so many that it takes
// what Options.Spare says if their looks keep as many arms as those of runs before kept at most.
func (w *work) together(queries int) int {
	n := min(queries, w.maxQueries())
	expected, most := w.survivorBytes()
	if n < 2 || int64(n)*most <= w.e.unasked() {
		return n
	}
	each := w.queryBytes() + most
	spare := w.e.spareBytes(int64(min(n, partStep)) * each)
	if spare <= 0 {
		return n
	}
	if known := w.e.keeps.Load(); known > 0 {
		each = w.queryBytes() + min(most, max(expected, w.chunkBytes()+survivorBytes*known))
	}
	return int(max(1, min(int64(n), spare/each)))
}

// runBytes bounds the memory of the queries of one run, and of what is read once for all queries.
func (e *Engine) runBytes() int64 { return cmp.Or(e.opt.RunBytes, partBytes) }

// warmBytes is the memory of so many coordinates of all atoms, read once for all queries.
func (e *Engine) warmBytes(coordinates int) int64 { return 8 * int64(coordinates) * int64(e.c.N) }

// wideBytes estimates what the coordinates of one query take of queryBytes.
func (w *work) wideBytes() int64 { return coordinateBytes * int64(w.e.c.Dim) }

// queryBytes estimates the memory of one query in a backend.
func (w *work) queryBytes() int64 {
	few, wanted := w.strategy.queryBytes(w.e.c), int64(w.wanted())
	if !w.dense() {
		return few + lookedBytes*wanted
	}
	if threads := int64(w.e.threads()); threads > 1 {
		few += rangeBytes * (min(int64(w.e.c.N), 2*threads*wanted) - wanted)
	}
	return few + scannedBytes*wanted
}

// gatheredBytes bounds the memory of what the first look of a run of so many queries gathers of the allowed atoms: terms, of several
// queries and of filters that keep them codes too, in panels of which no two neighbours have room in one.
func (w *work) gatheredBytes(queries int) int64 {
	if w.e.threads() == 0 || w.strategy.reference != nil || len(w.strategy.Looks) == 0 || !w.strategy.Looks[0].Gather || w.allowed == w.e.c.N {
		return 0
	}
	bytes := gatheredTerms
	if l := &w.strategy.Looks[0]; queries > 1 || w.keeps {
		bytes += int64(l.Rep.AtomBytes(w.e.c.R, l.To))
	}
	return (2*int64(w.allowed) + collection.PanelAtoms) * bytes
}

// dense reports whether a dense scan answers w.
func (w *work) dense() bool { return w.strategy.reference == nil && w.strategy.Dense() }

// wanted is how many atoms a query is expected to find: K, or without one as many as Reaching
// says. It is 0 if nothing is known.
func (w *work) wanted() int {
	if w.k > 0 {
		return w.k
	}
	found := int(min(w.req.Reaching, float64(w.e.c.N)))
	if w.req.Limit > 0 {
		found = min(found, w.req.Limit)
	}
	return found
}

// queryBytes estimates the memory of one query that wants few atoms.
func (s *strategy) queryBytes(c *collection.Collection) int64 {
	b := coordinateBytes*int64(c.Dim) + 256
	if s.perArm {
		b += 96 * int64(c.N)
	}
	return b
}

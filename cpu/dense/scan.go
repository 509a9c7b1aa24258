package dense

import (
	"cmp"
	"context"
	"slices"
	"thresher/cpu/threads"
)

const (
	// maxQueries is the greatest number of queries that share a pass over the rows.
	maxQueries = 64
	// tileRows is the number of rows in a tile, which is multiplied by all queries of a pass.
	tileRows = 128
	// tileCoords is the number of coordinates summed in float32 before the sum is added to the
	// sums of others. So many of 64 queries fill half of a second-level cache.
	tileCoords = 512
	// minRows is the least number of rows in the first tile. Of few rows the query that wants one
	// atom lists fewer, while one that wants some has more use for the threshold of as many as firstRows.
	minRows, firstRows = 16, 64
	// spareRows is how many rows more than 2 k a query has pending before its threshold is raised.
	spareRows = 16
	// exactQueries is the number of queries up to which a pass scores every row exactly if the products of few
	// queries have no kernel, or if it gathers rows: copying them takes more than their scores do.
	exactQueries = 2
	// maxPending is the number of pending rows from which a query scores them, if it is more
	// than 3/2 k: more than that are left only if the test cannot separate them.
	maxPending = 4096
	// blockBytes is the size of a block of rows that come from the disk, of which two or three are in memory, and blockScores how many
	// scores the lists of all blocks have at most.
	blockBytes, blockScores = 16 << 20, 4 << 20
)

// Scan answers these queries by a scan of all allowed atoms. Float32 products with a derived
// error bound exclude the rows that cannot be among the best; the others are scored in
// float64. Their given candidates must be scored. If ctx ends, what was found is kept for partial answers.
func (x *Scans) Scan(ctx context.Context, queries []int) error {
	// The queries of a pass share the rows that are read. If there are fewer passes than threads
	// can take, each pass is split by rows.
	passes := x.passes(queries)
	x.chooseErrors(ctx, queries, passes)
	var ranges []*rowRange
	var terms *terms
	for k := range passes {
		pass, n := &passes[k], 1
		if pass.rows == nil || pass.scan(x) != scoreEach || x.orders(pass) { // computing them takes time and memory for every atom
			terms = x.r.terms()
		}
		for _, j := range pass.js {
			x.queries[j].hideRows()
			x.queries[j].sortGiven()
		}
		rows := pass.rowCount(x.C)
		if len(passes) < 2*x.r.Threads && x.r.Threads > 1 {
			n = max(1, min((2*x.r.Threads+len(passes)-1)/len(passes), (rows+tileRows-1)/tileRows))
		}
		if x.C.ReadsAhead() {
			n = max(n, min(x.blocks(queries), (rows+tileRows-1)/tileRows))
		}
		pass.ranges = make([]rowRange, n)
		for i := range pass.ranges {
			pass.ranges[i] = rowRange{pass: pass, lo: rows * i / n, hi: rows * (i + 1) / n}
			ranges = append(ranges, &pass.ranges[i])
		}
	}
	if x.C.ReadsAhead() { // all passes take a block of rows while it is in memory
		slices.SortStableFunc(ranges, func(a, b *rowRange) int { return cmp.Compare(a.first(), b.first()) })
	}
	later := len(ranges) > x.r.Threads && x.wanted(queries) >= x.C.N
	err := x.r.Each(ctx, len(ranges), func(base *threads.Scratch, t int) error {
		w, d := scratchOf(base), ranges[t]
		if t == 0 || d.first() > ranges[t-1].first() {
			d.readNext(x)
		}
		return d.run(ctx, x, w, terms, later)
	})
	if later {
		err = cmp.Or(x.scoreKept(ctx, ranges), err)
	}
	for _, pass := range passes {
		for k, j := range pass.js {
			x.take(&x.queries[j], pass.ranges, k)
		}
	}
	return err
}

// blocks returns into how many blocks a scan for queries divides rows that come from the disk.
func (x *Scans) blocks(queries []int) int {
	n := len(x.C.Vectors.Bytes()) / blockBytes
	if k := x.wanted(queries); k > 0 { // each block has a list for each query
		n = min(n, blockScores/k)
	}
	return max(1, n)
}

// first is the number of the first row of the range.
func (d *rowRange) first() int {
	if d.lo == d.hi {
		return 0
	}
	return d.rowAt(d.lo)
}

// readNext begins to read the rows of the range after d, of the same pass, from the disk.
func (d *rowRange) readNext(x *Scans) {
	if hi := d.hi + d.hi - d.lo; d.rows == nil && x.C.ReadsAhead() {
		x.C.ReadBlockAhead(d.hi, min(hi, x.C.N))
	}
}

// take takes what the ranges of a pass found for its query js[k]: the answer, or, if ctx
// ended one of them, rows for a partial answer.
func (x *Scans) take(s *Query, ranges []rowRange, k int) {
	done, read := true, 0
	for p := range ranges {
		done = done && ranges[p].done
		if k < len(ranges[p].read) {
			read += ranges[p].read[k]
		}
		if k < len(ranges[p].scored) {
			s.scored += ranges[p].scored[k]
		}
	}
	s.CountRows(read)
	if s.scored > s.Goal.K+s.C.N/manyScored {
		x.r.known.wanted.Store(true)
	}
	if !done {
		s.NoteUnlisted(read)
		for p := range ranges {
			if k < len(ranges[p].best) {
				s.partial = append(s.partial, ranges[p].best[k]...)
			}
		}
		return
	}
	s.BeginAnswer()
	for p := range ranges {
		s.Best.Take(ranges[p].best[k])
		ranges[p].best[k] = nil
	}
	s.EndAnswer()
}

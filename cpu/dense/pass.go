package dense

import (
	"slices"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/topk"
)

const (
	// If at least gatherTogether queries have different filters, a scan of all rows together is
	// faster, unless a filter allows at most one row in gatherSparse.
	gatherTogether, gatherSparse = 8, 8
)

// pass is a dense scan for up to maxQueries queries.
type pass struct {
	js     []int    // queries
	rows   []uint32 // numbers of the rows to read, ascending; nil: all rows
	ranges []rowRange
	exact  *traits // of the rows, if no query's products have errors; else nil
}

// gathers reports whether a dense scan for the query reads only the rows its filter allows.
func (s *Query) gathers() bool { return s.Goal.Gather && s.Goal.Filter != nil }

// passes divides queries into passes. Queries that gather the rows of one filter share a pass.
// If there are many with different filters, those whose filter allows enough rows join the
// queries that read all rows, at little cost.
func (x *Scans) passes(queries []int) []pass {
	all := make([]int, 0, len(queries))
	var joinable []int
	var filters []*backend.Filter
	byFilter := map[*backend.Filter][]int{}
	for _, j := range queries {
		s := &x.queries[j]
		if !s.gathers() {
			all = append(all, j)
			continue
		}
		f := s.Goal.Filter
		if byFilter[f] == nil {
			filters = append(filters, f)
		}
		byFilter[f] = append(byFilter[f], j)
	}
	for _, f := range filters {
		if len(byFilter[f]) <= exactQueries && f.Len() > x.C.N/gatherSparse {
			joinable = append(joinable, byFilter[f]...)
		}
	}
	if len(all)+len(joinable) >= gatherTogether {
		all = append(all, joinable...)
		for _, j := range joinable {
			delete(byFilter, x.queries[j].Goal.Filter)
		}
	}
	var passes []pass
	for js := range slices.Chunk(all, maxQueries) {
		passes = append(passes, pass{js: js})
	}
	for _, f := range filters {
		if len(byFilter[f]) == 0 {
			continue
		}
		for js := range slices.Chunk(byFilter[f], maxQueries) {
			passes = append(passes, pass{js: js, rows: f.Rows()})
		}
	}
	return passes
}

// orders reports whether a query of the pass excludes atoms by their internal index.
func (x *Scans) orders(d *pass) bool {
	return slices.ContainsFunc(d.js, func(j int) bool { return x.queries[j].Goal.From > 0 })
}

// hideRows lists hiddenRows, unless it is.
func (s *Query) hideRows() {
	if len(s.hiddenRows) == len(s.Hidden) {
		return
	}
	s.hiddenRows = s.hiddenRows[:0]
	for _, i := range s.Hidden {
		s.hiddenRows = append(s.hiddenRows, s.C.Order[i])
	}
	s.hiddenRows = backend.SortIndexes(s.hiddenRows, s.C.N)
}

// allows reports whether q's filter and From allow a row that the pass reads.
func (d *pass) allows(q *Query, t *terms, row uint32) bool {
	return d.rows != nil && q.Goal.From == 0 || q.Allows(int(t.inverse[row]))
}

// hides reports whether a row is hidden from query q, e of the pass. The rows asked for one query
// must ascend within a range.
func (s *tests) hides(q *Query, e int, row uint32) bool {
	at := s.hiddenAt[e]
	for at < len(q.hiddenRows) && q.hiddenRows[at] < row {
		at++
	}
	s.hiddenAt[e] = at
	return at < len(q.hiddenRows) && q.hiddenRows[at] == row
}

// rowCount returns the number of rows the pass reads.
func (d *pass) rowCount(c *collection.Collection) int {
	if d.rows == nil {
		return c.N
	}
	return len(d.rows)
}

// rowAt returns the number of the i-th row the pass reads.
func (d *pass) rowAt(i int) int {
	if d.rows == nil {
		return i
	}
	return int(d.rows[i])
}

// rowNumbers returns the numbers of the pass's rows lo to hi-1; the scratch or the pass owns the
// slice.
func (d *pass) rowNumbers(w *scratch, lo, hi int) []uint32 {
	if d.rows != nil {
		return d.rows[lo:hi]
	}
	w.IDs = topk.Grow(w.IDs, hi-lo)
	for i := range w.IDs {
		w.IDs[i] = uint32(lo + i)
	}
	return w.IDs
}

// coordinates returns coordinates from to from+n-1 of the pass's rows lo to hi-1, ld floats
// apart. They are in place, or copied to the scratch if the rows are not contiguous, are of another type than
// Float32, or are taken less a far centre.
func (d *pass) coordinates(c *collection.Collection, s *tests, far bool, lo, hi, from, n int) (rows []float32, ld int) {
	if d.rows == nil && !far && c.Rows != nil {
		return c.Rows[lo*c.Dim+from:], c.Dim
	}
	s.gathered = topk.Grow(s.gathered, (hi-lo)*n)
	if d.rows == nil && !far && n == c.Dim {
		c.Read(s.gathered, lo*c.Dim)
		return s.gathered, n
	}
	ahead := gatherAhead(c.Dim * c.Elem().Size())
	for i := range hi - lo {
		if next := lo + i + ahead; d.rows != nil && from == 0 && next < len(d.rows) {
			c.PrefetchRow(int(d.rows[next]))
		}
		row, to := d.rowAt(lo+i), s.gathered[i*n:(i+1)*n]
		switch {
		case far:
			c.Relative(to, row, from)
		case c.Rows != nil:
			copy(to, c.Rows[row*c.Dim+from:])
		default:
			c.Read(to, row*c.Dim+from)
		}
	}
	return s.gathered, n
}

// gatherAhead is how many rows of so many bytes lie between a row that is copied and one whose reading begins.
func gatherAhead(rowBytes int) int { return max(2, gatherBytes/rowBytes) }

// gatherBytes is how many bytes of rows are on their way while rows are gathered.
const gatherBytes = 2 << 10

// rowTerms returns the terms of the pass's rows lo to hi-1; the scratch or t owns the slices.
func (d *pass) rowTerms(s *tests, t *terms, lo, hi int) (scale, size, offset []float32) {
	offsets := t.offset
	if d.exact != nil && d.exact.offset != nil {
		offsets = d.exact.offset
	}
	if d.rows == nil {
		return t.scale[lo:hi], t.size[lo:hi], offsets[lo:hi]
	}
	n := hi - lo
	s.scale, s.size, s.offset = topk.Grow(s.scale, n), topk.Grow(s.size, n), topk.Grow(s.offset, n)
	for i, row := range d.rows[lo:hi] {
		s.scale[i], s.size[i], s.offset[i] = t.scale[row], t.size[row], offsets[row]
	}
	return s.scale, s.size, s.offset
}

// countWithin counts the rows in [lo, hi) of an ascending list.
func countWithin(rows []uint32, lo, hi int) int {
	from, _ := slices.BinarySearch(rows, uint32(lo))
	to, _ := slices.BinarySearch(rows, uint32(hi))
	return to - from
}

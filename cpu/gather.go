package cpu

import (
	"slices"

	"thresher/backend"
	"thresher/collection"
)

const (
	// If at least gatherTogether queries have different filters, a scan of all rows together is
	// faster, unless a filter allows at most one row in gatherSparse.
	gatherTogether, gatherSparse = 8, 8
)

// denseJob is a dense scan for up to denseQueries queries.
type denseJob struct {
	js     []int    // queries
	rows   []uint32 // numbers of the rows to read, ascending; nil: all rows
	ranges []denseRange
	exact  *traits // of the rows, if no query's products have errors; else nil
}

// gathers reports whether a dense scan for the query reads only the rows its filter allows.
func (s *state) gathers() bool { return s.goal.Gather && s.goal.Filter != nil }

// denseJobs divides queries into jobs. Queries that gather the rows of one filter share a job.
// If there are many with different filters, those whose filter allows enough rows join the
// queries that read all rows, at little cost.
func (x *run) denseJobs(queries []int) []denseJob {
	all := make([]int, 0, len(queries))
	var joinable []int
	var filters []*backend.Filter
	byFilter := map[*backend.Filter][]int{}
	for _, j := range queries {
		s := &x.states[j]
		if !s.gathers() {
			all = append(all, j)
			continue
		}
		f := s.goal.Filter
		if byFilter[f] == nil {
			filters = append(filters, f)
		}
		byFilter[f] = append(byFilter[f], j)
	}
	for _, f := range filters {
		if len(byFilter[f]) <= exactQueries && f.Len() > x.c.N/gatherSparse {
			joinable = append(joinable, byFilter[f]...)
		}
	}
	if len(all)+len(joinable) >= gatherTogether {
		all = append(all, joinable...)
		for _, j := range joinable {
			delete(byFilter, x.states[j].goal.Filter)
		}
	}
	var jobs []denseJob
	for js := range slices.Chunk(all, denseQueries) {
		jobs = append(jobs, denseJob{js: js})
	}
	for _, f := range filters {
		if len(byFilter[f]) == 0 {
			continue
		}
		for js := range slices.Chunk(byFilter[f], denseQueries) {
			jobs = append(jobs, denseJob{js: js, rows: f.Rows()})
		}
	}
	return jobs
}

// orders reports whether a query of the job excludes atoms by their internal index.
func (x *run) orders(d *denseJob) bool {
	return slices.ContainsFunc(d.js, func(j int) bool { return x.states[j].goal.From > 0 })
}

// hideRows lists hiddenRows, unless it is.
func (s *state) hideRows() {
	if len(s.hiddenRows) == len(s.hidden) {
		return
	}
	s.hiddenRows = s.hiddenRows[:0]
	for _, i := range s.hidden {
		s.hiddenRows = append(s.hiddenRows, s.c.Order[i])
	}
	s.hiddenRows = backend.SortIndexes(s.hiddenRows, s.c.N)
}

// allows reports whether q's filter and From allow a row that the job reads.
func (d *denseJob) allows(q *state, t *denseTerms, row uint32) bool {
	return d.rows != nil && q.goal.From == 0 || q.allows(int(t.inverse[row]))
}

// hides reports whether a row is hidden from query q, e of the job. The rows asked for one query
// must ascend within a range.
func (s *denseScratch) hides(q *state, e int, row uint32) bool {
	at := s.hiddenAt[e]
	for at < len(q.hiddenRows) && q.hiddenRows[at] < row {
		at++
	}
	s.hiddenAt[e] = at
	return at < len(q.hiddenRows) && q.hiddenRows[at] == row
}

// rowCount returns the number of rows the job reads.
func (d *denseJob) rowCount(c *collection.Collection) int {
	if d.rows == nil {
		return c.N
	}
	return len(d.rows)
}

// rowAt returns the number of the i-th row the job reads.
func (d *denseJob) rowAt(i int) int {
	if d.rows == nil {
		return i
	}
	return int(d.rows[i])
}

// rowNumbers returns the numbers of the job's rows lo to hi-1; the scratch or the job owns the
// slice.
func (d *denseJob) rowNumbers(w *scratch, lo, hi int) []uint32 {
	if d.rows != nil {
		return d.rows[lo:hi]
	}
	w.ids = grow(w.ids, hi-lo)
	for i := range w.ids {
		w.ids[i] = uint32(lo + i)
	}
	return w.ids
}

// coordinates returns coordinates from to from+n-1 of the job's rows lo to hi-1, ld floats
// apart. They are in place, or copied to the scratch if the rows are not contiguous or are
// taken less a far centre.
func (d *denseJob) coordinates(c *collection.Collection, s *denseScratch, far bool, lo, hi, from, n int) (rows []float32, ld int) {
	if d.rows == nil && !far {
		return c.Rows[lo*c.Dim+from:], c.Dim
	}
	s.gathered = grow(s.gathered, (hi-lo)*n)
	for i := range hi - lo {
		row, to := d.rowAt(lo+i), s.gathered[i*n:(i+1)*n]
		if far {
			c.Relative(to, row, from)
		} else {
			copy(to, c.Rows[row*c.Dim+from:])
		}
	}
	return s.gathered, n
}

// rowTerms returns the terms of the job's rows lo to hi-1; the scratch or t owns the slices.
func (d *denseJob) rowTerms(s *denseScratch, t *denseTerms, lo, hi int) (scale, size, offset []float32) {
	offsets := t.offset
	if d.exact != nil && d.exact.offset != nil {
		offsets = d.exact.offset
	}
	if d.rows == nil {
		return t.scale[lo:hi], t.size[lo:hi], offsets[lo:hi]
	}
	n := hi - lo
	s.scale, s.size, s.offset = grow(s.scale, n), grow(s.size, n), grow(s.offset, n)
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

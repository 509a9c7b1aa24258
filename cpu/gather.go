package cpu

import (
	"slices"

	"thresher/backend"
	"thresher/collection"
)

const (
	// If at least gatherTogether queries have different filters, a scan of all rows together is
	// faster, unless a filter allows less than one row in gatherSparse.
	gatherTogether, gatherSparse = 8, 8
)

// denseJob is up to 64 queries that one dense scan serves.
type denseJob struct {
	js    []int    // queries
	rows  []uint32 // the rows to read, by number, ascending; nil: all
	parts []denseWork
}

// gathers reports whether a dense scan for the query reads only the rows its filter allows.
func (s *state) gathers() bool { return s.goal.Gather && s.goal.Filter != nil }

// denseJobs groups queries into jobs. Queries that gather the rows of one filter share a job.
// If there are many with different filters, those that are not too sparse join the queries
// that read all rows, at little cost.
func (x *run) denseJobs(queries []int) []denseJob {
	var all, others []int
	var filters []*backend.Filter
	of := map[*backend.Filter][]int{}
	for _, j := range queries {
		s := &x.states[j]
		if !s.gathers() {
			all = append(all, j)
			continue
		}
		f := s.goal.Filter
		if of[f] == nil {
			filters = append(filters, f)
		}
		of[f] = append(of[f], j)
	}
	for _, f := range filters {
		if len(of[f]) <= denseFew && f.Len() > x.c.N/gatherSparse {
			others = append(others, of[f]...)
		}
	}
	if len(all)+len(others) >= gatherTogether {
		all = append(all, others...)
		for _, j := range others {
			delete(of, x.states[j].goal.Filter)
		}
	}
	var jobs []denseJob
	for js := range slices.Chunk(all, denseGroup) {
		jobs = append(jobs, denseJob{js: js})
	}
	for _, f := range filters {
		if len(of[f]) == 0 {
			continue
		}
		for js := range slices.Chunk(of[f], denseGroup) {
			jobs = append(jobs, denseJob{js: js, rows: f.Rows()})
		}
	}
	return jobs
}

// count returns the number of rows the job reads.
func (d *denseJob) count(c *collection.Collection) int {
	if d.rows == nil {
		return c.N
	}
	return len(d.rows)
}

// row returns the number of the i-th row the job reads.
func (d *denseJob) row(i int) int {
	if d.rows == nil {
		return i
	}
	return int(d.rows[i])
}

// list returns the numbers of the job's rows lo to hi-1; the slice is the scratch's or the job's.
func (d *denseJob) list(w *scratch, lo, hi int) []uint32 {
	if d.rows != nil {
		return d.rows[lo:hi]
	}
	w.ids = grow(w.ids, hi-lo)
	for i := range w.ids {
		w.ids[i] = uint32(lo + i)
	}
	return w.ids
}

// block returns coordinates from to from+n-1 of the job's rows lo to hi-1, ld floats apart. It
// returns them in place, or copies them if the rows are apart or, with a far centre, must be
// taken less it.
func (d *denseJob) block(c *collection.Collection, s *denseScratch, far bool, lo, hi, from, n int) (rows []float32, ld int) {
	if d.rows == nil && !far {
		return c.Rows[lo*c.Dim+from:], c.Dim
	}
	s.gathered = grow(s.gathered, denseTile*min(denseBlock, c.Dim))
	for i := range hi - lo {
		row, to := d.row(lo+i), s.gathered[i*n:(i+1)*n]
		if far {
			c.Relative(to, row, from)
		} else {
			copy(to, c.Rows[row*c.Dim+from:])
		}
	}
	return s.gathered, n
}

// terms returns the terms of the job's rows lo to hi-1.
func (d *denseJob) terms(s *denseScratch, t *denseTerms, lo, hi int) (scale, size, offset []float32) {
	if d.rows == nil {
		return t.scale[lo:hi], t.size[lo:hi], t.offset[lo:hi]
	}
	n := hi - lo
	s.scale, s.size, s.offset = grow(s.scale, n), grow(s.size, n), grow(s.offset, n)
	for i, row := range d.rows[lo:hi] {
		s.scale[i], s.size[i], s.offset[i] = t.scale[row], t.size[row], t.offset[row]
	}
	return s.scale, s.size, s.offset
}

// within counts the rows in [lo, hi) of an ascending list.
func within(rows []uint32, lo, hi int) int {
	from, _ := slices.BinarySearch(rows, uint32(lo))
	to, _ := slices.BinarySearch(rows, uint32(hi))
	return to - from
}

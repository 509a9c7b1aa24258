package batch

import (
	"fmt"
	"math"
	"slices"

	"thresher/backend"
)

// fewListed: an allow list of at most 1/fewListed of the atoms becomes a sorted list; a
// longer one becomes a bitmap of all atoms.
const fewListed = 4096

// filter returns the filter of req's Filter and Exclude, and of those atoms that live allows; nil allows all atoms.
func (e *Engine) filter(req *Request, live *backend.Filter) (*backend.Filter, error) {
	n := e.c.N
	if req.Filter == nil && len(req.Exclude) == 0 {
		return live, nil
	}
	if err := e.checkRows("filter", -1, req.Filter); err != nil {
		return nil, err
	}
	if err := e.checkRows("exclude", -1, req.Exclude); err != nil {
		return nil, err
	}
	if req.Filter != nil && len(req.Exclude) == 0 && len(req.Filter) <= n/fewListed {
		atoms := make([]uint32, len(req.Filter))
		for k, row := range req.Filter {
			atoms[k] = e.inverse[row]
		}
		if live != nil {
			atoms = slices.DeleteFunc(atoms, func(i uint32) bool { return !live.Has(int(i)) })
		}
		return backend.ListFilter(e.c.Order, atoms), nil
	}
	b := make([]uint64, (n+63)/64)
	if live == nil && len(req.Exclude) == 0 && ascending(req.Filter) {
		rows := make([]uint32, len(req.Filter))
		for k, row := range req.Filter {
			rows[k] = uint32(row)
			i := e.inverse[row]
			b[i/64] |= 1 << (i % 64)
		}
		f := backend.NewFilter(e.c.Order, b)
		f.KeepRows(rows)
		return f, nil
	}
	switch {
	case req.Filter == nil && live != nil:
		copy(b, live.Bits())
	case req.Filter == nil:
		setBits(b, n)
	}
	for _, row := range req.Filter {
		if i := e.inverse[row]; live == nil || live.Has(int(i)) {
			b[i/64] |= 1 << (i % 64)
		}
	}
	for _, row := range req.Exclude {
		i := e.inverse[row]
		b[i/64] &^= 1 << (i % 64)
	}
	return backend.NewFilter(e.c.Order, b), nil
}

// ascending reports whether each row number is greater than the one before.
func ascending(rows []int64) bool {
	for k := 1; k < len(rows); k++ {
		if rows[k] <= rows[k-1] {
			return false
		}
	}
	return true
}

// coarsePart rounds n of total, so that filters of similar size share a plan: choosing one takes longer
// than a small search. Where most are left it is the others that are counted, so that a filter which
// excludes a few atoms is not taken for one which excludes a ninth of them.
func coarsePart(n, total int) int {
	if 2*n > total {
		return total - coarse(total-n)
	}
	return coarse(n)
}

// coarse rounds n down to one of eight numbers per octave.
func coarse(n int) int {
	if n < 16 {
		return n
	}
	return int(math.Exp2(math.Floor(8*math.Log2(float64(n))+1e-9) / 8))
}

// checkRows refuses row numbers outside 0..N-1 in a list of a query, or of all if query is -1.
func (e *Engine) checkRows(field string, query int, rows []int64) error {
	for k, row := range rows {
		if row < 0 || row >= int64(e.c.N) {
			return &RequestError{Field: field, Query: query, Err: fmt.Errorf("entry %d: row %d of %d", k, row, e.c.N)}
		}
	}
	return nil
}

// setBits sets the first n bits.
func setBits(b []uint64, n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
}

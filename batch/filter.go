package batch

import (
	"fmt"
	"math"
	"slices"

	"thresher/backend"
)

// fewListed: an allow list of at most 1/fewListed of the atoms becomes a sorted list; a
// longer one becomes a bitmap of all rows.
const fewListed = 4096

// filter returns the filter of req's Filter and Exclude, and of those atoms that live allows; nil allows all atoms.
func (e *Engine) filter(req *Request, live *backend.Filter) (*backend.Filter, error) {
	n := e.c.N
	if req.Filter == nil && len(req.Exclude) == 0 {
		return live, nil
	}
	if err := e.checkRows("exclude", -1, req.Exclude); err != nil {
		return nil, err
	}
	switch {
	case req.Filter == nil:
		return without(e, live, req.Exclude), nil
	case len(req.Exclude) == 0 && len(req.Filter) <= n/fewListed:
		if err := e.checkRows("filter", -1, req.Filter); err != nil {
			return nil, err
		}
		atoms := make([]uint32, len(req.Filter))
		for k, row := range req.Filter {
			atoms[k] = e.inverse[row]
		}
		if live != nil {
			atoms = slices.DeleteFunc(atoms, func(i uint32) bool { return !live.Has(int(i)) })
		}
		return backend.ListFilter(e.c.Order, atoms), nil
	}
	b := e.filters.bitmap((n + 63) / 64)
	if !setRows(b, req.Filter, n) {
		return nil, e.checkRows("filter", -1, req.Filter)
	}
	for _, row := range req.Exclude {
		b[row/64] &^= 1 << (row % 64)
	}
	keepLive(b, live)
	return e.filters.of(e, b), nil
}

// keepLive clears the bits in b, by row number, of what live does not allow; nil allows all.
func keepLive(b []uint64, live *backend.Filter) {
	if live == nil {
		return
	}
	for k, w := range live.RowBits() {
		b[k] &= w
	}
}

// setRows sets the bits of rows in b, of n bits that are 0, and reports whether all are from 0 to n-1. Bits of one word
// are set together if the rows ascend.
func setRows(b []uint64, rows []int64, n int) bool {
	at, word := 0, uint64(0)
	for _, row := range rows {
		if uint64(row) >= uint64(n) {
			return false
		}
		if k := int(row / 64); k != at {
			b[at] |= word
			at, word = k, 0
		}
		word |= 1 << (row % 64)
	}
	b[at] |= word
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

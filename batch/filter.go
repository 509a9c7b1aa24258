package batch

import (
	"fmt"
	"math"

	"thresher/backend"
)

// fewListed is the share of the atoms, one of so many, up to which an allow list is
// sorted; more are set in bits, of which there is one an atom.
const fewListed = 4096

// filter makes Allow and Deny a filter; nil allows all.
func (e *Engine) filter(req *Request) (*backend.Filter, error) {
	n := e.c.N
	if req.Allow == nil && len(req.Deny) == 0 {
		return nil, nil
	}
	if err := e.checkRows("allow", req.Allow); err != nil {
		return nil, err
	}
	if err := e.checkRows("deny", req.Deny); err != nil {
		return nil, err
	}
	if req.Allow != nil && len(req.Deny) == 0 && len(req.Allow) <= n/fewListed {
		atoms := make([]uint32, len(req.Allow))
		for k, row := range req.Allow {
			atoms[k] = e.inverse[row]
		}
		return backend.ListFilter(e.c.Order, atoms), nil
	}
	b := make([]uint64, (n+63)/64)
	if req.Allow == nil {
		for i := range b {
			b[i] = ^uint64(0)
		}
		if n%64 != 0 {
			b[len(b)-1] = 1<<(n%64) - 1
		}
	}
	for _, row := range req.Allow {
		i := e.inverse[row]
		b[i/64] |= 1 << (i % 64)
	}
	for _, row := range req.Deny {
		i := e.inverse[row]
		b[i/64] &^= 1 << (i % 64)
	}
	return backend.NewFilter(e.c.Order, b), nil
}

// coarse rounds a number down to one of eight in each octave: filters of about as many
// atoms have one plan, for choosing one takes longer than many a search.
func coarse(n int) int {
	if n < 16 {
		return n
	}
	return int(math.Exp2(math.Floor(8*math.Log2(float64(n))+1e-9) / 8))
}

// checkRows refuses numbers that no row has.
func (e *Engine) checkRows(field string, rows []int64) error {
	for k, row := range rows {
		if row < 0 || row >= int64(e.c.N) {
			return &RequestError{Field: field, Query: -1, Err: fmt.Errorf("entry %d: row %d of %d", k, row, e.c.N)}
		}
	}
	return nil
}

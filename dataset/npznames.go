package dataset

import (
	"bufio"
	"io"
	"strconv"
)

// npzNames reads an array of the ids of results.
type npzNames struct {
	from npzNamed // its source is not used
	cols int64
}

// openNPZNames opens the array of names that files before version 2 have beside row numbers, if there is one of
// the shape of the ids; an array of another shape is somebody's own.
func openNPZNames(src *source, entries []npzEntry, rows, cols int64) (*npzNames, error) {
	e, err := chooseArray(src.name, entries, []string{namesName})
	if e == nil || err != nil {
		return nil, err
	}
	if h := e.header; len(h.shape) != 2 || h.fortran || h.shape[0] != rows || h.shape[1] != cols {
		return nil, nil
	}
	return e.openTexts(src, cols)
}

// openTexts opens an array of ids in rows of cols, which src closes.
func (e *npzEntry) openTexts(src *source, cols int64) (*npzNames, error) {
	n := &npzNames{npzNamed{name: src.name + ":" + e.name, big: e.header.big, meter: idMeter{budget: src.budget, passing: true}}, cols}
	if err := n.from.kind(e.header); err != nil {
		return nil, located(n.from.name, -1, err)
	}
	f, err := e.file.Open()
	if err != nil {
		return nil, fail(n.from.name, "%w", err)
	}
	src.shut = append([]io.Closer{f}, src.shut...)
	n.from.r = bufio.NewReaderSize(f, 64<<10)
	if _, err := n.from.r.Discard(int(e.header.length)); err != nil {
		return nil, fail(n.from.name, "%w", cutShort(err))
	}
	return n, nil
}

// row returns the first n names of the next row.
func (z *npzNames) row(row int64, n int) ([]string, error) {
	names := make([]string, 0, n)
	for j := range z.cols {
		name, err := z.from.id()
		if err != nil {
			return nil, failAt(z.from.name, row, j, "%w", cutShort(err))
		}
		if j < int64(n) {
			names = append(names, name)
		}
	}
	if n == 0 {
		return nil, nil
	}
	return names, nil
}

// wideAt reports whether element j of a row is an id of 2^63 or more. The greatest uint64 is padding.
func (c *npzColumn) wideAt(j int) bool {
	return c.kind == 'u' && c.size == 8 && c.int(j) < -1
}

// anyWide reports whether one of the first n ids of the row is 2^63 or more.
func (c *npzColumn) anyWide(n int) bool {
	for j := range n {
		if c.wideAt(j) {
			return true
		}
	}
	return false
}

// integers returns the first n ids of the row, which fit int64.
func (c *npzColumn) integers(n int) []int64 {
	all := make([]int64, n)
	for j := range all {
		all[j] = c.int(j)
	}
	return all
}

// texts returns the first n ids of the row as texts.
func (c *npzColumn) texts(n int) []string {
	all := make([]string, n)
	for j := range all {
		if all[j] = strconv.FormatInt(c.int(j), 10); c.kind == 'u' {
			all[j] = strconv.FormatUint(uint64(c.int(j)), 10)
		}
	}
	return all
}

package dataset

import (
	"io"
)

// csrLists reads the rows of a sparse matrix. It holds one row.
type csrLists struct {
	*source
	indptr, indices *npzArray
	rows, total     int64 // lists and ids that the headers announce
	limit           int64 // columns that shape announces, -1 without
	next, at        int64 // lists and ids read
	list            []int64
	zeros           *storedZeros // nil if values do not matter
	err             error
}

// openExcluded opens the lists of a sparse matrix, whose stored zeros matter.
func openExcluded(src *source, opt ListOptions) (ListReader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	c, err := openCSR(src, entries)
	if err != nil {
		return nil, err
	}
	c.zeros, err = openZeros(src, entries, c.total, opt)
	return c, err
}

func openCSR(src *source, entries []npzEntry) (*csrLists, error) {
	if err := checkSparseFormat(src, entries); err != nil {
		return nil, err
	}
	c := &csrLists{source: src, limit: -1}
	for _, want := range []struct {
		names []string
		to    **npzArray
		size  *int64
	}{{[]string{"indptr"}, &c.indptr, &c.rows}, {[]string{"indices", idsName}, &c.indices, &c.total}} {
		e, err := chooseArray(src.name, entries, want.names)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, fail(src.name, "npz holds no array %s of a sparse matrix; it holds %s", want.names[0], listed(entryNames(entries)))
		}
		if *want.to, err = e.integers(src); err != nil {
			return nil, err
		}
		*want.size = e.header.shape[0]
	}
	c.rows--
	if err := c.checkMatrix(entries); err != nil {
		return nil, err
	}
	first, err := c.indptr.elements(0, 1)
	if err != nil {
		return nil, err
	}
	if first[0] != 0 {
		return nil, failAt(c.indptr.name, 0, -1, "begins with %d, not with 0", first[0])
	}
	return c, nil
}

// checkSparseFormat refuses a matrix that scipy wrote in another format than CSR.
func checkSparseFormat(src *source, entries []npzEntry) error {
	for i := range entries {
		if e := &entries[i]; e.name == "format" {
			text, err := e.text(src)
			if err != nil {
				return located(src.name+":"+e.name, -1, err)
			}
			if text != "csr" {
				return fail(src.name, "sparse matrix in the format %.20q; tocsr() makes the rows of one", text)
			}
		}
	}
	return nil
}

// checkMatrix compares the shape, which scipy writes too, with the arrays.
func (c *csrLists) checkMatrix(entries []npzEntry) error {
	if c.rows < 0 {
		return fail(c.indptr.name, "is empty; it has one element more than there are rows")
	}
	for i := range entries {
		e := &entries[i]
		if e.name == "shape" {
			shape, err := e.integers(c.source)
			if err != nil {
				return err
			}
			n, err := shape.elements(0, min(2, e.header.shape[0]))
			if err != nil {
				return err
			}
			if len(n) < 2 || n[0] != c.rows {
				return fail(c.name, "shape announces %d, and indptr %d rows", n, c.rows)
			}
			c.limit = n[1]
		}
	}
	return nil
}

func (c *csrLists) Len() int64   { return c.rows }
func (c *csrLists) Limit() int64 { return c.limit }

func (c *csrLists) Next() (List, error) {
	if c.err == nil && c.next == c.rows {
		c.err = c.finish()
	}
	if c.err != nil {
		return List{}, c.err
	}
	if c.err = c.row(); c.err != nil {
		return List{}, c.err
	}
	c.next++
	return List{IDs: c.list}, nil
}

func (c *csrLists) row() error {
	end, err := c.indptr.elements(c.next+1, 1)
	if err != nil {
		return err
	}
	switch {
	case end[0] < c.at:
		return failAt(c.indptr.name, c.next+1, -1, "%d is below the %d before it", end[0], c.at)
	case end[0] > c.total:
		return failAt(c.indptr.name, c.next+1, -1, "%d exceeds the %d elements of %s", end[0], c.total, c.indices.name)
	}
	if c.list, err = c.indices.elements(c.at, end[0]-c.at); err != nil {
		return err
	}
	for j, id := range c.list {
		if c.limit >= 0 && (id < 0 || id >= c.limit) {
			return failAt(c.indices.name, c.at+int64(j), -1, "id %d of row %d is outside [0, %d), the columns that shape announces", id, c.next, c.limit)
		}
	}
	if c.zeros != nil {
		if c.list, err = c.zeros.apply(c.next, c.at, c.list); err != nil {
			return err
		}
	}
	c.at = end[0]
	return nil
}

// finish checks that nothing is left, and lets zip verify its checksums.
func (c *csrLists) finish() error {
	if c.at != c.total {
		return failAt(c.indptr.name, c.rows, -1, "ends with %d, and %s has %d elements", c.at, c.indices.name, c.total)
	}
	for _, a := range []*npzArray{c.indptr, c.indices} {
		if err := a.finish("elements"); err != nil {
			return err
		}
	}
	return io.EOF
}

// integers opens an array of one dimension.
func (e *npzEntry) integers(src *source) (*npzArray, error) {
	a := e.array(src)
	if err := a.check(want{as: asInteger}); err != nil {
		return nil, err
	}
	return a, a.open(src, e)
}

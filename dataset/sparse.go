package dataset

import (
	"fmt"
	"io"
	"slices"
)

// sparseRows reads a sparse matrix of scipy row by row, written out densely.
type sparseRows struct {
	*source
	lists  *csrLists // the columns of each row
	values *npzArray
	kind   kind
	dim    int
	row    []float32 // values of one row
	wide   []float64 // the same, if float32 may not hold them
	sorted []int64   // its columns
	err    error
}

// sparseArrays are the arrays of a sparse matrix in rows.
func sparseArrays() []string { return []string{"indptr", "indices", "shape", "format", "data"} }

// sparseMark is the array by which scipy tells its sparse arrays from its sparse matrices.
const sparseMark = "_is_array"

// isSparse reports whether an npz has the arrays of a sparse matrix, as scipy.sparse.save_npz
// writes them in each of its formats.
func isSparse(entries []npzEntry) bool {
	has := map[string]bool{}
	for i := range entries {
		has[entries[i].name] = true
	}
	return has["data"] && (has["format"] && has["shape"] || has["indptr"] && has["indices"])
}

func openSparse(src *source, entries []npzEntry, opt Options) (Reader, error) {
	if z, err := src.zip(); err == nil && z.Comment == graphComment {
		return nil, fail(src.name, "is a graph of neighbours, written by graph, and no file of vectors; saved again by scipy.sparse it is a matrix like others")
	}
	lists, err := openCSR(src, entries)
	if err != nil {
		return nil, err
	}
	s := &sparseRows{source: src, lists: lists}
	if s.lists.limit < 0 {
		return nil, fail(src.name, "the sparse matrix has no shape, so its number of columns is not known")
	}
	if err := s.fits(opt); err != nil {
		return nil, err
	}
	if err := s.openValues(entries); err != nil {
		return nil, err
	}
	return opt.narrow(s, s.name+":data"), nil
}

// fits compares the size of the matrix with the limit.
func (s *sparseRows) fits(opt Options) error {
	rows, dim := s.lists.rows, s.lists.limit
	if err := s.budget.checkShape(s.name, rows, dim); err != nil {
		return err
	}
	limit := opt.DenseLimit
	if limit == 0 {
		limit = DefaultDenseLimit
	}
	if bytes, ok := product(rows, dim, 4); !ok || bytes > limit {
		return fail(s.name, "a sparse matrix of %d x %d with %d values takes %.4g MB as dense float32, more than the %.4g MB of %s", rows, dim, s.lists.total, float64(rows)*float64(dim)*4e-6, float64(limit)*1e-6, opt.words().DenseLimit)
	}
	s.dim = int(dim)
	return nil
}

func (s *sparseRows) openValues(entries []npzEntry) error {
	for i := range entries {
		e := &entries[i]
		if e.name != "data" {
			continue
		}
		k, err := e.header.kind()
		if err != nil {
			return fail(s.name+":data", "%w", err)
		}
		if len(e.header.shape) != 1 || e.header.shape[0] != s.lists.total {
			return fail(s.name+":data", "shape %v where indices have %d elements", e.header.shape, s.lists.total)
		}
		s.kind = k
		s.values = e.array(s.source)
		return s.values.open(s.source, e)
	}
	return fail(s.name, "npz holds no array data of a sparse matrix")
}

func (s *sparseRows) Dim() int      { return s.dim }
func (s *sparseRows) Len() int64    { return s.lists.rows }
func (s *sparseRows) IDs() []string { return nil }

func (s *sparseRows) element() kind { return s.kind }
func (s *sparseRows) isWide() bool  { return s.kind.wide() }
func (s *sparseRows) isWhole() bool { return s.kind.whole() }

func (s *sparseRows) Read(dst []float32) (int, error) {
	if s.isWide() {
		return 0, errWide
	}
	return readSparse(s, dst, &s.row)
}

func (s *sparseRows) readWide(dst []float64) (int, error) { return readSparse(s, dst, &s.wide) }

func readSparse[T precision](s *sparseRows, dst []T, row *[]T) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(dst) < s.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/s.dim; n++ {
		if s.err = readSparseRow(s, dst[n*s.dim:(n+1)*s.dim], row); s.err != nil {
			break
		}
	}
	if s.err == io.EOF && n > 0 {
		return n, nil
	}
	return n, s.err
}

// readSparseRow writes the next row out. values is memory for what is stored of it.
func readSparseRow[T precision](s *sparseRows, dst []T, values *[]T) error {
	at, row := s.lists.at, s.lists.next
	list, err := s.lists.Next()
	if err == io.EOF {
		return s.finish()
	}
	if err != nil {
		return err
	}
	if err := decodeValues(s, values, at, int64(len(list.IDs))); err != nil {
		return err
	}
	if column := s.repeated(list.IDs); column >= 0 {
		return failAt(s.name, row, column, "the sparse matrix has this element twice; sum_duplicates() adds the two")
	}
	clear(dst)
	for j, column := range list.IDs {
		dst[column] = (*values)[j]
	}
	return nil
}

// repeated returns a column that a row has twice, or -1.
func (s *sparseRows) repeated(columns []int64) int64 {
	if !slices.IsSorted(columns) {
		s.sorted = append(s.sorted[:0], columns...)
		slices.Sort(s.sorted)
		columns = s.sorted
	}
	for j := 1; j < len(columns); j++ {
		if columns[j] == columns[j-1] {
			return columns[j]
		}
	}
	return -1
}

// decodeValues reads n values, of which the first is element at.
func decodeValues[T precision](s *sparseRows, values *[]T, at, n int64) (err error) {
	c := s.values
	size := s.kind.size()
	if err := c.read(n); err != nil {
		return failAt(c.name, at, -1, "%w", err)
	}
	*values = sized(*values, int(n))
	if bad := decodeAs(s.kind, *values, c.buf); bad >= 0 {
		return failAt(c.name, at+int64(bad), -1, "%w", s.kind.refusal(c.buf[bad*size:]))
	}
	return nil
}

// finish checks that no value is left, and lets zip verify its checksum.
func (s *sparseRows) finish() error {
	switch _, err := s.values.r.ReadByte(); {
	case err == nil:
		return fail(s.values.name, "data goes on after the elements that the header announces")
	case err != io.EOF:
		return fail(s.values.name, "%w", cutShort(fmt.Errorf("after the last value: %w", err)))
	}
	return io.EOF
}

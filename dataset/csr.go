package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// A graph is written from its rows: the result of query i holds the edges that leave i, their
// targets as IDs and their weights as Scores. Rows are in ascending order, without gaps.

// graphComment marks a zip as a graph of neighbours, which has the arrays of any sparse matrix and
// is not taken for one of vectors.
const graphComment = "thresher graph"

// WriteCSR writes a graph of n rows as a sparse matrix that scipy.sparse.load_npz opens: an
// uncompressed npz with data float32, indices, indptr, shape int64 [2] and format "csr". Column j
// of row i holds the weight of the edge from i to j; the entries of a row stay in their order.
// indices and indptr are int32, or int64 where the number of rows or of edges needs it.
func WriteCSR(rows EachResult, n int64, out io.Writer) error {
	edges, count := int64(0), int64(0)
	err := rows(func(i int64, r *Result) error {
		switch {
		case r.Query != i:
			return fmt.Errorf("row %d of a graph where row %d is expected", r.Query, i)
		case len(r.Scores) != len(r.Rows):
			return fmt.Errorf("row %d of a graph: %d weights for %d edges", i, len(r.Scores), len(r.Rows))
		}
		for _, id := range r.Rows {
			if id < 0 || id >= n {
				return fmt.Errorf("row %d of a graph: edge to %d, there are %d rows", i, id, n)
			}
		}
		edges += int64(len(r.Rows))
		count++
		return nil
	})
	if err != nil {
		return err
	}
	if count != n {
		return fmt.Errorf("%d rows of a graph of %d", count, n)
	}
	z := zip.NewWriter(out)
	if err := z.SetComment(graphComment); err != nil {
		return err
	}
	for _, part := range csrParts(n, edges) {
		entry, err := z.CreateHeader(npzHeader(part.name))
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(entry, streamBuffer)
		if _, err := w.Write(part.head); err != nil {
			return err
		}
		if part.append != nil {
			var row []byte
			err = rows(func(_ int64, r *Result) error {
				row = part.append(row[:0], r)
				_, err := w.Write(row)
				return err
			})
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			return fmt.Errorf("array %s: %w", part.name, err)
		}
	}
	return z.Close()
}

// csrPart is one array of a sparse matrix: its beginning, and what each row adds.
type csrPart struct {
	name   string
	head   []byte
	append func(dst []byte, r *Result) []byte // nil if there is no more
}

// csrParts describes the arrays of a square matrix of n rows.
func csrParts(n, edges int64) []csrPart {
	le := binary.LittleEndian
	integer, appendInt := "<i4", func(dst []byte, x int64) []byte { return le.AppendUint32(dst, uint32(x)) }
	if n > math.MaxInt32 || edges > math.MaxInt32 {
		integer, appendInt = "<i8", func(dst []byte, x int64) []byte { return le.AppendUint64(dst, uint64(x)) }
	}
	end := int64(0)
	return []csrPart{
		{"indices", appendNPYHeader(nil, integer, edges), func(dst []byte, r *Result) []byte {
			for _, id := range r.Rows {
				dst = appendInt(dst, id)
			}
			return dst
		}},
		{"indptr", appendInt(appendNPYHeader(nil, integer, n+1), 0), func(dst []byte, r *Result) []byte {
			end += int64(len(r.Rows))
			return appendInt(dst, end)
		}},
		{"format", append(appendNPYHeader(nil, "|S3"), "csr"...), nil},
		{"shape", le.AppendUint64(le.AppendUint64(appendNPYHeader(nil, "<i8", 2), uint64(n)), uint64(n)), nil},
		{"data", appendNPYHeader(nil, "<f4", edges), func(dst []byte, r *Result) []byte {
			for _, s := range r.Scores {
				dst = le.AppendUint32(dst, math.Float32bits(s))
			}
			return dst
		}},
	}
}

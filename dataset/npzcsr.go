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
// indices and indptr are int32, or int64 where the number of rows or of edges needs it. Where all rows have
// Scores64, scores64 has them, which scipy does not read.
func WriteCSR(rows EachResult, n int64, out io.Writer) error {
	edges, count, wide := int64(0), int64(0), true
	err := rows(func(i int64, r *Result) error {
		switch {
		case r.Query != i:
			return fmt.Errorf("row %d of a graph where row %d is expected", r.Query, i)
		case len(r.Scores) != len(r.Rows):
			return fmt.Errorf("row %d of a graph: %d weights for %d edges", i, len(r.Scores), len(r.Rows))
		case r.Scores64 != nil && len(r.Scores64) != len(r.Rows):
			return fmt.Errorf("row %d of a graph: %d weights in float64 for %d edges", i, len(r.Scores64), len(r.Rows))
		}
		for _, id := range r.Rows {
			if id < 0 || id >= n {
				return fmt.Errorf("row %d of a graph: edge to %d, there are %d rows", i, id, n)
			}
		}
		edges += int64(len(r.Rows))
		wide = wide && (r.Scores64 != nil || len(r.Rows) == 0)
		count++
		return nil
	})
	if err != nil {
		return err
	}
	if count != n {
		return fmt.Errorf("%d rows of a graph of %d", count, n)
	}
	w := npzWriter{zip.NewWriter(out)}
	if err := w.z.SetComment(graphComment); err != nil {
		return err
	}
	if err := w.csr(rows, n, edges); err != nil {
		return err
	}
	if wide {
		err := w.ofRows(scores64Name, "<f8", edges, nil, rows, func(dst []byte, r *Result) []byte {
			for _, s := range r.Scores64 {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s))
			}
			return dst
		})
		if err != nil {
			return err
		}
	}
	return w.z.Close()
}

// csr writes the arrays of a square matrix of n rows.
func (w npzWriter) csr(rows EachResult, n, edges int64) error {
	le := binary.LittleEndian
	integer, appendInt := csrInteger(n, edges)
	err := w.ofRows("indices", integer, edges, nil, rows, func(dst []byte, r *Result) []byte {
		for _, id := range r.Rows {
			dst = appendInt(dst, id)
		}
		return dst
	})
	if err != nil {
		return err
	}
	end := int64(0)
	err = w.ofRows("indptr", integer, n+1, appendInt(nil, 0), rows, func(dst []byte, r *Result) []byte {
		end += int64(len(r.Rows))
		return appendInt(dst, end)
	})
	if err != nil {
		return err
	}
	if err := w.whole("format", append(appendNPYHeader(nil, "|S3"), "csr"...)); err != nil {
		return err
	}
	if err := w.whole("shape", le.AppendUint64(le.AppendUint64(appendNPYHeader(nil, "<i8", 2), uint64(n)), uint64(n))); err != nil {
		return err
	}
	return w.ofRows("data", "<f4", edges, nil, rows, func(dst []byte, r *Result) []byte {
		for _, s := range r.Scores {
			dst = le.AppendUint32(dst, math.Float32bits(s))
		}
		return dst
	})
}

// csrInteger returns the dtype of indices, and what appends one.
func csrInteger(n, edges int64) (descr string, add func(dst []byte, x int64) []byte) {
	if n > math.MaxInt32 || edges > math.MaxInt32 {
		return "<i8", func(dst []byte, x int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(x)) }
	}
	return "<i4", func(dst []byte, x int64) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(x)) }
}

// ofRows writes an array of a length: what it begins with, and what add appends for every row.
func (w npzWriter) ofRows(name, descr string, length int64, first []byte, rows EachResult, add func(dst []byte, r *Result) []byte) error {
	return w.array(name, descr, []int64{length}, func(b *bufio.Writer) error {
		row := first
		b.Write(row) // an error is kept until the flush
		return rows(func(_ int64, r *Result) error {
			row = add(row[:0], r)
			_, err := b.Write(row)
			return err
		})
	})
}

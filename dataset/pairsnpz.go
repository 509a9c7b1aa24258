package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// npzWriter writes arrays to an uncompressed npz.
type npzWriter struct{ z *zip.Writer }

// array writes an array whose elements fill writes.
func (n npzWriter) array(name, descr string, shape []int64, fill func(w *bufio.Writer) error) error {
	entry, err := n.z.CreateHeader(npzHeader(name))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(entry, npzBuffer)
	w.Write(appendNPYHeader(nil, descr, shape...)) // an error is kept until the flush
	if err := fill(w); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return w.Flush()
}

// writePairsNPZ writes the scores as a sparse matrix, as scipy.sparse.save_npz does.
func writePairsNPZ(out io.Writer, each EachPair, t *PairTable) error {
	le := binary.LittleEndian
	z := zip.NewWriter(out)
	n := npzWriter{z}
	element := make([]byte, 0, 8)
	pairs := func(name, descr string, append func(dst []byte, p *Pair) []byte) error {
		return n.array(name, descr, []int64{t.Count}, func(w *bufio.Writer) error {
			left := t.Count
			err := each(func(p *Pair) error {
				left--
				_, err := w.Write(append(element, p))
				return err
			})
			if err == nil && left != 0 {
				err = fmt.Errorf("%d pairs, not %d", t.Count-left, t.Count)
			}
			return err
		})
	}
	constant := func(name, descr string, shape []int64, data []byte) error {
		return n.array(name, descr, shape, func(w *bufio.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	index, number := "<i8", le.AppendUint64
	if max(t.RowsA, t.RowsB) <= math.MaxInt32 { // as scipy does
		index, number = "<i4", func(dst []byte, v uint64) []byte { return le.AppendUint32(dst, uint32(v)) }
	}
	size := le.AppendUint64(le.AppendUint64(nil, uint64(t.RowsA)), uint64(t.RowsB))
	for _, write := range []func() error{
		func() error {
			return pairs("row", index, func(dst []byte, p *Pair) []byte { return number(dst, uint64(p.A)) })
		},
		func() error {
			return pairs("col", index, func(dst []byte, p *Pair) []byte { return number(dst, uint64(p.B)) })
		},
		func() error { return constant("format", "|S3", nil, []byte("coo")) },
		func() error { return constant("shape", "<i8", []int64{2}, size) },
		func() error {
			return pairs("data", "<f4", func(dst []byte, p *Pair) []byte { return le.AppendUint32(dst, math.Float32bits(p.Score)) })
		},
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return z.Close()
}

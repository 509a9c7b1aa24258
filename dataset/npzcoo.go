package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// writeCOO writes the scores of pairs as a sparse matrix, as scipy.sparse.save_npz does in the format coo.
func writeCOO(out io.Writer, each EachPair, t *PairTable) error {
	le := binary.LittleEndian
	n := npzWriter{zip.NewWriter(out)}
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
	index, number := "<i8", le.AppendUint64
	if max(t.RowsA, t.RowsB) <= math.MaxInt32 { // as scipy does
		index, number = "<i4", func(dst []byte, v uint64) []byte { return le.AppendUint32(dst, uint32(v)) }
	}
	size := le.AppendUint64(le.AppendUint64(appendNPYHeader(nil, "<i8", 2), uint64(t.RowsA)), uint64(t.RowsB))
	for _, write := range []func() error{
		func() error {
			return pairs("row", index, func(dst []byte, p *Pair) []byte { return number(dst, uint64(p.A)) })
		},
		func() error {
			return pairs("col", index, func(dst []byte, p *Pair) []byte { return number(dst, uint64(p.B)) })
		},
		func() error { return n.whole("format", append(appendNPYHeader(nil, "|S3"), "coo"...)) },
		func() error { return n.whole("shape", size) },
		func() error {
			return pairs("data", "<f4", func(dst []byte, p *Pair) []byte { return le.AppendUint32(dst, math.Float32bits(p.Score)) })
		},
		func() error { // which scipy does not read
			return pairs(scores64Name, "<f8", func(dst []byte, p *Pair) []byte { return le.AppendUint64(dst, math.Float64bits(p.Score64)) })
		},
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return n.z.Close()
}

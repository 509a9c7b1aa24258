package dataset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WriteFBin writes an fbin: uint32 rows, uint32 dim, the rows.
func WriteFBin(w io.Writer, rows, dim int, data []float32) error {
	if err := checkData(rows, dim, data); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(rows))
	head = binary.LittleEndian.AppendUint32(head, uint32(dim))
	if _, err := w.Write(head); err != nil {
		return err
	}
	return writeFloats(w, data)
}

// truthWriter writes ground truth from the records of a spool, which it reads once to count
// and once for each block.
type truthWriter struct {
	spool io.ReadSeeker
	out   *bufio.Writer
	k     int // 0 if ranged
	m, n  int64
	row   []byte
}

// AssembleTruth writes ground truth as the big-ann-benchmarks do: ids int32 [m,k], padded
// with -1, and after them scores float32 [m,k], padded with -Inf. A k of 0 writes the form of
// a range search, with a count a query. Records must be in the order of their queries, from 0
// without gaps; ids beyond int32 and records without scores are errors.
func AssembleTruth(spool io.ReadSeeker, k int, out io.Writer) error {
	if k < 0 || k > math.MaxInt32 {
		return fmt.Errorf("k = %d is not in 0..%d", k, math.MaxInt32)
	}
	t, err := newTruthWriter(spool, k, out, true)
	if err != nil {
		return err
	}
	if k == 0 {
		err := t.block(func(r *Result) { t.append(uint32(len(r.Rows))) })
		if err != nil {
			return err
		}
	}
	if err := t.idBlock(); err != nil {
		return err
	}
	err = t.block(func(r *Result) { t.row = appendFloats(t.row, r.Scores, k) })
	if err != nil {
		return err
	}
	return t.out.Flush()
}

// AssembleTruthIDs writes ids int32 [m,k] as AssembleTruth does, without scores. k is at
// least 1.
func AssembleTruthIDs(spool io.ReadSeeker, k int, out io.Writer) error {
	if k < 1 || k > math.MaxInt32 {
		return fmt.Errorf("k = %d is not in 1..%d", k, math.MaxInt32)
	}
	t, err := newTruthWriter(spool, k, out, false)
	if err != nil {
		return err
	}
	if err := t.idBlock(); err != nil {
		return err
	}
	return t.out.Flush()
}

// newTruthWriter checks every record and writes the header.
func newTruthWriter(spool io.ReadSeeker, k int, out io.Writer, scored bool) (*truthWriter, error) {
	t := &truthWriter{spool: spool, out: bufio.NewWriterSize(out, streamBuffer), k: k}
	err := EachRecord(spool, func(i int64, r *Result) error {
		limit := k
		if k == 0 {
			limit = len(r.Rows)
		}
		if err := inOrder(i, r, limit); err != nil {
			return err
		}
		if scored && r.Scores == nil && len(r.Rows) > 0 {
			return fmt.Errorf("it has no scores; a name that ends in %s is for ids alone", idsOnlySuffix)
		}
		for _, id := range r.Rows {
			if err := fitInt32(id, IBin); err != nil {
				return err
			}
		}
		t.m++
		t.n += int64(len(r.Rows))
		if t.m > math.MaxInt32 || k == 0 && t.n > math.MaxInt32 {
			return fmt.Errorf("%d queries with %d ids do not fit the header of %s; write .npz or .parquet", t.m, t.n, IBin)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if k > 0 {
		t.n = int64(k)
	}
	t.append(uint32(t.m))
	t.append(uint32(t.n))
	_, err = t.out.Write(t.row)
	return t, err
}

func (t *truthWriter) append(v uint32) { t.row = binary.LittleEndian.AppendUint32(t.row, v) }

func (t *truthWriter) idBlock() error {
	return t.block(func(r *Result) { t.row = appendInt32s(t.row, r.Rows, t.k) })
}

// block writes what add appends for every record.
func (t *truthWriter) block(add func(r *Result)) error {
	seen := int64(0)
	err := EachRecord(t.spool, func(i int64, r *Result) error {
		t.row = t.row[:0]
		add(r)
		seen++
		_, err := t.out.Write(t.row)
		return err
	})
	if err == nil && seen != t.m {
		err = errors.New("records were appended meanwhile")
	}
	return err
}

package dataset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WriteFVecs writes an fvecs: every row is an int32 dim and dim float32.
func WriteFVecs(w io.Writer, rows, dim int, data []float32) error {
	if err := checkData(rows, dim, data); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(dim))
	for i := range rows {
		if _, err := w.Write(head); err != nil {
			return err
		}
		if err := writeFloats(w, data[i*dim:(i+1)*dim]); err != nil {
			return err
		}
	}
	return nil
}

// AssembleIVecs writes an ivecs: for every query an int32 k and k int32 ids, padded with
// -1. Records must be in the order of their queries, from 0 without gaps; ids beyond
// int32 are an error.
func AssembleIVecs(spool io.ReadSeeker, k int, out io.Writer) error {
	if k < 1 || k > math.MaxInt32 {
		return fmt.Errorf("k = %d is not in 1..%d", k, math.MaxInt32)
	}
	w := bufio.NewWriterSize(out, streamBuffer)
	var row []byte
	err := EachRecord(spool, func(i int64, r *Result) error {
		if err := inOrder(i, r, k); err != nil {
			return err
		}
		for _, id := range r.Rows {
			if err := fitInt32(id, IVecs); err != nil {
				return err
			}
		}
		row = binary.LittleEndian.AppendUint32(row[:0], uint32(k))
		row = appendInt32s(row, r.Rows, k)
		_, err := w.Write(row)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// appendInt32s appends ids as int32, padded with -1 to k.
func appendInt32s(dst []byte, ids []int64, k int) []byte {
	for _, id := range ids {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(id))
	}
	for range k - len(ids) {
		dst = binary.LittleEndian.AppendUint32(dst, math.MaxUint32)
	}
	return dst
}

// appendFloats appends scores, padded with -Inf to k.
func appendFloats(dst []byte, scores []float32, k int) []byte {
	for _, s := range scores {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(s))
	}
	for range k - len(scores) {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(math.Inf(-1))))
	}
	return dst
}

// assembleFVecs writes scores as for every query an int32 k and k float32.
func assembleFVecs(spool io.ReadSeeker, k int, out io.Writer) error {
	return assembleScores(spool, k, FVecs, out)
}

// assembleFBin writes scores as uint32 m and k and then m x k float32.
func assembleFBin(spool io.ReadSeeker, k int, out io.Writer) error {
	return assembleScores(spool, k, FBin, out)
}

func assembleScores(spool io.ReadSeeker, k int, format Format, out io.Writer) error {
	if k < 1 || k > math.MaxInt32 {
		return fmt.Errorf("k = %d is not in 1..%d", k, math.MaxInt32)
	}
	le := binary.LittleEndian
	m := int64(0)
	err := EachRecord(spool, func(i int64, r *Result) error {
		m++
		if len(r.Rows) > 0 && r.Scores == nil {
			return errors.New("it has no scores")
		}
		return inOrder(i, r, k)
	})
	if err != nil {
		return err
	}
	if m > math.MaxUint32 {
		return fmt.Errorf("%d queries do not fit the header of %s", m, format)
	}
	w := bufio.NewWriterSize(out, streamBuffer)
	var row []byte
	if format == FBin {
		row = le.AppendUint32(le.AppendUint32(nil, uint32(m)), uint32(k))
	}
	err = EachRecord(spool, func(_ int64, r *Result) error {
		if format == FVecs {
			row = le.AppendUint32(row, uint32(k))
		}
		row = appendFloats(row, r.Scores, k)
		_, err := w.Write(row)
		row = row[:0]
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

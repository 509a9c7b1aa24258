package dataset

import (
	"encoding/binary"
)

// ivecsResults reads ids only.
type ivecsResults struct {
	*vecs
}

func openIVecsResults(src *source) (ResultReader, error) {
	v, err := newVecs(src, IVecs)
	if err != nil {
		return nil, err
	}
	return &ivecsResults{vecs: v}, nil
}

func (v *ivecsResults) Next() (Result, error) {
	if v.err == nil && v.next > 0 {
		v.buf, v.err = v.row()
	}
	if v.err != nil {
		return Result{}, v.err
	}
	id := func(j int) int64 { return int64(int32(binary.LittleEndian.Uint32(v.buf[4*j:]))) }
	n := 0
	for n < v.dim && id(n) >= 0 {
		n++
	}
	if err := onlyPadding(id, n, v.dim); err != nil {
		v.err = failAt(v.name, v.next, int64(n), "%w", err)
		return Result{}, v.err
	}
	r := Result{Query: v.next, Rows: make([]int64, n)}
	for j := range r.Rows {
		r.Rows[j] = id(j)
	}
	v.next++
	return r, nil
}

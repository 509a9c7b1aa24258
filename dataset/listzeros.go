package dataset

import (
	"io"
	"slices"
)

// storedZeros reads the values of a sparse matrix beside its columns, to find those that are zero:
// the matrix says of such an element that it is there and that it is not.
type storedZeros struct {
	*npzArray
	opt  ListOptions
	left int64 // values not read yet
}

// widestValue bounds the bytes of a value: a complex number of two long doubles.
const widestValue = 32

// openZeros returns nil if the npz has no values, or if zeros are kept.
func openZeros(src *source, entries []npzEntry, total int64, opt ListOptions) (*storedZeros, error) {
	at := slices.IndexFunc(entries, func(e npzEntry) bool { return e.name == "data" })
	if at < 0 || opt.Zeros == ZerosKeep {
		return nil, nil
	}
	e := &entries[at]
	z := &storedZeros{npzArray: e.array(src), opt: opt, left: total}
	if z.size < 1 || z.size > widestValue || !slices.Contains([]byte("biuf"), z.form) {
		return nil, fail(z.name, "dtype %q: the values of a sparse matrix are bools or numbers", e.header.descr)
	}
	if len(e.header.shape) != 1 || e.header.shape[0] != total {
		return nil, fail(z.name, "shape %v where indices have %d elements", e.header.shape, total)
	}
	return z, z.open(src, e)
}

// apply reads the values of a row, whose first element is element at, and drops the columns where
// they are zero, or refuses them.
func (z *storedZeros) apply(row, at int64, columns []int64) (kept []int64, err error) {
	if err := z.read(int64(len(columns))); err != nil {
		return nil, failAt(z.name, at, -1, "%w", err)
	}
	kept = columns[:0]
	for j, column := range columns {
		if !z.isZero(z.buf[j*z.size : (j+1)*z.size]) {
			kept = append(kept, column)
			continue
		}
		if z.opt.Zeros == "" {
			return nil, failAt(z.name, at+int64(j), -1, "row %d stores a zero for column %d: it may be an id, as it is stored, or none, as it is zero; %s=%s keeps such ids, %s=%s drops them", row, column, z.opt.ZerosWord, ZerosKeep, z.opt.ZerosWord, ZerosDrop)
		}
	}
	z.left -= int64(len(columns))
	if z.left > 0 {
		return kept, nil
	}
	if _, err := z.r.ReadByte(); err != io.EOF { // zip verifies its checksum
		return nil, fail(z.name, "after the last value: %v", err)
	}
	return kept, nil
}

// isZero reports whether an element is zero, which floats are with either sign.
func (z *storedZeros) isZero(b []byte) bool {
	for i, x := range b {
		if z.form == 'f' && i == len(b)-1 {
			x &= 0x7f
		}
		if x != 0 {
			return false
		}
	}
	return true
}

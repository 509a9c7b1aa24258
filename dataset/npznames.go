package dataset

import (
	"encoding/binary"
	"math"
	"strconv"
)

// matrix is the array of the ids of results, padded with -1, for uint64 with 2^64 - 1, or with empty texts.
func (f *idForm) matrix(name string) npzPart {
	return npzPart{name, f.descr(), true, func(dst []byte, r *Result, k int) []byte {
		for i := range r.Found() {
			dst = f.append(dst, r.ID(i))
		}
		for range k - r.Found() {
			dst = f.pad(dst)
		}
		return dst
	}}
}

// column is the array of the ids of queries.
func (f *idForm) column(name string) npzPart {
	return npzPart{name, f.descr(), false, func(dst []byte, r *Result, _ int) []byte {
		if r.QueryID == "" {
			return f.pad(dst)
		}
		return f.append(dst, r.QueryID)
	}}
}

// descr is the dtype.
func (f *idForm) descr() string {
	switch {
	case f.texts:
		return "<U" + strconv.Itoa(max(1, f.length))
	case f.wide:
		return "<u8"
	}
	return "<i8"
}

// append appends an id that see has seen.
func (f *idForm) append(dst []byte, id string) []byte {
	if f.texts {
		return appendUCS4(dst, id, max(1, f.length))
	}
	x, _ := strconv.ParseUint(id, 10, 64) // see has parsed it
	return binary.LittleEndian.AppendUint64(dst, x)
}

// pad appends what is no id.
func (f *idForm) pad(dst []byte) []byte {
	if f.texts {
		return appendUCS4(dst, "", max(1, f.length))
	}
	return binary.LittleEndian.AppendUint64(dst, math.MaxUint64)
}

// appendUCS4 appends a text as NumPy stores it: code points of four bytes, padded with zeros to a length.
func appendUCS4(dst []byte, text string, length int) []byte {
	for _, c := range text {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c))
		length--
	}
	return append(dst, make([]byte, 4*length)...)
}

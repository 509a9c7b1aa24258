package dataset

import (
	"bufio"
	"encoding/binary"
	"io"
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

// npzNames reads an array of the ids of results.
type npzNames struct {
	from npzNamed // its source is not used
	cols int64
}

// openNPZNames opens the array of names that files before version 2 have beside row numbers, if there is one of
// the shape of the ids; an array of another shape is somebody's own.
func openNPZNames(src *source, entries []npzEntry, rows, cols int64) (*npzNames, error) {
	e, err := chooseArray(src.name, entries, []string{namesName})
	if e == nil || err != nil {
		return nil, err
	}
	if h := e.header; len(h.shape) != 2 || h.fortran || h.shape[0] != rows || h.shape[1] != cols {
		return nil, nil
	}
	return e.openTexts(src, cols)
}

// openTexts opens an array of ids in rows of cols, which src closes.
func (e *npzEntry) openTexts(src *source, cols int64) (*npzNames, error) {
	n := &npzNames{npzNamed{name: src.name + ":" + e.name, big: e.header.big, meter: idMeter{budget: src.budget, passing: true}}, cols}
	if err := n.from.kind(e.header); err != nil {
		return nil, located(n.from.name, -1, err)
	}
	f, err := e.file.Open()
	if err != nil {
		return nil, fail(n.from.name, "%w", err)
	}
	src.shut = append([]io.Closer{f}, src.shut...)
	n.from.r = bufio.NewReaderSize(f, 64<<10)
	if _, err := n.from.r.Discard(int(e.header.length)); err != nil {
		return nil, fail(n.from.name, "%w", cutShort(err))
	}
	return n, nil
}

// row returns the first n names of the next row.
func (z *npzNames) row(row int64, n int) ([]string, error) {
	names := make([]string, 0, n)
	for j := range z.cols {
		name, err := z.from.id()
		if err != nil {
			return nil, failAt(z.from.name, row, j, "%w", cutShort(err))
		}
		if j < int64(n) {
			names = append(names, name)
		}
	}
	if n == 0 {
		return nil, nil
	}
	return names, nil
}

// wideAt reports whether element j of a row is an id of 2^63 or more. The greatest uint64 is padding.
func (c *npzColumn) wideAt(j int) bool {
	return c.kind == 'u' && c.size == 8 && c.int(j) < -1
}

// anyWide reports whether one of the first n ids of the row is 2^63 or more.
func (c *npzColumn) anyWide(n int) bool {
	for j := range n {
		if c.wideAt(j) {
			return true
		}
	}
	return false
}

// integers returns the first n ids of the row, which fit int64.
func (c *npzColumn) integers(n int) []int64 {
	all := make([]int64, n)
	for j := range all {
		all[j] = c.int(j)
	}
	return all
}

// texts returns the first n ids of the row as texts.
func (c *npzColumn) texts(n int) []string {
	all := make([]string, n)
	for j := range all {
		if all[j] = strconv.FormatInt(c.int(j), 10); c.kind == 'u' {
			all[j] = strconv.FormatUint(uint64(c.int(j)), 10)
		}
	}
	return all
}

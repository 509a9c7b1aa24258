package dataset

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// namesArray is the array of a result npz with the ids of the atoms, beside their row numbers in ids.
const namesArray = "names"

// namesForm is how the names of results are stored: as int64 while all are integers and fit, else as
// uint64 if all are integers from 0 on, else as texts of a fixed length.
type namesForm struct {
	some, texts, wide bool
	length            int // code points of the longest
}

// see takes the names of a result into account.
func (f *namesForm) see(r *Result) {
	for _, name := range r.IDs {
		f.some = true
		f.length = max(f.length, utf8.RuneCountInString(name))
		x, err := strconv.ParseUint(name, 10, 64)
		f.texts = f.texts || err != nil || strconv.FormatUint(x, 10) != name || x == math.MaxUint64
		f.wide = f.wide || x > math.MaxInt64
	}
}

// part is the array, padded with -1, for uint64 with 2^64 - 1, or with empty texts.
func (f *namesForm) part() npzPart {
	le := binary.LittleEndian
	if !f.texts {
		descr := "<i8"
		if f.wide {
			descr = "<u8"
		}
		return npzPart{namesArray, descr, true, func(dst []byte, r *Result, k int) []byte {
			for j := range k {
				x := uint64(math.MaxUint64)
				if j < len(r.IDs) {
					x, _ = strconv.ParseUint(r.IDs[j], 10, 64) // see has parsed it
				}
				dst = le.AppendUint64(dst, x)
			}
			return dst
		}}
	}
	length := max(1, f.length)
	return npzPart{namesArray, "<U" + strconv.Itoa(length), true, func(dst []byte, r *Result, k int) []byte {
		for j := range k {
			left := length
			if j < len(r.IDs) {
				for _, c := range r.IDs[j] {
					dst = le.AppendUint32(dst, uint32(c))
					left--
				}
			}
			dst = append(dst, make([]byte, 4*left)...)
		}
		return dst
	}}
}

// npzNames reads the names of results.
type npzNames struct {
	from npzNamed // its source is not used
	cols int64
}

// openNPZNames opens the array of names, if there is one of the shape of the ids; an array of another
// shape is somebody's own.
func openNPZNames(src *source, entries []npzEntry, rows, cols int64) (*npzNames, error) {
	e, err := chooseArray(src.name, entries, []string{namesArray})
	if e == nil || err != nil {
		return nil, err
	}
	if h := e.header; len(h.shape) != 2 || h.fortran || h.shape[0] != rows || h.shape[1] != cols {
		return nil, nil
	}
	n := &npzNames{npzNamed{name: src.name + ":" + namesArray, big: e.header.big, meter: idMeter{budget: src.budget, passing: true}}, cols}
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

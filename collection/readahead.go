package collection

import (
	"os"
	"slices"
	"unsafe"
)

// ReadAhead says that the rows of a mapped file are not all in memory, since they take more than there is: ReadRowsAhead then begins to read
// those that are named. Searches may be under way; of rows in memory it does nothing.
func (c *Collection) ReadAhead() {
	b := c.Vectors.Bytes()
	if c.ahead != nil && len(b) > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(os.Getpagesize()) == 0 {
		c.ahead.Store(true)
	}
}

// ReadsAhead reports whether ReadRowsAhead does anything.
func (c *Collection) ReadsAhead() bool { return c.ahead != nil && c.ahead.Load() }

// ReadRowsAhead has the system begin to read the rows of these numbers, in the order in which they are in the file, and does not wait for
// them. It sorts rows.
func (c *Collection) ReadRowsAhead(rows []uint32) {
	if !c.ReadsAhead() {
		return
	}
	startReadingRows(c.Vectors.Bytes(), c.Dim*c.Elem().Size(), rows)
}

// ReadBlockAhead has the system begin to read rows lo to hi-1, as ReadRowsAhead does.
func (c *Collection) ReadBlockAhead(lo, hi int) {
	if !c.ReadsAhead() || lo >= hi {
		return
	}
	page, size := os.Getpagesize(), c.Dim*c.Elem().Size()
	startReading(c.Vectors.Bytes()[lo*size/page*page : hi*size])
}

// startReadingRows has the system begin to read the rows of these numbers, of size bytes each, of a mapping that begins with a
// page, in their order. It sorts rows.
func startReadingRows(all []byte, size int, rows []uint32) {
	slices.Sort(rows)
	page := os.Getpagesize()
	from, to := 0, 0 // what is about to be read
	for _, row := range rows {
		lo, hi := int(row)*size/page*page, min((int(row+1)*size+page-1)/page*page, len(all))
		if lo > to {
			startReading(all[from:to])
			from = lo
		}
		to = max(to, hi)
	}
	startReading(all[from:to])
}

package dataset

import (
	"context"
	"io"
	"slices"
	"unsafe"

	"thresher/internal/machine"
)

// Matrix is a dense row-major matrix: row i is Data[i*Dim : (i+1)*Dim].
type Matrix struct {
	Rows, Dim int
	Data      []float32 // Rows*Dim elements
	IDs       *IDs      // one a row if ids were read, else nil
	Rests     []float32 // RestsOf all rows, nil if these are none
}

// readChunk is how many elements ReadAll reads between checks of its context.
const readChunk = 1 << 18

// ReadAll reads a whole file. It allocates memory at once if the file's size proves the
// number of rows, otherwise as rows arrive.
func ReadAll(ctx context.Context, path string, opt *Options) (*Matrix, error) {
	r, err := Open(path, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := Drain(ctx, r)
	if err != nil {
		return nil, err
	}
	return m, CheckIDs(path, m.IDs)
}

// Room is asked before rows that are read take so many bytes more than the process has, and its error ends the reading. Rows whose
// number is not known are copied as they grow: until then they take what they had as well. A nil Room gives all.
type Room func(bytes int64) error

// Drain reads the remaining rows of r. It allocates like ReadAll.
func Drain(ctx context.Context, r Reader) (*Matrix, error) { return DrainWithin(ctx, r, nil) }

// DrainWithin is Drain within what room gives.
func DrainWithin(ctx context.Context, r Reader, room Room) (*Matrix, error) {
	m := &Matrix{Dim: r.Dim()}
	d := draining[float32]{r: r, width: r.Dim(), read: r.Read, room: room}
	d.passed = func() (err error) {
		rests := RestsOf(r)
		if len(rests) > cap(m.Rests)-len(m.Rests) {
			if m.Rests, err = grown(m.Rests, max(len(rests), cap(d.rows)-len(m.Rests)), room); err != nil {
				return err
			}
		}
		m.Rests = append(m.Rests, rests...)
		return nil
	}
	ids, err := d.all(ctx)
	if err != nil {
		return nil, err
	}
	m.IDs = ids
	m.Rows, m.Data = len(d.rows)/m.Dim, d.rows
	return m, nil
}

// draining reads all rows of a Reader, of so many elements each.
type draining[T any] struct {
	r      Reader
	width  int
	read   func(dst []T) (int, error)
	passed func() error // after each read; nil: nothing
	room   Room
	rows   []T
}

// all reads the rows and returns their ids, nil without.
func (d *draining[T]) all(ctx context.Context) (_ *IDs, err error) {
	var ids IDsBuilder
	if proven, ok := d.r.(interface{ justified() bool }); ok && proven.justified() {
		if d.rows, err = grown(d.rows, int(d.r.Len())*d.width, d.room); err != nil {
			return nil, err
		}
		machine.LargePages(d.rows[:cap(d.rows)])
	}
	chunk := max(1, readChunk/d.r.Dim()) * d.width
	for err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := len(d.rows)
		free := (cap(d.rows) - at) / d.width * d.width
		past := free == 0 && int64(at/d.width) == d.r.Len() // there should be no row more, and rows need not grow to find out
		var dst []T
		switch {
		case past:
			dst = make([]T, d.width)
		case free == 0:
			if d.rows, err = grown(d.rows, max(chunk, at/4), d.room); err != nil {
				return nil, err
			}
			dst = d.rows[at : at+chunk]
		default:
			dst = d.rows[at : at+min(chunk, free)]
		}
		var n int
		n, err = d.read(dst)
		if past {
			d.rows = append(d.rows, dst[:n*d.width]...)
		} else {
			d.rows = d.rows[:at+n*d.width]
		}
		for _, id := range d.r.IDs() {
			ids.Add(id)
		}
		if d.passed != nil {
			if err := d.passed(); err != nil {
				return nil, err
			}
		}
	}
	if err != io.EOF {
		return nil, err
	}
	if ids.Len() == 0 {
		return nil, nil
	}
	return ids.IDs(), nil
}

// grown returns rows with a place for so many more elements.
func grown[T any](rows []T, more int, room Room) ([]T, error) {
	if room != nil {
		if err := room(int64(len(rows)+more) * int64(unsafe.Sizeof(*new(T)))); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 {
		return make([]T, 0, more), nil // of which nothing is written yet
	}
	return slices.Grow(rows, more), nil
}

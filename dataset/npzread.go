package dataset

import (
	"fmt"
	"io"
	"slices"

	"thresher/dataset/jsonscan"
)

// npzReader is arrays of an npz with the same number of rows, read in parallel.
type npzReader struct {
	*source
	entries []npzEntry
	wants   []want
	arrays  []*npzArray
	rows    int64
	row     int64 // that next has read last
	begun   bool
}

func openNPZRows(src *source, _ string) (tableReader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	return &npzReader{source: src, entries: entries, rows: -1}, nil
}

func (t *npzReader) Len() int64 { return t.rows }

func (t *npzReader) columns() (all []Column, err error) {
	for i := range t.entries {
		e := &t.entries[i]
		all = append(all, Column{Name: e.name, Type: e.array(t.source).valueType(), List: len(e.header.shape) > 1})
	}
	return all, nil
}

// valueType is the type by which an array is told from others; of what is none of the types it is JSON.
func (a *npzArray) valueType() Type {
	switch {
	case a.isText():
		return Text
	case a.form == 'b':
		return Bool
	case a.kind == u64:
		return Uint64
	case a.kind == f32:
		return Float32
	case a.form == 'f':
		return Float64
	case a.kind != 0:
		return Int64
	}
	return JSON
}

func (t *npzReader) fact(name string) (string, error) {
	at := slices.IndexFunc(t.entries, func(e npzEntry) bool { return e.name == name })
	if at < 0 {
		return "", nil
	}
	e := &t.entries[at]
	text, err := e.text(t.source)
	return text, located(t.name+":"+name, -1, err)
}

func (t *npzReader) choose(wants []want) error {
	t.wants = wants
	for _, w := range wants {
		a, err := t.array(w)
		if err != nil {
			return err
		}
		t.arrays = append(t.arrays, a)
	}
	return nil
}

// array opens the array that is wanted, nil if it is somebody's own.
func (t *npzReader) array(w want) (*npzArray, error) {
	at := slices.IndexFunc(t.entries, func(e npzEntry) bool { return e.name == w.name })
	if at < 0 {
		return nil, fail(t.name, "no array %q; the file holds %s", w.name, listed(entryNames(t.entries)))
	}
	e := &t.entries[at]
	a := e.array(t.source)
	err := a.check(w)
	if err == nil {
		err = t.compare(a, w)
	}
	if err != nil && w.spare && (len(e.header.shape) != 2 || e.header.fortran || !t.fits(a)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.rows = e.header.shape[0]
	return a, a.open(t.source, e)
}

// fits reports whether an array has as many rows and columns as the others.
func (t *npzReader) fits(a *npzArray) bool {
	return a.header.shape[0] == t.rows && a.header.shape[1] == t.arrays[0].cols
}

// compare refuses an array that has not as many rows as the others, or lists of another length.
func (t *npzReader) compare(a *npzArray, w want) error {
	first, has := t.wants[0], "has"
	if first.list {
		has = "have"
	}
	if rows := a.header.shape[0]; t.rows >= 0 && rows != t.rows {
		return fail(a.name, "%d rows where %s %s %d", rows, first.name, has, t.rows)
	}
	if w.list && first.list && len(t.arrays) > 0 && a.cols != t.arrays[0].cols {
		return fail(t.name, "%s have %d columns, %s %d", w.name, a.cols, first.name, t.arrays[0].cols)
	}
	return nil
}

// check refuses an array that cannot be read as what is wanted.
func (a *npzArray) check(w want) error {
	if w.as == asNumber {
		if len(a.header.shape) != 1 {
			return fail(a.name, "array has shape %v, one number a row is wanted", a.header.shape)
		}
		_, err := a.header.kind()
		return located(a.name, -1, err)
	}
	dims := 1
	if w.list {
		dims = 2
	}
	if err := a.checkShape(dims); err != nil {
		return err
	}
	switch {
	case w.as == asInteger || w.as == asID && w.list && !a.isText():
		return a.checkType(idTypes)
	case w.as == asFloat32:
		return a.checkType("f4 f8")
	case w.as == asFloat64:
		return a.checkType("f8")
	case w.as == asBool:
		return a.checkType("b1")
	case w.as == asText && !a.isText():
		return fail(a.name, "dtype %q is not that of texts", a.header.descr)
	}
	return located(a.name, -1, a.checkIDs())
}

func (t *npzReader) next(row []readCell) error {
	if t.begun {
		t.row++
	}
	t.begun = true
	if t.row == t.rows {
		return t.finish()
	}
	for i, a := range t.arrays {
		if row[i].missing = a == nil; a == nil {
			continue
		}
		if err := row[i].readNPZ(a, &t.wants[i]); err != nil {
			return t.locate(i, err)
		}
	}
	return nil
}

// readNPZ reads what an array has of a row.
func (c *readCell) readNPZ(a *npzArray, w *want) (err error) {
	switch {
	case w.as == asNumber:
		c.float, err = a.number()
		return err
	case w.as == asName || a.isText():
		return c.readNPZTexts(a, w.list)
	}
	if err := a.read(a.cols); err != nil {
		return err
	}
	n := int(a.cols)
	switch {
	case w.as == asBool:
		c.integer = int64(a.buf[0])
	case !w.list && a.form == 'f':
		c.float = a.double(0)
	case !w.list:
		c.integer = a.int(0)
	case w.as == asFloat32:
		c.floats = sized(c.floats, n)
		for j := range c.floats {
			c.floats[j] = a.float(j)
		}
	case w.as == asFloat64:
		c.doubles = sized(c.doubles, n)
		for j := range c.doubles {
			c.doubles[j] = a.double(j)
		}
	default:
		c.integers = sized(c.integers, n)
		for j := range c.integers {
			c.integers[j] = a.int(j)
		}
	}
	return nil
}

// readNPZTexts reads a text, or a list of them.
func (c *readCell) readNPZTexts(a *npzArray, list bool) (err error) {
	if !list {
		c.text, err = a.id()
		return err
	}
	c.texts = sized(c.texts, int(a.cols))
	for j := range c.texts {
		if c.texts[j], err = a.id(); err != nil {
			return &jsonscan.ElementError{Index: j, Err: err}
		}
	}
	return nil
}

func (t *npzReader) finish() error {
	for _, a := range t.arrays {
		if a == nil {
			continue
		}
		if err := a.finish(fmt.Sprintf("%d rows", t.rows)); err != nil {
			return err
		}
	}
	return io.EOF
}

func (t *npzReader) locate(column int, err error) error {
	if column < 0 {
		return inRow(t.name, t.row, err)
	}
	return inRow(t.arrays[column].name, t.row, err)
}

// openNPYRows opens an array of two dimensions as the one list of a table, which has no name.
func openNPYRows(src *source, _ string) (tableReader, error) {
	h, err := readNPYHeader(src.r)
	if err != nil {
		return nil, fail(src.name, "%w", err)
	}
	if len(h.shape) == 1 {
		return nil, fail(src.name, "array of shape (%d,) may be one answer or one id a query; save it as (m, k), a row a query", h.shape[0])
	}
	return &npzReader{source: src, entries: []npzEntry{{header: h}}, rows: -1}, nil
}

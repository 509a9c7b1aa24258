package dataset

import (
	"fmt"
	"io"
	"slices"
)

// A table of Parquet or Arrow may have a column for each coordinate of its vectors, as comma-separated values have. Which columns they
// are is decided as there (coordinateColumns).

// tableColumn is a column of a table as a choice of coordinates sees it: one of its names at the top.
type tableColumn struct {
	name string
	// kind is that of a column of numbers, 0 for others. described says what those are.
	kind      kind
	described string
	list      bool // of numbers that a vector may have
	// odd says that the column holds several values a row which are neither vectors nor texts, such as a map: a file that has one
	// may mean it as its vectors.
	odd bool
	// gap says that the column has no values, and is of no type.
	gap bool
	// number says that values are numbers of a type that coordinates do not have, such as decimals.
	number bool
}

// chosenTable are the columns of a table that make its vectors: the list, or columns of numbers.
type chosenTable struct {
	list   int // -1: columns of numbers
	vector []int
	kind   kind // of the numbers
}

// chooseTable chooses the columns of vectors. id is the column of the ids, or -1.
func chooseTable(file string, columns []tableColumn, id int, opt Options) (chosen chosenTable, err error) {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].name
	}
	c := &coordinateColumns{
		file: file, names: names, id: id,
		isList: func(i int) bool { return columns[i].list },
		none: func() error {
			return fail(file, "no column is a list of a supported type, or of numbers, each a coordinate; the file has %s", listedColumns(columns))
		},
		gap: func(i int, word string) error {
			return fail(file, "column %q has no values: it may be a coordinate or not; %s names those that make the vector", names[i], word)
		},
	}
	if opt.Column != "" {
		err = c.pick(opt)
	} else if err = c.surveyTable(columns, opt); err == nil {
		err = c.choose(opt)
	}
	if err != nil {
		return chosen, err
	}
	if c.list {
		return chosenTable{list: c.vector[0]}, nil
	}
	for _, i := range c.vector {
		if columns[i].kind == 0 {
			return chosen, fail(file, "column %q is not a list of numbers, nor of integers or floats with a coordinate each, but %s: cast it, or %s names others", names[i], columns[i].described, opt.words().Column)
		}
	}
	return chosenTable{list: -1, vector: c.vector, kind: commonKind(columns, c.vector)}, nil
}

// surveyTable sorts the columns.
func (c *coordinateColumns) surveyTable(columns []tableColumn, opt Options) error {
	odd := false
	for i := range columns {
		of := &columns[i]
		switch {
		case i == c.id || slices.Contains(opt.Except, of.name) || isPandasIndex(of.name) || of.name == idName && (opt.FindIDs || opt.IgnoreIDs):
		case of.list:
			c.lists = append(c.lists, i)
		case of.odd:
			odd = true
		case of.gap:
			c.gaps = append(c.gaps, i)
		case of.kind != 0 || of.number:
			c.numbers = append(c.numbers, i)
		}
	}
	if odd && len(c.lists) == 0 {
		return fail(c.file, "no column is a list of a supported type; the file has %s; %s names columns of numbers if they have a coordinate each", listedColumns(columns), opt.words().Column)
	}
	return nil
}

// isPandasIndex reports whether pandas calls the index of a frame so, where it writes one as a column.
func isPandasIndex(name string) bool {
	stem, numbered := family(name)
	return numbered && stem == "__index_level_#__"
}

// listedColumns lists columns for messages, with what a vector is not.
func listedColumns(columns []tableColumn) string {
	names := make([]string, len(columns))
	for i := range columns {
		if names[i] = columns[i].name; columns[i].odd {
			names[i] += " (" + columns[i].described + ")"
		}
	}
	return listed(names)
}

// commonKind returns the kind of numbers of several columns: the one that all have, that of integers of 64 bits if all are integers, or
// float64.
func commonKind(columns []tableColumn, at []int) kind {
	same, whole := true, true
	for _, i := range at {
		k := columns[i].kind
		same = same && k == columns[at[0]].kind
		whole = whole && k != f16 && k != f32 && k != f64
	}
	switch {
	case same:
		return columns[at[0]].kind
	case whole:
		return i64
	}
	return f64
}

// columnBlocks reads the columns of a wide table, some rows of one after the other.
type columnBlocks interface {
	// available returns how many of the next n rows can be read at once; io.EOF after the last row.
	available(n int) (int, error)
	// numbers reads values of coordinate j of the next rows. An error is of row n.
	numbers(j int, dst []float64) (n int, err error)
	// id reads the id of row i of those available.
	id(i int) (string, error)
	// done says that n rows were read of all columns.
	done(n int)
	// finish returns io.EOF, or why the rows end before the file does.
	finish(next int64) error
	Close() error
}

// blockRows is how many rows are read of a column before the next: their values are in a cache when they are put into vectors.
const blockRows = 256

// wideTable reads vectors with a column for each coordinate.
type wideTable struct {
	columnBlocks
	name  string
	kind  kind
	names []string // of the coordinates
	rows  int64    // -1 if only reading tells
	next  int64
	hasID bool
	ids   []string
	meter *idMeter
	block []float64
	said  Layout
	err   error
}

// openWide returns the reader of a wide table, which has rows.
func openWide(w *wideTable, budget *Budget, opt Options) (Reader, error) {
	if err := budget.checkColumns(int64(len(w.names))); err != nil {
		return nil, fail(w.name, "%w", err)
	}
	w.block = make([]float64, blockRows)
	return opt.narrow(w, w.name), nil
}

func (w *wideTable) Dim() int       { return len(w.names) }
func (w *wideTable) Len() int64     { return w.rows }
func (w *wideTable) layout() Layout { return w.said }
func (w *wideTable) element() kind  { return w.kind }
func (w *wideTable) isWide() bool   { return w.kind.wide() }
func (w *wideTable) isWhole() bool  { return w.kind.whole() }

func (w *wideTable) IDs() []string {
	if !w.hasID {
		return nil
	}
	return w.ids
}

func (w *wideTable) Read(dst []float32) (int, error)     { return readWideTable(w, dst) }
func (w *wideTable) readWide(dst []float64) (int, error) { return readWideTable(w, dst) }

// readWideTable is Read in either precision.
func readWideTable[T precision](w *wideTable, dst []T) (n int, err error) {
	defer func() {
		if err != nil && err != io.ErrShortBuffer {
			w.err = err
		}
	}()
	defer recovered(w.name, &err) // runs first
	w.ids = w.ids[:0]
	w.meter.begin()
	if w.err != nil {
		return 0, w.err
	}
	dim := len(w.names)
	if len(dst) < dim {
		return 0, io.ErrShortBuffer
	}
	for n < len(dst)/dim && !w.meter.full() {
		rows, err := w.available(min(len(dst)/dim-n, blockRows))
		if err == io.EOF {
			err = w.finish(w.next)
		}
		if err == io.EOF && n > 0 {
			return n, nil
		}
		if err == io.EOF {
			return 0, io.EOF
		}
		if err != nil {
			return n, located(w.name, w.next, err)
		}
		rows, err = readWideBlock(w, dst[n*dim:(n+rows)*dim], rows)
		n += rows
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readWideBlock reads some rows. An error is that of the first row that has one, and rows are those before it.
func readWideBlock[T precision](w *wideTable, dst []T, rows int) (int, error) {
	var wrong error
	first := len(w.ids)
	if w.hasID {
		for i := range rows {
			if i > 0 && w.meter.full() {
				rows = i
				break
			}
			id, err := w.id(i)
			if err != nil {
				rows, wrong = i, failAt(w.name, w.next+int64(i), -1, "id: %w", cutShort(err))
				break
			}
			w.ids = append(w.ids, id)
		}
	}
	dim := len(w.names)
	for j, name := range w.names {
		n, err := w.numbers(j, w.block[:rows])
		if err != nil {
			rows, wrong = n, failAt(w.name, w.next+int64(n), int64(j), "%s: %w", name, cutShort(err))
		}
		for i, at := 0, j; i < n; i, at = i+1, at+dim {
			dst[at] = T(w.block[i])
		}
	}
	if w.hasID {
		w.ids = w.ids[:first+rows]
	}
	w.done(rows)
	w.next += int64(rows)
	return rows, wrong
}

// errNoCoordinate is that of a null among coordinates.
var errNoCoordinate = fmt.Errorf("%w, and every coordinate has a value", errNull)

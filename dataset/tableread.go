package dataset

import (
	"errors"
	"fmt"

	"thresher/dataset/jsonscan"
)

// tableReader is a file as rows of named columns. The format that opens one knows nothing of what the columns mean: a reader
// of numbers, answers or lists chooses columns, says as what it reads their cells, and takes the rows.
type tableReader interface {
	// columns are those of the file, in its order; of JSON lines they are the fields of the first object.
	columns() ([]Column, error)
	// fact returns what the file says of all rows under a name, "" if it says nothing.
	fact(name string) (string, error)
	// choose says which columns next reads, and as what. It is called once, before next.
	choose(wants []want) error
	// next reads a row, a cell for each column wanted, all of which are valid until the following call. It returns
	// io.EOF after the last row, a *cellError for a cell that is not what was wanted where locate does not name the
	// column, and else an *Error.
	next(row []readCell) error
	// locate adds the place of the row that next has read last to an error; column is that wanted column or -1, and
	// is used by formats whose columns are counted.
	locate(column int, err error) error
	// Len returns the number of rows, -1 if only reading tells.
	Len() int64
	Close() error
}

// reading says as what a cell, or each value of a list, is read.
type reading int

const (
	asNumber  reading = iota // float: a finite number, or NaN for null; integers that a float64 rounds are refused
	asScore                  // float: a finite number within the range of float32
	asInteger                // integer
	asID                     // integer, or text if named; a list of them is integers, which are bits of a Uint64 column, or texts
	asQuery                  // asID, but that an integer may be written 7.0
	asName                   // text: a text, or an integer in digits
	asText                   // text
	asFloat32                // floats or float: whatever is stored
	asFloat64                // doubles or float: whatever is stored
	asBool                   // integer, 0 or 1
	asJSON                   // text
	asValue                  // any
)

// want is a column that is read.
type want struct {
	name string
	as   reading
	list bool // a cell is a list
	// optional says that rows may have no value here, whose cells are missing then. It is for formats whose rows tell
	// their columns; names of such columns may be in any case of letters.
	optional bool
	// spare says that a column whose lists have other lengths than those before it is somebody's own, and that its
	// cells are missing then.
	spare bool
}

// readCell is a cell that is read, in the fields that its reading names.
type readCell struct {
	tableCell
	named bool  // the id is a text
	any   Value // whose list is kept for the next row
}

// cellError is what is wrong with a cell.
type cellError struct {
	column int // among those wanted
	err    error
}

func (e *cellError) Error() string { return e.err.Error() }
func (e *cellError) Unwrap() error { return e.err }

// placed adds its place to an error of next; said is a format of the error of a cell, by the column's name and what is
// wrong. counted says that locate is told the column.
func placed(t tableReader, wants []want, said string, counted bool, err error) error {
	var wrong *cellError
	if err == nil || !errors.As(err, &wrong) {
		return err
	}
	column := -1
	if counted {
		column = wrong.column
	}
	return t.locate(column, fmt.Errorf(said, wants[wrong.column].name, wrong.err))
}

// errNull is that of a cell without a value where one is wanted.
var errNull = errors.New("is null")

// columnNames returns the names of the columns that are lists, or of those that are not.
func columnNames(all []Column, list bool) (names []string) {
	for _, c := range all {
		if c.List == list {
			names = append(names, c.Name)
		}
	}
	return names
}

// neededNames are the names of the columns wanted that every row has, or else of all.
func neededNames(wants []want) (names []string) {
	for _, w := range wants {
		if !w.optional {
			names = append(names, w.name)
		}
	}
	if names == nil {
		return wantedNames(wants)
	}
	return names
}

// wantedNames are the names of the columns wanted.
func wantedNames(wants []want) (names []string) {
	for _, w := range wants {
		names = append(names, w.name)
	}
	return names
}

// inRow adds file and row, and the element of a list, to an error that has no place yet.
func inRow(file string, row int64, err error) error {
	var element *jsonscan.ElementError
	if errors.As(err, &element) {
		return failAt(file, row, int64(element.Index), "%w", element.Err)
	}
	return located(file, row, err)
}

package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Error says where in a file an error is.
type Error struct {
	File        string // path, or the name given to NewReader; "a.npz:x" is array x of a.npz
	Row, Column int64  // 0-based; -1 = none
	Err         error
}

// Error names file, row and column, counted from 0.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	switch {
	case e.Row >= 0 && e.Column >= 0:
		fmt.Fprintf(&b, ": row %d, column %d (0-based)", e.Row, e.Column)
	case e.Row >= 0:
		fmt.Fprintf(&b, ": row %d (0-based)", e.Row)
	case e.Column >= 0:
		fmt.Fprintf(&b, ": column %d (0-based)", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrNoRows is wrapped by the error for an empty matrix.
var ErrNoRows = errors.New("no rows")

var errNaN = errors.New("value is NaN; only finite numbers are accepted")

// fail returns an Error about a whole file.
func fail(file, format string, args ...any) error {
	return failAt(file, -1, -1, format, args...)
}

// failAt returns an Error about one row or element; -1 omits a coordinate.
func failAt(file string, row, column int64, format string, args ...any) error {
	return &Error{File: file, Row: row, Column: column, Err: fmt.Errorf(format, args...)}
}

// located adds file and row to err unless it has a location or is nil.
func located(file string, row int64, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{File: file, Row: row, Column: -1, Err: err}
}

// cutShort turns an end of input inside an item into "truncated".
func cutShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("data is truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// recovered turns a panic of a decoding library into an error: malicious files reach index
// and conversion panics that it does not check for.
func recovered(file string, err *error) {
	if p := recover(); p != nil {
		*err = fail(file, "file is malformed: %v", p)
	}
}

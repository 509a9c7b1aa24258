package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Error says where in a file something was refused.
type Error struct {
	File        string // path, or the name given to NewReader; "a.npz:x" is array x of a.npz
	Row, Column int64  // 0-based; -1 = none
	Err         error
}

// Error names file, row and column, and says that they count from 0.
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

// ErrNoRows is what the error of an empty matrix wraps.
var ErrNoRows = errors.New("no rows")

var errNaN = errors.New("value is NaN; only finite numbers are accepted")

// fail is an Error about a whole file.
func fail(file, format string, args ...any) error {
	return failAt(file, -1, -1, format, args...)
}

// failAt is an Error about one row or element; -1 leaves a coordinate out.
func failAt(file string, row, column int64, format string, args ...any) error {
	return &Error{File: file, Row: row, Column: column, Err: fmt.Errorf(format, args...)}
}

// located gives err a place unless it already has one.
func located(file string, row int64, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{File: file, Row: row, Column: -1, Err: err}
}

// cutShort turns the end of the input, met inside an item, into "truncated".
func cutShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("data is truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// recovered turns a panic of a decoding library into an error: hostile files
// reach index and conversion panics inside it that it does not check for.
func recovered(file string, err *error) {
	if p := recover(); p != nil {
		*err = fail(file, "file is malformed: %v", p)
	}
}

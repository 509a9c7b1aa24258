package columns

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// expression is a place: in the text of an expression, or in a filter in JSON.
type expression struct {
	text   string // of the whole expression; "" in JSON
	offset int    // bytes
	path   string // in JSON, such as must[0].range.gte
}

// ExprError is what is wrong with an expression, and where.
type ExprError struct {
	// Text is the whole expression, and Offset the byte at which the wrong part begins; of a filter in JSON, Text is ""
	// and Path leads there, such as must[0].range.gte, and is "" for the filter itself.
	Text   string
	Offset int
	Path   string
	// Column and Operator are those of a comparison with a column that does not allow it, or "".
	Column, Operator string
	Err              error
}

func (e *ExprError) Unwrap() error { return e.Err }

// shown is how many characters of a long expression an error shows around the place.
const shown = 60

// Error says what is wrong and, of a text, shows where in two lines more, of the text and of a caret below it.
func (e *ExprError) Error() string {
	if e.Text == "" && e.Offset == 0 {
		if e.Path == "" {
			return "filter: " + e.Err.Error()
		}
		return fmt.Sprintf("filter.%s: %v", e.Path, e.Err)
	}
	line := strings.Map(func(r rune) rune { // control characters would move the caret
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, e.Text)
	at := utf8.RuneCountInString(e.Text[:e.Offset])
	runes := []rune(line)
	from, to := max(0, at-shown), min(len(runes), at+shown)
	return fmt.Sprintf("filter, character %d: %v\n  %s\n  %s^", at+1, e.Err, string(runes[from:to]), strings.Repeat(" ", at-from))
}

// wrong returns the error of a place.
func (p expression) wrong(format string, args ...any) *ExprError {
	return &ExprError{Text: p.text, Offset: p.offset, Path: p.path, Err: fmt.Errorf(format, args...)}
}

// wrong returns the error of a comparison, or of one of its values if at is its place.
func (e *Expr) wrong(at expression, format string, args ...any) *ExprError {
	err := at.wrong(format, args...)
	err.Column, err.Operator = e.column, e.String()
	return err
}

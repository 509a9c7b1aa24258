package dataset

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What Options.Header says of the first line of comma-separated values.
const (
	HeaderYes = "yes" // it names the columns
	HeaderNo  = "no"  // it is a row
)

// minCounted is how many numbers count columns beyond doubt: 0,1 and 1,2 may well be a row.
const minCounted = 3

// readHeader reads the names of the columns, if there is a header, and returns row 0, valid
// until the following call of record. named says that the user named a column, which only a header
// can do.
func (c *csvRows) readHeader(said, word string, named bool) ([]string, error) {
	record, err := c.readNames(said, word, named)
	if err != nil || c.columns == nil {
		return record, err
	}
	if record, err = c.record(); err == io.EOF {
		return nil, fail(c.name, "%w: there is a header, and nothing below it", ErrNoRows)
	}
	return record, err
}

// readNames reads the first line, which it returns, and if that is a header the names of the columns.
func (c *csvRows) readNames(said, word string, named bool) ([]string, error) {
	record, err := c.record()
	if err == io.EOF {
		return nil, fail(c.name, "%w: the file holds only blank lines", ErrNoRows)
	}
	if err != nil {
		return nil, err
	}
	header, err := isHeader(record, said, word, named)
	if err != nil {
		return nil, c.place(err, -1)
	}
	if header {
		c.columns = slices.Clone(record)
		for i := range c.columns {
			c.columns[i] = strings.TrimSpace(c.columns[i])
		}
	}
	return record, nil
}

// isHeader reports whether the first line names the columns. A line of texts does, and one that
// counts the columns from 0 or 1, as pandas writes a frame without names.
func isHeader(record []string, said, word string, named bool) (bool, error) {
	switch said {
	case "":
	case HeaderYes, HeaderNo:
		return said == HeaderYes, nil
	default:
		return false, fmt.Errorf("%s is %q, neither %s nor %s", word, said, HeaderYes, HeaderNo)
	}
	for _, field := range record {
		if isDecimalComma(field) {
			return false, decimalComma(field)
		}
	}
	if slices.ContainsFunc(record, func(field string) bool { return !isNumber(field) && !isArray(field) }) {
		if !couldName(record) {
			return false, errors.New("texts and numbers stand in the first line: a header that names the columns is needed before it")
		}
		return true, nil
	}
	whole, fractional := counts(record)
	switch {
	case !whole && !fractional:
		return false, nil
	case named || whole && len(record) >= minCounted:
		return true, nil
	}
	return false, fmt.Errorf("the first line, %q, may be the first row, or count the columns as a header: %s=%s makes it a row, %s=%s a header", strings.Join(record, ","), word, HeaderNo, word, HeaderYes)
}

// couldName reports whether a line with text names the columns: numbers in it must count columns.
func couldName(record []string) bool {
	last, counted := 0, false
	for _, field := range record {
		if isArray(field) {
			return false
		}
		if !isNumber(field) {
			continue
		}
		at, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || counted && at != last+1 {
			return false
		}
		last, counted = at, true
	}
	return !counted || last < len(record)+1
}

// counts reports whether a line is 0,1,2,.. or 1,2,3,.., as integers, or with fractions of zero.
func counts(record []string) (whole, fractional bool) {
	first, isWhole := 0., true
	for i, field := range record {
		text := strings.TrimSpace(field)
		x, err := strconv.ParseFloat(text, 64)
		if i == 0 {
			first = x
		}
		if err != nil || x != first+float64(i) || first != 0 && first != 1 {
			return false, false
		}
		isWhole = isWhole && text == strconv.Itoa(int(x))
	}
	return isWhole, !isWhole
}

func isNumber(field string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func isArray(field string) bool { return strings.HasPrefix(strings.TrimSpace(field), "[") }

// isGap reports whether a field stands for a missing number.
func isGap(field string) bool {
	switch strings.ToLower(strings.TrimSpace(field)) {
	case "", "na", "n/a", "nan", "null", "none", "nil", "nat", "-", "?", ".", `\n`:
		return true
	}
	return false
}

var commaNumber = regexp.MustCompile(`^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$`)

// isDecimalComma reports whether a field is a number with a comma in place of the point.
func isDecimalComma(field string) bool { return commaNumber.MatchString(strings.TrimSpace(field)) }

func decimalComma(field string) error {
	return fmt.Errorf("%.40q has a decimal comma: it may be one number or two; write numbers with a decimal point", strings.TrimSpace(field))
}

package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// csvReader is comma-separated values under a header. Every cell is a text that may be read as anything.
type csvReader struct {
	*csvRows
	wants []want
	at    []int    // the columns wanted
	held  []string // row 0, until next returns it
	begun bool
}

// openCSVRows opens a file with a header. Whether the first line is one is judged, and then there must be a row
// below it, unless header is HeaderYes.
func openCSVRows(src *source, header string) (tableReader, error) {
	t := &csvReader{csvRows: newCSVRows(src)}
	var err error
	if header == HeaderYes {
		_, err = t.readNames(header, "", true)
	} else {
		t.held, err = t.readHeader(header, "", true)
	}
	return t, err
}

func (t *csvReader) columns() (all []Column, err error) {
	for _, name := range t.csvRows.columns {
		all = append(all, Column{Name: name, Type: Text})
	}
	return all, nil
}

func (t *csvReader) fact(string) (string, error) { return "", nil }

func (t *csvReader) choose(wants []want) error {
	t.wants = wants
	names := t.csvRows.columns
	if names == nil {
		return fail(t.name, "column %s: the file has no header that names columns", quoted(wantedNames(wants)))
	}
	for _, w := range wants {
		at := slices.Index(names, w.name)
		if at < 0 {
			return fail(t.name, "no column %q; the file has %s", w.name, listed(slices.Clone(names)))
		}
		if err := oneOf(names, w.name); err != nil && w.as == asValue {
			return fail(t.name, "%w", err)
		}
		t.at = append(t.at, at)
	}
	return nil
}

func (t *csvReader) next(row []readCell) (err error) {
	if t.begun {
		t.csvRows.next++
	}
	t.begun = true
	record := t.held
	if t.held = nil; record == nil {
		if record, err = t.record(); err != nil {
			return err
		}
	}
	if names := t.csvRows.columns; len(record) != len(names) {
		return t.locate(-1, fmt.Errorf("row has %d fields, the header has %d", len(record), len(names)))
	}
	for i, at := range t.at {
		if err := row[i].parseWant(record[at], &t.wants[i]); err != nil {
			return &cellError{i, err}
		}
	}
	return nil
}

func (t *csvReader) locate(column int, err error) error {
	at := int64(-1)
	if !t.begun {
		return located(t.name, -1, err)
	}
	if column >= 0 {
		at = int64(t.at[column])
	}
	return t.place(err, at)
}

// parseWant parses a field, which may be empty where its column is optional.
func (c *readCell) parseWant(field string, w *want) error {
	if c.missing = w.optional && field == ""; c.missing {
		c.text = ""
		return nil
	}
	return c.parseField(field, w.as)
}

// parseField parses a field of comma-separated values.
func (c *readCell) parseField(field string, as reading) (err error) {
	switch as {
	case asNumber:
		c.float, err = parseNumber(field)
	case asScore:
		c.float, err = double(field)
	case asInteger:
		c.integer, err = parseInt(field)
	case asID, asQuery:
		err = c.parseID(field)
	case asValue:
		c.parseValue(field)
	case asText:
		if c.text != field {
			c.text = strings.Clone(field) // of a record that is reused
		}
	case asBool:
		err = c.parseBool(field)
	case asFloat32:
		c.float, err = strconv.ParseFloat(field, 32)
	case asFloat64:
		c.float, err = strconv.ParseFloat(field, 64)
	}
	return err
}

// parseValue takes a field as the text that it is, and no value if it is empty.
func (c *readCell) parseValue(field string) {
	if c.any = (Value{}); field != "" {
		c.any = Value{Kind: TextValue, Text: strings.Clone(field)}
	}
}

// parseBool parses true and false, in small letters or as Python writes them.
func (c *readCell) parseBool(field string) error {
	switch field {
	case "true", "True":
		c.setBool(true)
	case "false", "False":
		c.setBool(false)
	default:
		return fmt.Errorf("%.40q is neither true nor false", field)
	}
	return nil
}

// parseID parses an id, an integer if it is written like one, else a text.
func (c *readCell) parseID(field string) error {
	text := strings.TrimSpace(field)
	if text == "" {
		return errors.New("the id is empty")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	c.integer, c.text = id, ""
	if c.named = err != nil || strconv.FormatInt(id, 10) != text; c.named {
		c.text = strings.Clone(text)
	}
	return nil
}

// parseInt parses a field as an integer.
func parseInt(field string) (int64, error) {
	text := strings.TrimSpace(field)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no integer of int64", text)
	}
	return v, nil
}

// parseNumber parses a field as a finite number, or as NaN if it is empty.
func parseNumber(field string) (float64, error) {
	text := strings.TrimSpace(field)
	if text == "" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	if err != nil {
		return 0, fmt.Errorf("value %.40s is beyond the range of float64", text)
	}
	if v, err = finiteNumber(v); err != nil {
		return 0, err
	}
	return writtenNumber(text, v)
}

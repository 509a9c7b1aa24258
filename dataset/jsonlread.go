package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
)

// jsonlReader is an object a line, whose fields are the columns. Fields that are not wanted may be anything.
type jsonlReader struct {
	*source
	lines jsonl // for its lines and places
	wants []want
	seen  []bool // by column wanted
	held  []byte // line 0, until next returns it
	begun bool
}

func openJSONLRows(src *source, _ string) (tableReader, error) {
	return &jsonlReader{source: src, lines: jsonl{name: src.name, lines: src.lines()}}, nil
}

func (t *jsonlReader) Len() int64 { return -1 }

func (t *jsonlReader) columns() (all []Column, err error) {
	if t.held, err = t.lines.line(); err != nil {
		return nil, err
	}
	_, err = jsonscan.Fields(t.held, 0, func(key []byte, at int) (int, error) {
		all = append(all, Column{Name: string(key), Type: JSON})
		return jsonscan.Value(t.held, at)
	})
	return all, t.locate(-1, err)
}

func (t *jsonlReader) fact(string) (string, error) { return "", nil }

func (t *jsonlReader) choose(wants []want) error {
	t.wants, t.seen = wants, make([]bool, len(wants))
	return nil
}

func (t *jsonlReader) next(row []readCell) (err error) {
	if t.begun {
		t.lines.next++
	}
	t.begun = true
	line := t.held
	if t.held = nil; line == nil {
		if line, err = t.lines.line(); err != nil {
			return err
		}
	}
	if line[0] != '{' {
		return t.locate(-1, fmt.Errorf("line is not an object, so it has no field %s", quoted(wantedNames(t.wants))))
	}
	end, err := t.parse(line, row)
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	if c := slices.Index(t.seen, false); err == nil && c >= 0 {
		err = t.wants[c].absent()
	}
	var wrong *cellError
	if errors.As(err, &wrong) {
		return wrong
	}
	return t.locate(-1, err)
}

// parse parses the object of a line.
func (t *jsonlReader) parse(line []byte, row []readCell) (int, error) {
	clear(t.seen)
	return jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		for i := range t.wants {
			if t.wants[i].name != string(key) {
				continue
			}
			if t.seen[i] {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			t.seen[i] = true
			if err := row[i].parseJSON(line, at, t.wants[i].as); err != nil {
				return at, &cellError{i, err}
			}
		}
		return jsonscan.Value(line, at)
	})
}

// absent is the error of an object without the field.
func (w *want) absent() error {
	if w.as == asNumber {
		return fmt.Errorf("object has no field %q; null stands for no number", w.name)
	}
	return fmt.Errorf("object has no field %q", w.name)
}

func (t *jsonlReader) locate(_ int, err error) error {
	if err == nil {
		return nil
	}
	return t.lines.place(err)
}

// parseJSON parses the value at b[i].
func (c *readCell) parseJSON(b []byte, i int, as reading) (err error) {
	switch as {
	case asNumber:
		c.float, err = parseJSONNumber(b, i)
	case asScore:
		var x float32
		x, _, err = parseScore(b, i)
		c.float = float64(x)
	case asInteger:
		c.integer, _, err = parseInteger(b, i)
	case asID:
		var h hit
		_, err = h.parseID(b, i)
		c.integer, c.text, c.named = h.id, h.name, h.named
	}
	return err
}

// parseJSONNumber parses the number or null at b[i].
func parseJSONNumber(b []byte, i int) (float64, error) {
	if jsonscan.Literal(b, i, "null") {
		return math.NaN(), nil
	}
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, jsonscan.Wanted(b, i, "a number or null")
	}
	v, err := strconv.ParseFloat(string(b[i:end]), 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0) {
		return 0, fmt.Errorf("value %.40s is beyond the range of float64", b[i:end])
	}
	return writtenNumber(string(b[i:end]), v)
}

// parseInteger parses the integer at b[i].
func parseInteger(b []byte, i int) (int64, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "an integer")
	}
	digits, ok := jsonscan.Integer(b[i:end])
	if !ok {
		return 0, end, errors.New("not an integer")
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, end, fmt.Errorf("%.40s does not fit int64", digits)
	}
	return v, end, nil
}

package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	loose bool // some are optional
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
	t.loose = slices.ContainsFunc(wants, func(w want) bool { return w.optional && w.as != asValue })
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
		return t.locate(-1, fmt.Errorf("line is not an object, so it has no field %s", quoted(neededNames(t.wants))))
	}
	end, err := t.parse(line, row)
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	for i := 0; err == nil && i < len(t.seen); i++ {
		if !t.seen[i] && !t.wants[i].optional {
			err = t.wants[i].absent()
		}
		if row[i].missing = row[i].missing || !t.seen[i]; row[i].missing {
			row[i].integer, row[i].float, row[i].text = 0, 0, ""
		}
	}
	if err == nil {
		return nil
	}
	return t.inLine(err)
}

// inLine adds its place to an error that is not that of a cell.
func (t *jsonlReader) inLine(err error) error {
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
		i := t.column(key)
		if i < 0 {
			return jsonscan.Value(line, at)
		}
		if t.seen[i] {
			return at, fmt.Errorf("field %q appears twice", key)
		}
		t.seen[i] = true
		w := &t.wants[i]
		if row[i].missing = w.optional && jsonscan.Literal(line, at, "null"); row[i].missing {
			return at + len("null"), nil
		}
		end, err := row[i].parseJSON(line, at, w)
		if err != nil {
			return at, &cellError{i, err}
		}
		return end, nil
	})
}

// column returns the column wanted of this name, or -1.
func (t *jsonlReader) column(key []byte) int {
	for i := range t.wants {
		if t.wants[i].name == string(key) {
			return i
		}
	}
	for i := 0; t.loose && i < len(t.wants); i++ {
		if t.wants[i].optional && strings.EqualFold(t.wants[i].name, string(key)) {
			return i
		}
	}
	return -1
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

// parseJSON parses the value at b[i] and returns the index after it.
func (c *readCell) parseJSON(b []byte, i int, w *want) (end int, err error) {
	if w.list {
		return c.parseJSONList(b, i, w.as)
	}
	switch w.as {
	case asNumber:
		c.float, end, err = parseJSONNumber(b, i)
	case asScore:
		var x float32
		x, end, err = parseScore(b, i)
		c.float = float64(x)
	case asFloat32, asFloat64:
		c.float, end, err = parseJSONFloat(b, i, w.as)
	case asInteger:
		c.integer, end, err = parseInteger(b, i)
	case asID:
		var h hit
		end, err = h.parseID(b, i)
		c.integer, c.text, c.named = h.id, h.name, h.named
	case asQuery:
		if c.named = b[i] == '"'; c.named {
			c.text, end, err = parseID(b, i)
		} else {
			c.integer, end, err = parseInteger(b, i)
		}
	case asName:
		c.text, end, err = parseID(b, i)
	case asText:
		c.text, end, err = parseText(b, i)
	case asBool:
		c.setBool(jsonscan.Literal(b, i, "true"))
		if !jsonscan.Literal(b, i, "true") && !jsonscan.Literal(b, i, "false") {
			return i, wrongJSON(b, i, "true or false")
		}
		end, err = jsonscan.Value(b, i)
	case asJSON:
		end, err = jsonscan.Value(b, i)
		c.text = string(b[i:end])
	case asValue:
		end, err = c.parseAny(b, i)
	}
	return end, err
}

// parseJSONList parses the array at b[i].
func (c *readCell) parseJSONList(b []byte, i int, as reading) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return i, wrongJSON(b, i, "an array")
	}
	c.integers, c.floats, c.doubles, c.texts = c.integers[:0], c.floats[:0], c.doubles[:0], c.texts[:0]
	return jsonscan.Elements(b, i, func(n, at int) (end int, err error) {
		var x float64
		var text string
		switch as {
		case asFloat32:
			x, end, err = parseJSONFloat(b, at, as)
			c.floats = append(c.floats, float32(x))
		case asFloat64:
			x, end, err = parseJSONFloat(b, at, as)
			c.doubles = append(c.doubles, x)
		case asText:
			text, end, err = parseText(b, at)
			c.texts = append(c.texts, text)
		default:
			end, err = c.appendID(b, at, n, as)
		}
		return end, err
	})
}

// appendID parses the id at b[i], number n of its list. Integers are texts once one does not fit int64.
func (c *readCell) appendID(b []byte, i, n int, as reading) (int, error) {
	end := jsonscan.Number(b, i)
	if text := end < 0 && i < len(b) && b[i] == '"'; !text && (end < 0 || bytes.ContainsAny(b[i:end], ".eE")) {
		if jsonscan.Literal(b, i, "null") {
			return i, jsonscan.Wanted(b, i, "an id, a string or an integer,")
		}
		return i, wrongJSON(b, i, "an integer")
	} else if text && as == asInteger {
		return i, wrongJSON(b, i, "an integer")
	} else if text {
		id, end, err := parseText(b, i)
		if c.texts = append(c.texts, id); err == nil && (!c.named && n > 0) {
			err = errMixed
		}
		c.named = true
		return end, err
	}
	if n == 0 {
		c.named = false
	}
	if c.named {
		return end, errMixed
	}
	id, err := strconv.ParseInt(string(b[i:end]), 10, 64)
	switch {
	case err == nil && len(c.texts) == 0:
		c.integers = append(c.integers, id)
		return end, nil
	case as == asInteger:
		return end, wrongJSON(b, i, "an integer")
	}
	for _, id := range c.integers {
		c.texts = append(c.texts, strconv.FormatInt(id, 10))
	}
	c.integers, c.texts = c.integers[:0], append(c.texts, string(b[i:end]))
	return end, nil
}

// errMixed is why a list is no list of ids.
var errMixed = errors.New("has numbers and texts")

// parseText parses the string at b[i].
func parseText(b []byte, i int) (string, int, error) {
	if i >= len(b) || b[i] != '"' {
		return "", i, wrongJSON(b, i, "a text")
	}
	text, end, err := jsonscan.Name(b, i)
	return string(text), end, err
}

// parseJSONFloat parses the number at b[i]; null is -Inf, which no number is.
func parseJSONFloat(b []byte, i int, as reading) (float64, int, error) {
	if jsonscan.Literal(b, i, "null") {
		return math.Inf(-1), i + len("null"), nil
	}
	bits, wanted := 32, "a number of float32"
	if as == asFloat64 {
		bits, wanted = 64, "a number of float64"
	}
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, wrongJSON(b, i, wanted)
	}
	v, err := strconv.ParseFloat(string(b[i:end]), bits)
	if err != nil {
		return 0, i, wrongJSON(b, i, wanted)
	}
	return v, end, nil
}

// wrongJSON is the error of a value at b[i] of another type than wanted.
func wrongJSON(b []byte, i int, wanted string) error {
	if end := jsonscan.Number(b, i); end >= 0 {
		return fmt.Errorf("number %.40s, where %s is wanted", b[i:end], wanted)
	}
	if _, err := jsonscan.Value(b, i); err != nil {
		return err
	}
	kind := map[byte]string{'"': "string", '{': "object", '[': "array", 'n': "null"}[b[i]]
	return fmt.Errorf("%s, where %s is wanted", cmp.Or(kind, "bool"), wanted)
}

// parseJSONNumber parses the number or null at b[i].
func parseJSONNumber(b []byte, i int) (float64, int, error) {
	if jsonscan.Literal(b, i, "null") {
		return math.NaN(), i + len("null"), nil
	}
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "a number or null")
	}
	v, err := strconv.ParseFloat(string(b[i:end]), 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0) {
		return 0, i, fmt.Errorf("value %.40s is beyond the range of float64", b[i:end])
	}
	v, err = writtenNumber(string(b[i:end]), v)
	return v, end, err
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

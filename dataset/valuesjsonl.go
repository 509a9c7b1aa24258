package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"thresher/dataset/jsonscan"
)

// parseAny parses the value at b[i] as what it is.
func (c *readCell) parseAny(b []byte, i int) (end int, err error) {
	c.any = Value{Texts: c.any.Texts[:0]}
	if i >= len(b) {
		return i, jsonscan.Wanted(b, i, "a value")
	}
	switch b[i] {
	case '"':
		c.any.Kind = TextValue
		c.any.Text, end, err = parseText(b, i)
		return end, err
	case '[':
		return c.parseTexts(b, i)
	case '{':
		return i, wrongJSON(b, i, "a number, a text, true, false or a list of texts")
	case 't', 'f':
		c.any.Kind = BoolValue
		if b[i] == 't' {
			c.any.Integer = 1
		}
		return jsonscan.Value(b, i)
	}
	if end = jsonscan.Number(b, i); end < 0 {
		return i, jsonscan.Wanted(b, i, "a value")
	}
	return end, c.any.parseNumber(string(b[i:end]))
}

// parseTexts parses the list of texts at b[i].
func (c *readCell) parseTexts(b []byte, i int) (int, error) {
	c.any.Kind = ListValue
	return jsonscan.Elements(b, i, func(_, at int) (int, error) {
		if jsonscan.Literal(b, at, "null") {
			return at + len("null"), nil
		}
		text, end, err := parseText(b, at)
		c.any.Texts = append(c.any.Texts, text)
		return end, err
	})
}

// parseNumber reads a number of JSON: an integer if it is written like one.
func (v *Value) parseNumber(text string) (err error) {
	if !bytes.ContainsAny([]byte(text), ".eE") {
		v.Kind = IntegerValue
		if v.Integer, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%.40s does not fit int64", text)
		}
		return nil
	}
	v.Kind = FloatValue
	if v.Float, err = strconv.ParseFloat(text, 64); errors.Is(err, strconv.ErrRange) && math.IsInf(v.Float, 0) {
		return fmt.Errorf("value %.40s is beyond the range of float64", text)
	}
	return nil
}

package dataset

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// writeJSONL writes an object a row, whose fields are the columns. A table's facts are left out: lines of JSON stand
// for themselves.
func writeJSONL(out io.Writer, t *table) error {
	w := bufio.NewWriterSize(out, streamBuffer)
	var line []byte
	err := t.each(func(row []tableCell) error {
		line = appendLine(line[:0], t.columns, row)
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// appendLine appends a row as a JSON object and a newline.
func appendLine(dst []byte, columns []Column, row []tableCell) []byte {
	separator := byte('{')
	for i := range columns {
		c := &columns[i]
		if row[i].missing {
			continue
		}
		dst = append(dst, separator, '"')
		if c.Nulls { // a name of somebody's own
			dst = append(appendString(dst[:len(dst)-1], c.Name), ':')
		} else {
			dst = append(append(dst, c.Name...), '"', ':')
		}
		dst = appendJSON(dst, c, &row[i])
		separator = ','
	}
	if separator == '{' { // no cell has a value
		dst = append(dst, '{')
	}
	return append(dst, '}', '\n')
}

// appendJSON appends a cell as JSON.
func appendJSON(dst []byte, c *Column, of *tableCell) []byte {
	switch {
	case c.Type == JSON:
		return append(dst, of.json...)
	case !c.List:
		return appendJSONValue(dst, c, &of.value, of.digits)
	}
	switch {
	case c.hasTexts():
		return appendList(dst, of.texts, func(dst []byte, text string) []byte { return appendJSONValue(dst, c, &value{text: text}, false) })
	case c.Type == Float32:
		return appendList(dst, of.floats, func(dst []byte, x float32) []byte { return appendNumber(dst, float64(x), 32) })
	case c.Type == Float64:
		return appendList(dst, of.doubles, func(dst []byte, x float64) []byte { return appendNumber(dst, x, 64) })
	}
	return appendList(dst, of.integers, func(dst []byte, x int64) []byte { return strconv.AppendInt(dst, x, 10) })
}

// appendList appends an array.
func appendList[T any](dst []byte, all []T, element func(dst []byte, x T) []byte) []byte {
	dst = append(dst, '[')
	for i, x := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, x)
	}
	return append(dst, ']')
}

// appendJSONValue appends a value, of which digits says that its text is a number.
func appendJSONValue(dst []byte, c *Column, v *value, digits bool) []byte {
	switch {
	case c.Digits || digits:
		return append(dst, v.text...)
	case c.Type == Text:
		return appendString(dst, v.text)
	case c.Type == Time:
		return appendString(dst, timeOfText(v.integer))
	case c.Type == Float32:
		return appendNumber(dst, v.float, 32)
	case c.Type == Float64:
		return appendNumber(dst, v.float, 64)
	case c.Type == Bool:
		return strconv.AppendBool(dst, v.integer != 0)
	case c.Type == Uint64:
		return strconv.AppendUint(dst, uint64(v.integer), 10)
	}
	return strconv.AppendInt(dst, v.integer, 10)
}

// appendNumber appends a number of 32 or 64 bits as JSON with the fewest digits that parse to it, null if it is not
// finite. Very large and very small values have an exponent, so that no number has 39 digits.
func appendNumber(dst []byte, v float64, bits int) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
	}
	if whole := int64(v); float64(whole) == v && whole != 0 && -1<<24 < whole && whole < 1<<24 { // no other float is as near
		return strconv.AppendInt(dst, whole, 10)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// appendString quotes s. Bytes that are not UTF-8 become U+FFFD, as in encoding/json.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return append(dst, '"')
}

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
	err := t.each(func(row []cell) error {
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
func appendLine(dst []byte, columns []Column, row []cell) []byte {
	separator := byte('{')
	for i := range columns {
		c := &columns[i]
		if row[i].missing {
			continue
		}
		dst = append(dst, separator, '"')
		dst = append(append(dst, c.Name...), '"', ':')
		dst = appendJSON(dst, c, &row[i])
		separator = ','
	}
	return append(dst, '}', '\n')
}

// appendJSON appends a cell as JSON.
func appendJSON(dst []byte, c *Column, value *cell) []byte {
	if c.List {
		return appendJSONList(dst, c, value)
	}
	switch {
	case c.Digits || value.digits:
		return append(dst, value.text...)
	case c.Type == JSON:
		return append(dst, value.json...)
	case c.Type == Text:
		return appendString(dst, value.text)
	case c.Type == Float32:
		return appendNumber(dst, value.float, 32)
	case c.Type == Float64:
		return appendNumber(dst, value.float, 64)
	case c.Type == Bool:
		return strconv.AppendBool(dst, value.integer != 0)
	case c.Type == Uint64:
		return strconv.AppendUint(dst, uint64(value.integer), 10)
	}
	return strconv.AppendInt(dst, value.integer, 10)
}

// appendJSONList appends the values of a cell as an array.
func appendJSONList(dst []byte, c *Column, value *cell) []byte {
	dst = append(dst, '[')
	start := len(dst)
	switch {
	case c.Digits:
		for _, digits := range value.texts {
			dst = append(append(dst, digits...), ',')
		}
	case c.Type == Text:
		for _, text := range value.texts {
			dst = append(appendString(dst, text), ',')
		}
	case c.Type == Float32:
		for _, x := range value.floats {
			dst = append(appendNumber(dst, float64(x), 32), ',')
		}
	case c.Type == Float64:
		for _, x := range value.doubles {
			dst = append(appendNumber(dst, x, 64), ',')
		}
	default:
		for _, x := range value.integers {
			dst = append(strconv.AppendInt(dst, x, 10), ',')
		}
	}
	if len(dst) > start {
		dst = dst[:len(dst)-1] // the last comma
	}
	return append(dst, ']')
}

// appendNumber appends a number of 32 or 64 bits as JSON with the fewest digits that parse to it, null if it is not
// finite. Very large and very small values have an exponent, so that no number has 39 digits.
func appendNumber(dst []byte, v float64, bits int) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
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

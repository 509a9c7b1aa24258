package dataset

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeCSV writes a header of the names of the columns, none of which is a list or JSON, and a line a row. Numbers are those
// of JSON lines.
func writeCSV(out io.Writer, t *table) error {
	w := bufio.NewWriterSize(out, streamBuffer)
	var line []byte
	for i := range t.columns {
		line = append(appendCSVText(line, t.columns[i].Name), ',')
	}
	line[len(line)-1] = '\n'
	if _, err := w.Write(line); err != nil {
		return err
	}
	err := t.each(func(row []tableCell) error {
		line = line[:0]
		for i := range t.columns {
			line = append(appendCSV(line, &t.columns[i], &row[i]), ',')
		}
		line[len(line)-1] = '\n'
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// appendCSV appends a cell.
func appendCSV(dst []byte, c *Column, value *tableCell) []byte {
	switch {
	case c.Optional && value.missing && (c.Type != Text || c.Nulls):
		return dst
	case c.Nulls && c.Type == Text && value.text == "":
		return append(dst, `""`...)
	case c.Type == Text:
		return appendCSVText(dst, value.text)
	case c.Type == Time:
		return append(dst, timeOfText(value.integer)...)
	case c.Nulls && value.float-value.float != 0 && (c.Type == Float32 || c.Type == Float64):
		return strconv.AppendFloat(dst, value.float, 'g', -1, 64)
	}
	return appendJSON(dst, c, value)
}

// appendCSVText appends a text, in quotes if it may be taken for something else without (RFC 4180).
func appendCSVText(dst []byte, text string) []byte {
	first, _ := utf8.DecodeRuneInString(text)
	if text != `\.` && !unicode.IsSpace(first) && !strings.ContainsAny(text, ",\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := range len(text) {
		if text[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

package plaintext

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// encoded returns text in UTF-16, or in UTF-32 if wide, with a mark if marked.
func encoded(text string, order binary.AppendByteOrder, marked, wide bool) string {
	runes := []rune(text)
	if marked {
		runes = append([]rune{0xfeff}, runes...)
	}
	var b []byte
	if wide {
		for _, r := range runes {
			b = order.AppendUint32(b, uint32(r))
		}
		return string(b)
	}
	for _, unit := range utf16.Encode(runes) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestCheck: what is no UTF-8, or has CR for its line ends, is named; what looks like it is not.
func TestCheck(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	const csv, lines = "x,y\n1,2\n", "[1,2]\n[3,4]\n"
	for _, c := range []struct {
		name, text string
		csv, json  string // what the errors say, "" for none
	}{
		{"CSV", csv, "", ""},
		{"with the mark of UTF-8", "\ufeff" + csv, "", ""},
		{"lines", lines, "", ""},
		{"CR LF", "x,y\r\n1,2\r\n", "", ""},
		{"CR CR LF", "x,y\r\r\n1,2\r\r\n", "", ""},
		{"no text", "", "", ""},
		{"one letter", "a\x00", "", ""},
		{"UTF-16, little end first", encoded(csv, little, true, false), "is UTF-16; convert it to UTF-8", "is UTF-16; convert it to UTF-8"},
		{"UTF-16, big end first", encoded(csv, big, true, false), "is UTF-16", "is UTF-16"},
		{"UTF-16 of other letters", encoded("имя,y\n1,2\n", little, true, false), "is UTF-16", "is UTF-16"},
		{"UTF-16 without a mark", encoded(lines, little, false, false), "is UTF-16", "is UTF-16"},
		{"UTF-16, big end first, without a mark", encoded(lines, big, false, false), "is UTF-16", "is UTF-16"},
		{"UTF-32", encoded(csv, little, true, true), "is UTF-32; convert it to UTF-8 (iconv -f UTF-32", "is UTF-32"},
		{"UTF-32, big end first", encoded(csv, big, true, true), "is UTF-32", "is UTF-32"},
		{"integers", "\x01\x00\x00\x00\x02\x00\x00\x00", "", ""},
		{"CR", strings.ReplaceAll(csv, "\n", "\r"), "carriage return", ""},
		{"CR at first", "x,y\r1,2\n3,4\n", "carriage return", ""},
		{"CR in quotes", "\"a\rb\",y\n1,2\n", "", ""},
		{"CR after quotes", "\"a\"\"b\"\r1\r", "carriage return", ""},
		{"CR at the end", "1,2\r", "", ""},
		{"CR of arrays", strings.ReplaceAll(lines, "\n", "\r"), "carriage return", "carriage return"},
		{"CR of objects", "{\"v\":[1,2]}\r{\"v\":[3,4]}\r", "carriage return", "carriage return"},
		{"CR in an array", "[1,\r2]\r\n[3,\r4]\n", "carriage return", ""}, // JSON has it
		{"CR in an array of arrays", "[[1,2],\r[3,4]]\n", "carriage return", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := CSV(strings.NewReader(c.text))
			if !says(err, c.csv) {
				t.Errorf("CSV: %v, want %q", err, c.csv)
			}
			if err == nil {
				if all, err := io.ReadAll(r); err != nil || string(all) != c.text {
					t.Errorf("%q is read, %v", all, err)
				}
			}
			if _, err = JSON(strings.NewReader(c.text)); !says(err, c.json) {
				t.Errorf("JSON: %v, want %q", err, c.json)
			}
		})
	}
	if err := CheckMark([]byte(encoded(lines, little, false, false))); err != nil {
		t.Errorf("without a mark: %v", err)
	}
	if err := CheckMark([]byte(encoded(lines, little, true, false))); !says(err, "is UTF-16") {
		t.Errorf("with a mark: %v", err)
	}
}

func says(err error, what string) bool {
	if err == nil || what == "" {
		return err == nil && what == ""
	}
	return strings.Contains(err.Error(), what)
}

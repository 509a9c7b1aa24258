// Package plaintext tells a text of lines in UTF-8 from texts that readers of lines take for
// something else: other encodings, and lines that end with a carriage return alone.
package plaintext

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Peeked is how many bytes of a text the checks use at most.
const Peeked = 64 << 10

// CheckEncoding returns an error if start, the first bytes of a text, is UTF-16 or UTF-32: by its byte order mark
// or, for UTF-16, since every other byte is zero. The error says what the text is and what to do about it.
func CheckEncoding(start []byte) error {
	name := markOf(start)
	if name == "" && alternates(start) {
		name = "UTF-16"
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("is %s; convert it to UTF-8 (iconv -f %s -t UTF-8)", name, name)
}

// CheckMark is CheckEncoding by the byte order mark alone, for what may be no text at all.
func CheckMark(start []byte) error {
	if markOf(start) == "" {
		return nil
	}
	return CheckEncoding(start)
}

// markOf names the encoding of a byte order mark; "" without one, or for UTF-8.
func markOf(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(start, []byte{0, 0, 0xfe, 0xff}):
		return "UTF-32"
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return "UTF-16"
	}
	return ""
}

// alternates reports whether a zero follows, or precedes, every one of the first 8 bytes that is none.
func alternates(start []byte) bool {
	start = start[:min(len(start), 16)&^1]
	if len(start) < 4 {
		return false
	}
	low, high := true, true
	for i := 0; i < len(start); i += 2 {
		low = low && start[i] != 0 && start[i+1] == 0
		high = high && start[i] == 0 && start[i+1] != 0
	}
	return low || high
}

// errReturns says that lines end with CR.
var errReturns = errors.New("its lines end with a carriage return alone (CR), and those of a text end with LF or CR LF; convert them (tr '\\r' '\\n')")

// CheckCSV returns an error if the lines of comma-separated values that begin with start end with a
// carriage return alone: one stands in the first line, outside quotes, and more than space follows it there.
func CheckCSV(start []byte) error {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\r' && !quoted && len(bytes.TrimSpace(line[i:])) > 0:
			return errReturns
		}
	}
	return nil
}

// CheckJSON is CheckCSV for lines of JSON: a carriage return stands between two arrays or objects, where no
// value of JSON has one.
func CheckJSON(start []byte) error {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	for {
		before, after, found := bytes.Cut(line, []byte{'\r'})
		if !found {
			return nil
		}
		before, line = bytes.TrimSpace(before), bytes.TrimSpace(after)
		ends := len(before) > 0 && (before[len(before)-1] == ']' || before[len(before)-1] == '}')
		if ends && len(line) > 0 && (line[0] == '[' || line[0] == '{') {
			return errReturns
		}
	}
}

// CSV returns a reader of the text that r reads, or the error that CheckEncoding and CheckCSV have.
func CSV(r io.Reader) (*bufio.Reader, error) { return checked(r, CheckCSV) }

// JSON is CSV for lines of JSON.
func JSON(r io.Reader) (*bufio.Reader, error) { return checked(r, CheckJSON) }

func checked(r io.Reader, checkLines func(start []byte) error) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, Peeked)
	start, _ := b.Peek(Peeked) // what is wrong with r is found when it is read
	if err := CheckEncoding(start); err != nil {
		return nil, err
	}
	return b, checkLines(start)
}

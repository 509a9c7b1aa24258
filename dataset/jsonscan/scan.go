package jsonscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth limits the nesting of values that Value accepts.
const maxDepth = 200

// Space returns the index of the first byte from b[i] on that is not white space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// Wanted returns the error for finding something other than want at b[i].
func Wanted(b []byte, i int, want string) error {
	if i >= len(b) {
		return fmt.Errorf("text ends where %s is wanted", want)
	}
	_, n := utf8.DecodeRune(b[i:])
	return fmt.Errorf("%q at byte %d where %s is wanted", b[i:i+n], i, want)
}

// String parses the string at b[i]. The result shares b unless it has escapes.
func String(b []byte, i int) ([]byte, int, error) {
	end, escaped, err := skipString(b, i)
	if err != nil {
		return nil, end, err
	}
	if !escaped {
		return b[i+1 : end-1], end, nil
	}
	var s string
	if err := json.Unmarshal(b[i:end], &s); err != nil {
		return nil, i, fmt.Errorf("string at byte %d: %w", i, err)
	}
	return []byte(s), end, nil
}

// Name is String for ids: an escape that is half a character, which String replaces, is an error, because different
// ids would be one.
func Name(b []byte, i int) ([]byte, int, error) {
	s, end, err := String(b, i)
	if err != nil {
		return s, end, err
	}
	if at := loneSurrogate(b[i:end]); at >= 0 {
		return nil, i, fmt.Errorf("string at byte %d: %s is half of a pair of surrogates and no character", i, b[i+at:i+at+6])
	}
	return s, end, nil
}

// loneSurrogate returns where an escape of s stands for half a character; -1 if none does.
func loneSurrogate(s []byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		x := surrogate(s[i:])
		switch {
		case x < 0:
			i++
		case x < 0xdc00 && surrogate(s[i+6:]) >= 0xdc00:
			i += 11
		default:
			return i
		}
	}
	return -1
}

// surrogate returns the surrogate that the escape at the start of s stands for, -1 if that is none.
func surrogate(s []byte) int64 {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	x, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil || x < 0xd800 || x > 0xdfff {
		return -1
	}
	return int64(x)
}

func skipString(b []byte, i int) (end int, escaped bool, err error) {
	if i >= len(b) || b[i] != '"' {
		return i, false, Wanted(b, i, "a string")
	}
	start := i + 1
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !utf8.Valid(b[start:i]) {
				return i, false, fmt.Errorf("string at byte %d is not UTF-8", start-1)
			}
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return i, false, Wanted(b, i, "a character of a string")
		}
	}
	return len(b), false, errors.New("text ends inside a string")
}

// Value validates the value at b[i] and returns the index after it.
func Value(b []byte, i int) (int, error) { return value(b, i, 0) }

func value(b []byte, i, depth int) (int, error) {
	if depth > maxDepth {
		return i, fmt.Errorf("value at byte %d is nested deeper than %d", i, maxDepth)
	}
	if i >= len(b) {
		return i, Wanted(b, i, "a value")
	}
	word := ""
	switch b[i] {
	case '"':
		_, end, err := String(b, i)
		return end, err
	case '{':
		return Fields(b, i, func(_ []byte, at int) (int, error) { return value(b, at, depth+1) })
	case '[':
		return Elements(b, i, func(_, at int) (int, error) { return value(b, at, depth+1) })
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		if end := Number(b, i); end >= 0 {
			return end, nil
		}
	}
	if word != "" && Literal(b, i, word) {
		return i + len(word), nil
	}
	return i, Wanted(b, i, "a value")
}

// Literal reports whether word is at b[i].
func Literal(b []byte, i int, word string) bool {
	return len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// Elements iterates over the array at b[i] and returns the index after it. element is
// called with the number of every element and its index in b, and returns the index after
// the element.
func Elements(b []byte, i int, element func(n, at int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return i, Wanted(b, i, "an array")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for n := 0; ; n++ {
		next, err := element(n, i)
		if err != nil {
			return next, err
		}
		i = Space(b, next)
		if i >= len(b) || b[i] != ',' && b[i] != ']' {
			return i, Wanted(b, i, `"," or "]"`)
		}
		if b[i] == ']' {
			return i + 1, nil
		}
		i = Space(b, i+1)
	}
}

// Fields iterates over the object at b[i] and returns the index after it. field is called
// with every key and the index of its value, and returns the index after the value. A key
// is valid during the call.
func Fields(b []byte, i int, field func(key []byte, at int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return i, Wanted(b, i, "an object")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, next, err := String(b, i)
		if err != nil {
			return next, err
		}
		if i = Space(b, next); i >= len(b) || b[i] != ':' {
			return i, Wanted(b, i, `":"`)
		}
		if i, err = field(key, Space(b, i+1)); err != nil {
			return i, err
		}
		i = Space(b, i)
		if i >= len(b) || b[i] != ',' && b[i] != '}' {
			return i, Wanted(b, i, `"," or "}"`)
		}
		if b[i] == '}' {
			return i + 1, nil
		}
		i = Space(b, i+1)
	}
}

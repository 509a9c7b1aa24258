package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A scanner for the JSON of RFC 8259, held to the few things a line of vectors
// needs: arrays of numbers are parsed where they lie, the rest is checked and
// skipped. Positions are indexes into the line.

// maxJSONDepth bounds recursion into values that are skipped.
const maxJSONDepth = 200

const byteOrderMark = "\xef\xbb\xbf"

// columnError is a fault of one element of an array.
type columnError struct {
	column int64
	err    error
}

func (e *columnError) Error() string { return e.err.Error() }
func (e *columnError) Unwrap() error { return e.err }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// syntax describes what stands at i instead of what was wanted.
func syntax(b []byte, i int, want string) error {
	if i >= len(b) {
		return fmt.Errorf("line ends where %s is wanted", want)
	}
	_, n := utf8.DecodeRune(b[i:])
	return fmt.Errorf("%q at byte %d of the line where %s is wanted", b[i:i+n], i, want)
}

// parseArray appends the numbers of the array at b[i] to dst and returns it and
// the index behind the array. Faults of one number are a *columnError.
func parseArray(dst []float32, b []byte, i int) ([]float32, int, error) {
	if i >= len(b) || b[i] != '[' {
		return dst, i, syntax(b, i, "an array")
	}
	start := len(dst)
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return dst, i + 1, nil
	}
	for {
		v, next, err := parseNumber(b, i)
		if err != nil {
			return dst, i, &columnError{int64(len(dst) - start), err}
		}
		dst = append(dst, v)
		i = skipSpace(b, next)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return dst, i + 1, nil
		}
		return dst, i, &columnError{int64(len(dst) - start), syntax(b, i, `"," or "]"`)}
	}
}

// parseNumber reads the number at b[i] as the nearest float32.
func parseNumber(b []byte, i int) (float32, int, error) {
	end, mantissa, exponent, exact := scanNumber(b, i)
	if end < 0 {
		return 0, i, notANumber(b, i)
	}
	if exact {
		if v, ok := fastFloat(mantissa, exponent); ok {
			if b[i] == '-' {
				v = -v
			}
			return v, end, nil
		}
	}
	v, err := strconv.ParseFloat(string(b[i:end]), 32)
	if errors.Is(err, strconv.ErrRange) {
		return 0, i, fmt.Errorf("value %.40s is beyond the range of float32", b[i:end])
	}
	return float32(v), end, err
}

// scanNumber checks the grammar of a number and returns the index behind it, or
// -1. Where all digits fit mantissa x 10^exponent exact is true.
func scanNumber(b []byte, i int) (end int, mantissa uint64, exponent int, exact bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(b[i]-'0')
	}
	digits := i - first
	if digits == 0 || digits > 1 && b[first] == '0' {
		return -1, 0, 0, false
	}
	if i < len(b) && b[i] == '.' {
		point := i
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(b[i]-'0')
		}
		if exponent = point + 1 - i; exponent == 0 {
			return -1, 0, 0, false
		}
		digits -= exponent
	}
	exact = digits <= 18 // 10^18 is below 2^63: mantissa did not wrap
	if i >= len(b) || b[i]|0x20 != 'e' {
		return i, mantissa, exponent, exact
	}
	i++
	negative := i < len(b) && b[i] == '-'
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
	}
	first, e := i, 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		e = min(e*10+int(b[i]-'0'), 1<<20)
	}
	if i == first {
		return -1, 0, 0, false
	}
	if negative {
		e = -e
	}
	return i, mantissa, exponent + e, exact
}

// fastFloat is Clinger's fast path: below 2^53 and up to 10^22 one rounding in
// float64 is exact. Rounding that again to float32 is right too, unless float64
// landed on the midpoint of two float32, where the digits must decide.
func fastFloat(mantissa uint64, exponent int) (float32, bool) {
	if mantissa == 0 {
		return 0, true
	}
	if mantissa >= 1<<53 || exponent < -22 || exponent > 22 {
		return 0, false
	}
	v := float64(mantissa)
	if exponent < 0 {
		v /= pow10(-exponent)
	} else {
		v *= pow10(exponent)
	}
	const discarded = 1<<29 - 1 // fraction bits that float32 lacks
	if v < 0x1p-126 || v > 0x1p127 || math.Float64bits(v)&discarded == 1<<28 {
		return 0, false
	}
	return float32(v), true
}

// pow10 is exact for 0 <= e <= 22.
func pow10(e int) float64 {
	exact := [...]float64{
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	}
	return exact[e]
}

// notANumber names what writers put where a number is wanted.
func notANumber(b []byte, i int) error {
	rest := b[min(i, len(b)):]
	for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			return fmt.Errorf("value is %s; only finite numbers are accepted", word)
		}
	}
	if len(rest) >= 4 && string(rest[:4]) == "null" {
		return errors.New("value is null; only finite numbers are accepted")
	}
	return syntax(b, i, "a number")
}

// parseString reads the string at b[i]. The result shares b unless it holds
// escapes.
func parseString(b []byte, i int) ([]byte, int, error) {
	end, escaped, err := skipString(b, i)
	if err != nil {
		return nil, i, err
	}
	if !escaped {
		return b[i+1 : end-1], end, nil
	}
	var s string
	if err := json.Unmarshal(b[i:end], &s); err != nil {
		return nil, i, err
	}
	return []byte(s), end, nil
}

func skipString(b []byte, i int) (end int, escaped bool, err error) {
	if i >= len(b) || b[i] != '"' {
		return i, false, syntax(b, i, "a string")
	}
	start := i + 1
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !utf8.Valid(b[start:i]) {
				return i, false, fmt.Errorf("string at byte %d of the line is not UTF-8", start-1)
			}
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return i, false, syntax(b, i, "a character of a string")
		}
	}
	return i, false, errors.New("line ends inside a string")
}

// skipValue checks the value at b[i] and returns the index behind it.
func skipValue(b []byte, i, depth int) (int, error) {
	if depth > maxJSONDepth {
		return i, fmt.Errorf("value is nested deeper than %d", maxJSONDepth)
	}
	if i >= len(b) {
		return i, syntax(b, i, "a value")
	}
	switch b[i] {
	case '"':
		_, end, err := parseString(b, i)
		return end, err
	case '{':
		return eachField(b, i, func(_ []byte, at int) (int, error) { return skipValue(b, at, depth+1) })
	case '[':
		return skipArray(b, i, depth)
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word), nil
		}
	}
	if end, _, _, _ := scanNumber(b, i); end >= 0 {
		return end, nil
	}
	return i, syntax(b, i, "a value")
}

func skipArray(b []byte, i, depth int) (int, error) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		next, err := skipValue(b, i, depth+1)
		if err != nil {
			return next, err
		}
		i = skipSpace(b, next)
		if i >= len(b) || b[i] != ',' && b[i] != ']' {
			return i, syntax(b, i, `"," or "]"`)
		}
		if b[i] == ']' {
			return i + 1, nil
		}
		i = skipSpace(b, i+1)
	}
}

// eachField walks the object at b[i]. value is called with every key and the
// index of its value, and returns the index behind the value.
func eachField(b []byte, i int, value func(key []byte, at int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return i, syntax(b, i, "an object")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, next, err := parseString(b, i)
		if err != nil {
			return i, err
		}
		if i = skipSpace(b, next); i >= len(b) || b[i] != ':' {
			return i, syntax(b, i, `":"`)
		}
		if i, err = value(key, skipSpace(b, i+1)); err != nil {
			return i, err
		}
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != ',' && b[i] != '}' {
			return i, syntax(b, i, `"," or "}"`)
		}
		if b[i] == '}' {
			return i + 1, nil
		}
		i = skipSpace(b, i+1)
	}
}

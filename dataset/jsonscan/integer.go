package jsonscan

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// longestInteger is how many bytes a number may have that is looked at: enough for every
// 64-bit integer that a JSON writer puts down with a fraction or an exponent.
const longestInteger = 64

// Integer is the digits of a valid JSON number that is an integer, written as 281 or,
// up to 2^64 in size, as 281.0 or 2.81e2. ok is false for any other.
func Integer(number []byte) (digits string, ok bool) {
	text := string(number)
	if !bytes.ContainsAny(number, ".eE") {
		return text, true
	}
	if len(number) > longestInteger {
		return "", false
	}
	// The size is known before it is taken for a fraction: 1e999999999 is a large one.
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<64 {
		return "", false
	}
	if x == 0 { // or so small that it is rounded to it
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		return "0", strings.Trim(mantissa, "-0.") == ""
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok || !exact.IsInt() {
		return "", false
	}
	return exact.Num().String(), true
}

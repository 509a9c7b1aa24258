package jsonscan

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// longestInteger limits the bytes of a number to consider: enough for every 64-bit integer
// that a JSON writer prints with a fraction or an exponent.
const longestInteger = 64

// Integer returns the digits of a valid JSON number that is an integer, written as 281 or,
// up to 2^64 in magnitude, as 281.0 or 2.81e2. ok is false for any other.
func Integer(number []byte) (digits string, ok bool) {
	text := string(number)
	if !bytes.ContainsAny(number, ".eE") {
		return text, true
	}
	if len(number) > longestInteger {
		return "", false
	}
	// The magnitude is checked before the fraction is computed: 1e999999999 is large.
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<64 {
		return "", false
	}
	if x == 0 { // or rounded to 0
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		return "0", strings.Trim(mantissa, "-0.") == ""
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok || !exact.IsInt() {
		return "", false
	}
	return exact.Num().String(), true
}

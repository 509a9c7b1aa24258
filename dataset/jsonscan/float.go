package jsonscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// ElementError is an error in one element of an array.
type ElementError struct {
	Index int // 0-based
	Err   error
}

func (e *ElementError) Error() string { return e.Err.Error() }
func (e *ElementError) Unwrap() error { return e.Err }

// ErrNotFinite is the error for a number that float32 cannot hold, or a word in its place
// (NaN, Infinity, null).
var ErrNotFinite = errors.New("only finite float32 numbers are accepted")

// Floats appends the numbers of the array at b[i], each rounded to the nearest float32, to
// dst. It returns dst and the index after the array. Errors after the opening bracket are
// an *ElementError.
func Floats(dst []float32, b []byte, i int) ([]float32, int, error) {
	if i >= len(b) || b[i] != '[' {
		return dst, i, Wanted(b, i, "an array")
	}
	start := len(dst)
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return dst, i + 1, nil
	}
	for {
		v, next, ok := quick(b, i)
		if !ok {
			var err error
			if v, next, err = thorough(b, i); err != nil {
				return dst, next, &ElementError{len(dst) - start, err}
			}
		}
		dst = append(dst, v)
		i = next
		if i < len(b) && b[i] != ',' && b[i] != ']' {
			i = Space(b, i)
		}
		if i < len(b) && b[i] == ',' {
			if i++; i < len(b) && b[i] <= ' ' {
				i = Space(b, i)
			}
			continue
		}
		if i < len(b) && b[i] == ']' {
			return dst, i + 1, nil
		}
		return dst, i, &ElementError{len(dst) - start, Wanted(b, i, `"," or "]"`)}
	}
}

// mostDigits is the number of significant digits that always fit an int64.
const mostDigits = 18

// quick parses the number at b[i] as the nearest float32 if it has at most mostDigits
// digits and one float64 operation determines its float32; otherwise ok is false.
//
// The mantissa m <= 10^18 is rounded to float64 once, and m x 10^e or m / 10^-e, with an
// exact power, once more, so the relative error is at most 2^-52, which is 2 ulp. Rounding
// that to float32 gives the float32 nearest to the decimal unless the midpoint of two
// float32 is that close. This extends Clinger's fast path (PLDI 1990) to float64 that need
// not be exact.
func quick(b []byte, i int) (v float32, next int, ok bool) {
	minus := 0 // signs are random: no branch on them
	if i < len(b) && b[i] == '-' {
		minus = 1
	}
	i += minus
	first, mantissa := i, uint64(0)
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits, exponent := i-first, 0
	if digits == 0 || digits > 1 && b[first] == '0' {
		return 0, 0, false
	}
	if i < len(b) && b[i] == '.' {
		point := i + 1
		mantissa, i = fraction(b, point, mantissa)
		exponent = point - i
		if exponent == 0 {
			return 0, 0, false
		}
		digits -= exponent
	}
	if digits > mostDigits && significant(b[first:i]) > mostDigits {
		return 0, 0, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, after := power(b, i+1)
		if after < 0 {
			return 0, 0, false
		}
		exponent, i = exponent+e, after
	}
	f := float64(int64(mantissa))
	if mantissa != 0 {
		switch {
		case exponent < -22 || exponent > 22:
			return 0, 0, false
		case exponent < 0:
			f /= powers[-exponent]
		default:
			f *= powers[exponent]
		}
		const discarded, middle = 1<<29 - 1, 1 << 28 // of the fraction's bits, those beyond float32's
		if f > 0x1p127 || math.Float64bits(f)&discarded-(middle-3) <= 6 {
			return 0, 0, false
		}
	}
	return math.Float32frombits(math.Float32bits(float32(f)) | uint32(minus)<<31), i, true
}

// powers are the powers of 10 that float64 holds exactly. Read only.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// tens are 10^n for the digits that fraction takes in one step. Read only.
var tens = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// fraction appends the digits from b[i] on to mantissa, eight at a time, and returns the
// index after them. mantissa wraps if they are too many.
func fraction(b []byte, i int, mantissa uint64) (uint64, int) {
	for i+8 <= len(b) {
		t := binary.LittleEndian.Uint64(b[i:]) ^ 0x3030303030303030
		// The top bit of every byte above 9. A byte's carry affects only later bytes, which are
		// after the first non-digit.
		other := (t | (t + 0x7676767676767676)) & 0x8080808080808080
		n := uint(bits.TrailingZeros64(other)) / 8
		mantissa = mantissa*tens[n] + eight(t<<(64-8*n))
		if i += int(n); n < 8 {
			return mantissa, i
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	return mantissa, i
}

// eight returns the number whose decimal digits are the bytes of t, the first one lowest,
// by joining pairs, then pairs of pairs (arXiv 2101.11408, section 5).
func eight(t uint64) uint64 {
	const pairs = 0x000000ff000000ff
	t = t*10 + t>>8
	return ((t&pairs)*(100+1000000<<32) + (t>>16&pairs)*(1+10000<<32)) >> 32
}

// significant counts the digits after leading zeros.
func significant(number []byte) int {
	n := 0
	for _, c := range number {
		if c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n
}

// power parses what follows the e of a number; after is -1 without digits. It saturates at a million.
func power(b []byte, i int) (e, after int) {
	negative := i < len(b) && b[i] == '-'
	if negative || i < len(b) && b[i] == '+' {
		i++
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 {
		e = min(e*10+int(b[i]-'0'), 1_000_000)
		i++
	}
	if i == first {
		return 0, -1
	}
	if negative {
		e = -e
	}
	return e, i
}

// thorough is quick for every number, and returns an error for anything else; the index
// is then that of the error.
func thorough(b []byte, i int) (float32, int, error) {
	end := Number(b, i)
	if end < 0 {
		return 0, i, notANumber(b, i)
	}
	v, err := strconv.ParseFloat(string(b[i:end]), 32)
	if errors.Is(err, strconv.ErrRange) {
		return 0, i, fmt.Errorf("value %.40s is beyond the range of float32: %w", b[i:end], ErrNotFinite)
	}
	return float32(v), end, err
}

// Number validates the number at b[i] and returns the index after it, -1 if there is none.
func Number(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == first || i > first+1 && b[first] == '0' {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		point := i
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
		}
		if i == point+1 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		_, i = power(b, i+1)
	}
	return i
}

// notANumber lists words that programs write instead of a number.
func notANumber(b []byte, i int) error {
	rest := b[min(i, len(b)):]
	for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf", "null"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			return fmt.Errorf("value is %s: %w", word, ErrNotFinite)
		}
	}
	return Wanted(b, i, "a number")
}

// leastInexact is the least integer that float32 does not hold, less one, to which it is rounded.
const leastInexact = 1 << 24

// Vector is Floats for coordinates: an integer that float32 does not hold is an error, as it is in
// files of integers. One that is written as float32 is printed in its fewest digits is that number.
func Vector(dst []float32, b []byte, i int) ([]float32, int, error) {
	start := len(dst)
	dst, end, err := Floats(dst, b, i)
	if err != nil {
		return dst, end, err
	}
	for _, v := range dst[start:] {
		if v >= leastInexact || v <= -leastInexact {
			return dst, end, exactElements(dst[start:], b, i)
		}
	}
	return dst, end, nil
}

// exactElements is the check of Vector for the numbers of the array at b[i], which has been parsed.
func exactElements(list []float32, b []byte, i int) error {
	_, err := Elements(b, i, func(n, at int) (int, error) {
		end := Number(b, at)
		if err := Exact(list[n], string(b[at:end])); err != nil {
			return at, &ElementError{n, err}
		}
		return end, nil
	})
	return err
}

// Exact returns an error if text, a number that is rounded to v, is an integer that float32 does
// not hold. 16777217 is one; 1.1 and 16777217.5 are none, nor is 123456790, in which programs print
// the float32 123456792.
func Exact(v float32, text string) error {
	if v < leastInexact && v > -leastInexact {
		return nil
	}
	digits := strings.TrimPrefix(text, "+")
	for _, c := range strings.TrimPrefix(digits, "-") {
		if c < '0' || c > '9' {
			return nil
		}
	}
	if x, ok := new(big.Float).SetPrec(exactBits).SetString(digits); ok && x.Cmp(new(big.Float).SetFloat64(float64(v))) == 0 {
		return nil
	}
	if strconv.FormatFloat(float64(v), 'f', -1, 32) == digits {
		return nil
	}
	return fmt.Errorf("integer %.40s cannot be held by float32 exactly", text)
}

// exactBits are enough for every integer up to the greatest float32.
const exactBits = 160

package jsonscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
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

// ErrTooMany is the error for an array of more numbers than the caller allows.
var ErrTooMany = errors.New("more numbers than are allowed")

// Numbers counts the numbers of the array at b[i], without keeping them. Errors are those of Rounded, but of numbers
// beyond the range of float32.
func Numbers(b []byte, i int) (n, next int, err error) {
	if i >= len(b) || b[i] != '[' {
		return 0, i, Wanted(b, i, "an array")
	}
	next, err = Elements(b, i, func(_, at int) (int, error) {
		end := Number(b, at)
		if end < 0 {
			return at, notANumber(b, at)
		}
		n++
		return end, nil
	})
	if err != nil {
		return n, next, &ElementError{n, err}
	}
	return n, next, nil
}

// Rounded appends the numbers of the array at b[i], at most most, each rounded to the nearest float32, to dst. It
// returns dst, the largest change that rounding made to one of the numbers as float64 has them, and the index after
// the array. A change below 2^-50 of its number may be taken for none. Errors after the opening bracket are an
// *ElementError; of more numbers it wraps ErrTooMany.
func Rounded(dst []float32, b []byte, i, most int) (all []float32, change float64, next int, err error) {
	if i >= len(b) || b[i] != '[' {
		return dst, 0, i, Wanted(b, i, "an array")
	}
	start := len(dst)
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return dst, 0, i + 1, nil
	}
	for {
		if len(dst)-start == most {
			return dst, change, i, &ElementError{most, ErrTooMany}
		}
		v, lost, next, ok := quick(b, i)
		if !ok {
			if v, lost, next, err = thorough(b, i); err != nil {
				return dst, change, next, &ElementError{len(dst) - start, err}
			}
		}
		if lost > change {
			change = lost
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
			return dst, change, i + 1, nil
		}
		return dst, change, i, &ElementError{len(dst) - start, Wanted(b, i, `"," or "]"`)}
	}
}

// Doubles is Rounded in float64, of numbers within the range of float32.
func Doubles(dst []float64, b []byte, i, most int) ([]float64, int, error) {
	if i >= len(b) || b[i] != '[' {
		return dst, i, Wanted(b, i, "an array")
	}
	n := 0
	next, err := Elements(b, i, func(_, at int) (int, error) {
		if n == most {
			return at, ErrTooMany
		}
		x, end, err := double(b, at)
		if err == nil {
			n, dst = n+1, append(dst, x)
		}
		return end, err
	})
	if err != nil {
		return dst, next, &ElementError{n, err}
	}
	return dst, next, nil
}

// double parses the number at b[i] as the nearest float64.
func double(b []byte, i int) (float64, int, error) {
	end := Number(b, i)
	if end < 0 {
		return 0, i, notANumber(b, i)
	}
	text := b[i:end]
	x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	if err != nil || math.IsInf(float64(float32(x)), 0) {
		return 0, i, fmt.Errorf("value %.40s is beyond the range of float32: %w", text, ErrNotFinite)
	}
	return x, end, nil
}

// maxDigits is the number of significant digits that always fit an int64.
const maxDigits = 18

// quick parses the number at b[i] as the nearest float32 if it has at most maxDigits
// digits and one float64 operation determines its float32; otherwise ok is false.
//
// The mantissa m <= 10^18 is rounded to float64 once, and m x 10^e or m / 10^-e, with an
// exact power, once more, so the relative error is at most 2^-52, which is 2 ulp. Rounding
// that to float32 gives the float32 nearest to the decimal unless the midpoint of two
// float32 is that close. This extends Clinger's fast path (PLDI 1990) to float64 that need
// not be exact.
//
// lost is by how much that changed the number, 0 if by no more than the parsing could.
func quick(b []byte, i int) (v float32, lost float64, next int, ok bool) {
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
		return 0, 0, 0, false
	}
	if i < len(b) && b[i] == '.' {
		point := i + 1
		mantissa, i = fraction(b, point, mantissa)
		exponent = point - i
		if exponent == 0 {
			return 0, 0, 0, false
		}
		digits -= exponent
	}
	if digits > maxDigits && significant(b[first:i]) > maxDigits {
		return 0, 0, 0, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, after := power(b, i+1)
		if after < 0 {
			return 0, 0, 0, false
		}
		exponent, i = exponent+e, after
	}
	f := float64(int64(mantissa))
	if mantissa != 0 {
		switch {
		case exponent < -22 || exponent > 22:
			return 0, 0, 0, false
		case exponent < 0:
			f /= powers[-exponent]
		default:
			f *= powers[exponent]
		}
		const discarded, middle = 1<<29 - 1, 1 << 28 // of the fraction's bits, those beyond float32's
		if f > 0x1p127 || math.Float64bits(f)&discarded-(middle-3) <= 6 {
			return 0, 0, 0, false
		}
	}
	v = float32(f)
	if lost = math.Abs(f - float64(v)); lost <= f*0x1p-50 {
		lost = 0
	}
	return math.Float32frombits(math.Float32bits(v) | uint32(minus)<<31), lost, i, true
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
func thorough(b []byte, i int) (v float32, lost float64, next int, err error) {
	end := Number(b, i)
	if end < 0 {
		return 0, 0, i, notANumber(b, i)
	}
	text := string(b[i:end])
	x, err := strconv.ParseFloat(text, 32)
	if errors.Is(err, strconv.ErrRange) {
		return 0, 0, i, fmt.Errorf("value %.40s is beyond the range of float32: %w", text, ErrNotFinite)
	}
	if exact, e := strconv.ParseFloat(text, 64); e == nil && err == nil {
		lost = math.Abs(exact - x)
	}
	return float32(x), lost, end, err
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

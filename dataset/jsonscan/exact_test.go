package jsonscan

import (
	"errors"
	"strings"
	"testing"
)

// TestVectorIsExact: an integer that float32 does not hold is refused with its place; other numbers,
// and the digits in which a float32 is printed, are read as by Floats.
func TestVectorIsExact(t *testing.T) {
	for text, bad := range map[string]int{
		"[1,16777216,-16777216]":                    -1,
		"[1,16777217]":                              1,
		"[1,2,-16777217]":                           2,
		"[16777217.5]":                              -1, // no integer
		"[1e20, 0.5]":                               -1,
		"[16777218,33554436]":                       -1,
		"[123456790]":                               -1, // the float32 123456792, in its fewest digits
		"[123456789]":                               0,
		"[ 5 , 9007199254740993 ]":                  1,
		"[18446744073709551616]":                    -1, // 2^64
		"[18446744073709551615]":                    0,
		"[340282350000000000000000000000000000000]": -1, // the greatest float32, as printed
	} {
		_, end, err := Vector(nil, []byte(text), 0)
		var at *ElementError
		switch {
		case bad < 0 && (err != nil || end != len(text)):
			t.Errorf("%s: %v at %d", text, err, end)
		case bad >= 0 && (!errors.As(err, &at) || at.Index != bad || !strings.Contains(err.Error(), "float32")):
			t.Errorf("%s: %v, want an error at element %d", text, err, bad)
		}
	}
}

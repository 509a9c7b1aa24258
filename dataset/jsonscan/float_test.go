package jsonscan

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"thresher/internal/draws"
)

// TestFloatsAreTheNearest compares Rounded with strconv, which rounds correctly, mostly on
// decimals near the midpoint of two float32.
func TestFloatsAreTheNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	check := func(s string) {
		t.Helper()
		want, wantErr := strconv.ParseFloat(s, 32)
		// The text after a number determines how its digits are read.
		for _, behind := range []string{"]", ",1]", " ,0.12345678]"} {
			got, end, err := floats(nil, []byte("["+s+behind), 0)
			if (err == nil) != (wantErr == nil) || err == nil && (end != 1+len(s+behind) || math.Float32bits(got[0]) != math.Float32bits(float32(want))) {
				t.Fatalf("%s: got %v to %d (%v), want %v (%v)", s, got, end, err, want, wantErr)
			}
		}
	}
	for _, s := range []string{
		"0", "-0", "0.0e5", "1e-45", "1e-46", "3.4028235e38", "3.4028236e38", "1e400", "-1e-400", "0e99999999999",
		"16777217", "16777219", "1.00000017881393432617187499", "1.00000017881393432617187500", "123456789012345678901234567890",
		"999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "18446744073709551617.5", "36893488147419103233e-3", "0.00000000000000000012345678901234567",
		"0.000000000000000000000000000000000000000000001", "1e22", "1e23", "1E+10", "1.5e-22", "1.5e-23",
	} {
		check(s)
	}
	for range 20_000 {
		x := math.Float32frombits(rng.Uint32())
		if x-x != 0 {
			continue
		}
		check(strconv.FormatFloat(float64(x), 'g', 1+rng.IntN(20), 64))
		check(strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(20), 64))
		if next := math.Nextafter32(x, float32(math.Inf(1))); next-next == 0 {
			middle := (float64(x) + float64(next)) / 2
			check(strconv.FormatFloat(middle, 'g', -1, 64))
			check(strconv.FormatFloat(middle, 'g', 14+rng.IntN(8), 64))
		}
	}
}

// TestQuickTakesWhatClientsWrite: quick parses the shortest decimals of a float32, and of its
// value as a float64, which Python writes for NumPy's arrays.
func TestQuickTakesWhatClientsWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	slow := 0
	const n = 20_000
	for range n {
		x := float64(float32(rng.NormFloat64()))
		for _, bits := range []int{32, 64} {
			if _, _, _, ok := quick(strconv.AppendFloat(nil, x, 'g', -1, bits), 0); !ok {
				slow++
			}
		}
	}
	if slow > 2*n/1000 {
		t.Errorf("%d of %d numbers go to strconv", slow, 2*n)
	}
}

func TestPowersAreExact(t *testing.T) {
	for e, p := range powers {
		if want, err := strconv.ParseFloat("1e"+strconv.Itoa(e), 64); p != want || err != nil {
			t.Errorf("10^%d is %v", e, p)
		}
	}
}

func TestFloats(t *testing.T) {
	for _, x := range []struct {
		text string
		want []float32
	}{
		{"[]", nil},
		{"[ ]", nil},
		{"[1]", []float32{1}},
		{"[\t1 ,\r\n-2.5e1\n, 3]", []float32{1, -25, 3}},
		{"[0.12345678,0.123456789,1e-5]", []float32{0.12345678, 0.123456789, 1e-5}},
	} {
		got, end, err := floats([]float32{7}, []byte("x"+x.text+" ,"), 1)
		if err != nil || end != 1+len(x.text) || len(got) != 1+len(x.want) {
			t.Errorf("%s: %v to %d (%v)", x.text, got, end, err)
			continue
		}
		for i, v := range x.want {
			if got[1+i] != v {
				t.Errorf("%s: element %d is %v", x.text, i, got[1+i])
			}
		}
	}
}

// TestFloatsRefuse fixes the element and the text of every error.
func TestFloatsRefuse(t *testing.T) {
	for _, x := range []struct {
		text    string
		element int // -1: not of an element
		finite  bool
		says    string
	}{
		{"", -1, true, "text ends where an array is wanted"},
		{"7", -1, true, `"7" at byte 0 where an array is wanted`},
		{"[", 0, true, "text ends where a number is wanted"},
		{"[1", 1, true, `text ends where "," or "]" is wanted`},
		{"[1,", 1, true, "text ends where a number is wanted"},
		{"[1,]", 1, true, `"]" at byte 3 where a number is wanted`},
		{"[1 2]", 1, true, `"2" at byte 3 where "," or "]" is wanted`},
		{"[1,[2]]", 1, true, `"[" at byte 3 where a number is wanted`},
		{`[1,2,"3"]`, 2, true, `"\"" at byte 5 where a number is wanted`},
		{"[01]", 0, true, `"0" at byte 1 where a number is wanted`},
		{"[1.]", 0, true, `"1" at byte 1 where a number is wanted`},
		{"[.5]", 0, true, `"." at byte 1 where a number is wanted`},
		{"[+1]", 0, true, `"+" at byte 1 where a number is wanted`},
		{"[-]", 0, true, `"-" at byte 1 where a number is wanted`},
		{"[1e]", 0, true, `"1" at byte 1 where a number is wanted`},
		{"[1e+]", 0, true, `"1" at byte 1 where a number is wanted`},
		{"[0x1]", 1, true, `"x" at byte 2 where "," or "]" is wanted`},
		{"[1,NaN]", 1, false, "value is NaN: only finite float32 numbers are accepted"},
		{"[-Infinity]", 0, false, "value is -Infinity: only finite float32 numbers are accepted"},
		{"[null]", 0, false, "value is null: only finite float32 numbers are accepted"},
		{"[1,2,-1e39]", 2, false, "value -1e39 is beyond the range of float32: only finite float32 numbers are accepted"},
	} {
		_, _, err := floats(nil, []byte(x.text), 0)
		if err == nil || err.Error() != x.says || errors.Is(err, ErrNotFinite) == x.finite {
			t.Errorf("%s: %v\nwant %s", x.text, err, x.says)
		}
		element := -1
		var of *ElementError
		if errors.As(err, &of) {
			element = of.Index
		}
		if element != x.element {
			t.Errorf("%s: element %d, want %d", x.text, element, x.element)
		}
	}
}

// TestRounded: the change is that of the number as float64 has it, and none of one that float32 wrote with
// the digits of a float64.
func TestRounded(t *testing.T) {
	r := draws.Rand(31)
	for range 20000 {
		x := math.Float64frombits(r.Uint64())
		if !(math.Abs(x) < 1e38) {
			continue
		}
		held := float64(float32(x))
		for _, x := range []float64{x, held, math.Round(x*1e4) / 1e4} {
			if math.Abs(x) > 1e38 {
				continue
			}
			text := strconv.AppendFloat([]byte("["), x, 'g', -1, 64)
			all, change, _, err := Rounded(nil, append(text, ",0.5]"...), 0, math.MaxInt)
			if err != nil || len(all) != 2 {
				t.Fatalf("%s: %v", text, err)
			}
			if want := math.Abs(x - float64(all[0])); math.Abs(change-want) > math.Abs(x)*0x1p-49 {
				t.Fatalf("%s: change %g, want %g", text, change, want)
			} else if want == 0 && change != 0 {
				t.Fatalf("%s: is held by float32, and changed by %g", text, change)
			}
		}
	}
	doubles, end, err := Doubles(nil, []byte(" [1.5, -2e-3,16777217]x"), 1, math.MaxInt)
	if err != nil || end != 22 || !slices.Equal(doubles, []float64{1.5, -2e-3, 16777217}) {
		t.Error(doubles, end, err)
	}
	for _, bad := range []string{"[1,1e39]", "[1,null]", "[1,2", "[1 2]"} {
		_, _, err := Doubles(nil, []byte(bad), 0, math.MaxInt)
		_, _, _, other := Rounded(nil, []byte(bad), 0, math.MaxInt)
		var at, also *ElementError
		if !errors.As(err, &at) || !errors.As(other, &also) || at.Index != also.Index || at.Error() != also.Error() {
			t.Errorf("%s: %v, %v", bad, err, other)
		}
	}
}

// floats is Rounded without a limit, and without the change.
func floats(dst []float32, b []byte, i int) ([]float32, int, error) {
	dst, _, next, err := Rounded(dst, b, i, math.MaxInt)
	return dst, next, err
}

// TestTooMany: an array is read no further than allowed, and its numbers can be counted.
func TestTooMany(t *testing.T) {
	text := []byte("[1, 2.5,-3e1]")
	for most := range 4 {
		all, _, _, err := Rounded([]float32{9}, text, 0, most)
		wide, _, other := Doubles(nil, text, 0, most)
		var e *ElementError
		fits := most == 3
		if fits != (err == nil) || !fits && (!errors.Is(err, ErrTooMany) || !errors.As(err, &e) || e.Index != most) || len(all) != 1+most || len(wide) != most || fits != (other == nil) {
			t.Errorf("at most %d: %v, %v, %v, %v", most, all, err, wide, other)
		}
	}
	if n, next, err := Numbers(text, 0); n != 3 || next != len(text) || err != nil {
		t.Errorf("%d numbers up to %d, %v", n, next, err)
	}
	for text, index := range map[string]int{"[1,nan]": 1, "[1,2": 2, "[null]": 0} {
		var e *ElementError
		if _, _, err := Numbers([]byte(text), 0); !errors.As(err, &e) || e.Index != index {
			t.Errorf("%s: %v, want an error in element %d", text, err, index)
		}
	}
	if _, _, err := Numbers([]byte("1"), 0); err == nil {
		t.Error("a number is no array")
	}
}

package jsonscan

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	for _, x := range []struct{ text, want, says string }{
		{`"a"`, "a", ""},
		{`""`, "", ""},
		{`"\u00e9\n\\\""`, "é\n\\\"", ""},
		{`"é"`, "é", ""},
		{``, "", "text ends where a string is wanted"},
		{`a`, "", `"a" at byte 0 where a string is wanted`},
		{`"a`, "", "text ends inside a string"},
		{`"a\"`, "", "text ends inside a string"},
		{`"a\`, "", "text ends inside a string"},
		{"\"a\nb\"", "", `"\n" at byte 2 where a character of a string is wanted`},
		{`"\x"`, "", "string at byte 0: invalid character 'x' in string escape code"},
		{"\"\xff\"", "", "string at byte 0 is not UTF-8"},
	} {
		got, end, err := String([]byte(x.text), 0)
		if x.says == "" && (err != nil || string(got) != x.want || end != len(x.text)) || x.says != "" && (err == nil || err.Error() != x.says) {
			t.Errorf("%s: %q to %d (%v), want %q (%s)", x.text, got, end, err, x.want, x.says)
		}
	}
}

// TestName: half a character is refused in an id, and a pair of halves, or a backslash before \u, is not one.
func TestName(t *testing.T) {
	for _, x := range []struct{ text, want, says string }{
		{`"a"`, "a", ""},
		{`"\ud83d\ude00"`, "😀", ""},
		{`"\\ud800"`, `\ud800`, ""},
		{`"\u00e9"`, "é", ""},
		{`"\ud800"`, "", `string at byte 0: \ud800 is half of a pair of surrogates and no character`},
		{`"x\udfff"`, "", `string at byte 0: \udfff is half`},
		{`"\ud83d\ud83d\ude00"`, "", `\ud83d is half`},
		{`"\n\uD801a"`, "", `\uD801 is half`},
		{`"a`, "", "text ends inside a string"},
	} {
		got, end, err := Name([]byte(x.text), 0)
		if x.says == "" && (err != nil || string(got) != x.want || end != len(x.text)) || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%s: %q to %d (%v), want %q (%s)", x.text, got, end, err, x.want, x.says)
		}
	}
}

func TestFields(t *testing.T) {
	walk := func(text string) (seen []string, end int, err error) {
		b := []byte(text)
		end, err = Fields(b, 0, func(key []byte, at int) (int, error) {
			next, err := Value(b, at)
			seen = append(seen, fmt.Sprintf("%s=%s", key, b[at:next]))
			return next, err
		})
		return seen, end, err
	}
	text := ` { "a" : [1,{"b":2}] , "a":null,"\u0063":"}" } `[1:]
	seen, end, err := walk(text)
	if want := []string{`a=[1,{"b":2}]`, "a=null", `c="}"`}; err != nil || end != len(text)-1 || !slices.Equal(seen, want) {
		t.Errorf("%q to %d (%v), want %q", seen, end, err, want)
	}
	for text, says := range map[string]string{
		"":            "text ends where an object is wanted",
		"[]":          `"[" at byte 0 where an object is wanted`,
		"{":           "text ends where a string is wanted",
		`{"a"}`:       `"}" at byte 4 where ":" is wanted`,
		`{"a":}`:      `"}" at byte 5 where a value is wanted`,
		`{"a":1`:      `text ends where "," or "}" is wanted`,
		`{"a":1 2}`:   `"2" at byte 7 where "," or "}" is wanted`,
		`{"a":1,}`:    `"}" at byte 7 where a string is wanted`,
		`{"a":tru}`:   `"t" at byte 5 where a value is wanted`,
		`{"a":[1 2]}`: `"2" at byte 8 where "," or "]" is wanted`,
	} {
		if _, _, err := walk(text); err == nil || err.Error() != says {
			t.Errorf("%s: %v\nwant %s", text, err, says)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Value(nest(maxDepth+1), 0); err != nil {
		t.Error(err)
	}
	if _, err := Value(nest(1_000_000), 0); err == nil || !strings.Contains(err.Error(), "nested deeper than 200") {
		t.Error(err)
	}
}

// FuzzValue compares Value with encoding/json: both accept the same texts, except those that
// are not UTF-8 or nested too deeply.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9"],"b":{"c":null}}`, `[[[]]]`, "1e5", `"\ud800"`, "[1,]", "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end, err := Value(text, Space(text, 0))
		whole := err == nil && Space(text, end) == len(text)
		valid := json.Valid(text)
		if whole && !valid {
			t.Fatalf("%q is accepted", text)
		}
		if valid && !whole && utf8.Valid(text) && !strings.Contains(fmt.Sprint(err), "nested deeper") {
			t.Fatalf("%q is refused: %v", text, err)
		}
	})
}

// FuzzFloats compares Floats with encoding/json.
func FuzzFloats(f *testing.F) {
	for _, s := range []string{"[]", "[1,-2.5e3, 0.12345678]", "[16777217,1e-45,3.4028236e38]", "[123456789012345678901234567890]", "[null]", "[01]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, end, err := floats(nil, text, 0)
		var want []*float32
		wantErr := json.Unmarshal(text, &want)
		whole := err == nil && Space(text, end) == len(text)
		if good := wantErr == nil && !slices.Contains(want, nil) && len(text) > 0 && text[0] == '['; whole != good {
			t.Fatalf("%q: %v to %d (%v), encoding/json says %v", text, got, end, err, wantErr)
		}
		if !whole {
			return
		}
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(*want[i]) {
				t.Fatalf("%q: element %d is %v, want %v", text, i, got[i], *want[i])
			}
		}
	})
}

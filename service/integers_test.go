package service

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":281.0,"b":1e3,"c":-2.50e1}`:              `{"a":281,"b":1000,"c":-25}`,
		`[18446744073709551615.0,9007199254740993.0]`:  `[18446744073709551615,9007199254740993]`,
		`[0.0,-0.0,0e999999999,1e-999999999,1e400,.5]`: `[0,0,0,1e-999999999,1e400,.5]`,
		`{"1.0":"2.0","\"3.0":"\\","x":4.0}`:           `{"1.0":"2.0","\"3.0":"\\","x":4}`,
		`[1,2.5,7]`:                                    `[1,2.5,7]`,
		`"1.0`:                                         `"1.0`,
		`[01.0,1.0.0,-]`:                               `[01.0,1.0.0,-]`,
		``:                                             ``,
	} {
		if d := cmp.Diff(want, string(integers([]byte(text)))); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

// FuzzIntegers: a text that is JSON stays JSON of the same values.
func FuzzIntegers(f *testing.F) {
	f.Add(`{"a":[281.0,1e3,"1.0\\"],"b":-0.0}`)
	f.Add(`[1e-400, 18446744073709551616.0, 0.1e1]`)
	f.Fuzz(func(t *testing.T, text string) {
		out := string(integers([]byte(text)))
		if json.Valid([]byte(text)) != json.Valid([]byte(out)) {
			t.Fatalf("%q became %q", text, out)
		}
		if !json.Valid([]byte(text)) {
			return
		}
		if d := cmp.Diff(valuesOf(t, text), valuesOf(t, out)); d != "" {
			t.Error(d)
		}
	})
}

// valuesOf are the tokens of a JSON text, numbers as exact fractions where those are
// small.
func valuesOf(t *testing.T, text string) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all []string
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		switch x := token.(type) {
		case json.Number:
			if f, err := x.Float64(); err == nil && f > -1e30 && f < 1e30 && (f == 0 || f > 1e-30 || f < -1e-30) && len(x) < 64 && f != 0 {
				exact, _ := new(big.Rat).SetString(x.String())
				all = append(all, exact.String())
				continue
			}
			f, _ := x.Float64()
			all = append(all, big.NewFloat(f+0).String())
		case string:
			all = append(all, "text "+x)
		case json.Delim:
			all = append(all, x.String())
		}
	}
}

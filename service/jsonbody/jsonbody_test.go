package jsonbody

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

// body has a member of each type.
type body struct {
	Text  string
	Map   map[string]string
	Whole int64
	Seed  *uint64
	X     *float64
	Flag  *bool
	List  []float64
	Raw   json.RawMessage
}

func (v *body) members() Members {
	return Members{
		"text":  Text("text", &v.Text),
		"map":   Optional(TextMap("map", &v.Map)),
		"whole": Integer("whole", &v.Whole),
		"seed":  Pointer("seed", &v.Seed, Integer[uint64]),
		"x":     Pointer("x", &v.X, Float),
		"flag":  Pointer("flag", &v.Flag, Bool),
		"list":  Numbers("list", 2, &v.List, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 }),
		"raw":   Raw(&v.Raw),
	}
}

func TestDecode(t *testing.T) {
	seed, x, flag := uint64(math.MaxUint64), 1e3, true
	var got body
	err := Decode([]byte(` {"text":"a\u00e9","map":{"a":"b"},"whole":-2.50e1,"seed":18446744073709551615.0,"x":1e3,"flag":true,"list":[0,1],"raw":{"k":[1 ]}} `), got.members())
	want := body{"aé", map[string]string{"a": "b"}, -25, &seed, &x, &flag, []float64{0, 1}, json.RawMessage(`{"k":[1 ]}`)}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	got = body{}
	if err := Decode([]byte(`{"seed":null,"x":null,"flag":null,"map":null}`), got.members()); err != nil || cmp.Diff(body{}, got) != "" {
		t.Error(err, got)
	}
}

func TestProblems(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		text  string
		kind  problem.Kind
		field string
		index int
		limit any
	}{
		{``, problem.Malformed, "", none, nil},
		{`null`, problem.Malformed, "", none, nil},
		{`[]`, problem.Malformed, "", none, nil},
		{`{}{}`, problem.Malformed, "", none, nil},
		{`{"text":"a"`, problem.Malformed, "", none, nil},
		{`{"other":1}`, problem.UnknownField, "other", none, []string{"flag", "list", "map", "raw", "seed", "text", "whole", "x"}},
		{`{"text":"a","text":"b"}`, problem.InvalidValue, "text", none, 1},
		{`{"text":null}`, problem.InvalidValue, "text", none, nil},
		{`{"map":{"a":1}}`, problem.InvalidValue, "map", none, nil},
		{`{"map":{"a":"b","a":"c"}}`, problem.InvalidValue, "map", none, nil},
		{`{"map":[]}`, problem.InvalidValue, "map", none, nil},
		{`{"whole":1.5}`, problem.InvalidValue, "whole", none, nil},
		{`{"whole":9223372036854775808}`, problem.InvalidValue, "whole", none, "[-2^63, 2^63)"},
		{`{"seed":-1}`, problem.InvalidValue, "seed", none, "[0, 2^64)"},
		{`{"x":1e400}`, problem.InvalidValue, "x", none, "the range of float64"},
		{`{"x":"1"}`, problem.InvalidValue, "x", none, nil},
		{`{"flag":0}`, problem.InvalidValue, "flag", none, nil},
		{`{"list":[0,2]}`, problem.InvalidValue, "list", 1, "[0, 1]"},
		{`{"list":[0,0,0]}`, problem.OverLimit, "list", none, 2},
	} {
		var v body
		var p *problem.Problem
		if err := Decode([]byte(c.text), v.members()); !errors.As(err, &p) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if d := cmp.Diff(c.limit, p.Limit); p.Kind != c.kind || p.Field != c.field || p.Index != c.index || d != "" || p.Detail == "" {
			t.Errorf("%s: %s %q %d %q %s", c.text, p.Kind, p.Field, p.Index, p.Detail, d)
		}
	}
	each := func(b []byte, i int) (int, error) { return Object(new(body).members())(b, i) }
	for text, want := range map[string]int{`{}`: none, `[{"x":1},{"x":"1"}]`: 1, `[7]`: 0} {
		var p *problem.Problem
		if err := DecodeList([]byte(text), each); !errors.As(err, &p) || p.Index != want || p.Detail == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzDecode: a body is read as encoding/json reads it, or is a problem of status 400.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"text":"a","map":{"a":"b"},"whole":1e2,"seed":7,"x":.5,"flag":false,"list":[0.5],"raw":[{}]}`))
	f.Add([]byte(`{"text":"\ud800","whole":1.0,"x":1e-400,"raw":"\""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got body
		if err := Decode(text, got.members()); err != nil {
			var p *problem.Problem
			if !errors.As(err, &p) || p.Kind.Status() != 400 || p.Detail == "" {
				t.Errorf("%v", err)
			}
			return
		}
		var want struct {
			Text string
			X    *float64
			Flag *bool
			List []float64
		}
		if err := json.Unmarshal(text, &want); err != nil || want.Text != got.Text || cmp.Diff(want.X, got.X)+cmp.Diff(want.Flag, got.Flag)+cmp.Diff(want.List, got.List) != "" {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
	})
}

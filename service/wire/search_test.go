package wire

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/service/problem"
)

// limits of most tests; collections have 3 dimensions.
func limits() Limits { return Limits{Queries: 3, K: 50} }

const dim = 3

func TestDecodeSearch(t *testing.T) {
	least := -.5
	two := []float32{1, -2.5, 0.1, 4, 5, 6}
	for _, x := range []struct {
		name, body string
		want       Search
	}{
		{"least", `{"queries":[[1,-2.5,0.1],[4,5,6]]}`, Search{Queries: two, M: 2, K: 10, CutK: true}},
		{"spaced", "\n { \"queries\" : [ [ 1 , -2.5,\t0.1 ] , [4e0,5.0,60E-1] ] } \r\n", Search{Queries: two, M: 2, K: 10, CutK: true}},
		{"options first", `{"k":7,"delta":0.05,"queries":[[1,-2.5,0.1],[4,5,6]]}`, Search{Queries: two, M: 2, K: 7, Delta: .05}},
		{"all", `{"queries":[[1,2,3]],"k":7.0e0,"cut_k":true,"delta":1e-300,"epsilon":0,"relative":true,"method":"certain","plan":"64,rescore",
			"min_score":-0.5,"deadline_ms":0.25,"filter":[3,-1,9223372036854775807],"exclude":["a","é\n"],"include":["rounds","certificate","rounds"]}`,
			Search{Queries: []float32{1, 2, 3}, M: 1, K: 7, CutK: true, Delta: 1e-300, Relative: true, Method: batch.Certain, Plan: "64,rescore",
				MinScore: &least, ScoreLimit: "min_score", Deadline: 250 * time.Microsecond, Filter: &IDList{Ints: []int64{3, -1, math.MaxInt64}},
				Exclude: &IDList{Names: []string{"a", "é\n"}}, Certificate: true, Rounds: true}},
		{"empty lists", `{"queries":[[1,2,3]],"filter":[],"exclude":[ ],"include":[]}`,
			Search{Queries: []float32{1, 2, 3}, M: 1, K: 10, CutK: true, Filter: &IDList{}, Exclude: &IDList{}}},
		{"least score alone", `{"queries":[[1,2,3]],"min_score":-0.5}`,
			Search{Queries: []float32{1, 2, 3}, M: 1, K: 50, CutK: true, MinScore: &least, ScoreLimit: "min_score"}},
		{"tiny timeout", `{"queries":[[1,2,3]],"deadline_ms":1e-3}`, Search{Queries: []float32{1, 2, 3}, M: 1, K: 10, CutK: true, Deadline: time.Microsecond}},
		{"escaped key", `{"\u0071ueries":[[1,2,3]],"\u006b":4}`, Search{Queries: []float32{1, 2, 3}, M: 1, K: 4}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.want.Dim = dim
			got, err := DecodeSearch([]byte(x.body), dim, limits())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&x.want, got, cmpopts.IgnoreFields(Search{}, "Changes")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestQueriesAreRounded: changes are those of the numbers as written, and queries of every form are taken
// relative to the origin before they are rounded.
func TestQueriesAreRounded(t *testing.T) {
	const far = 1 << 30 // float32 has steps of 128 from it
	wide := append(npyHead("<f8", "(2, 3)"), make([]byte, 48)...)
	for i, x := range []float64{far + 1, .5, 0, far, .5, .1} {
		binary.LittleEndian.PutUint64(wide[len(wide)-48+8*i:], math.Float64bits(x))
	}
	for name, decode := range map[string]func(origin []float64) (*Search, error){
		"json": func(origin []float64) (*Search, error) {
			return DecodeSearch([]byte(`{"queries":[[1073741825,0.5,0],[1073741824,0.5,0.1]]}`), dim, Limits{Origin: origin})
		},
		"npy": func(origin []float64) (*Search, error) {
			return DecodeSearchNPY(wide, nil, dim, Limits{Origin: origin})
		},
	} {
		near := math.Abs(float64(float32(.1)) - .1)
		got, err := decode(nil)
		if err != nil || !slices.Equal(got.Queries, []float32{far, .5, 0, far, .5, .1}) || got.Changes[0] != 1 || math.Abs(got.Changes[1]-near) > 1e-16 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		got, err = decode([]float64{far, 0, 0})
		if err != nil || !slices.Equal(got.Queries, []float32{1, .5, 0, 0, .5, .1}) || got.Changes[0] != 0 || math.Abs(got.Changes[1]-near) > 1e-16 {
			t.Errorf("%s relative to an origin: %+v, %v", name, got, err)
		}
		if r := got.Request(); !r.Stored || !slices.Equal(r.Changes, got.Changes) {
			t.Errorf("%s: request %+v", name, r)
		}
	}
	rows := []float32{far, 1, 2, far + 128, 1, 2}
	plain, err := DecodeSearchNPY(npyOf(t, 2, 3, rows...), nil, dim, Limits{Origin: []float64{far + 1, 0, 0}})
	if err != nil || !slices.Equal(plain.Queries, []float32{-1, 1, 2, 127, 1, 2}) || plain.Changes != nil {
		t.Errorf("npy of float32: %+v, %v", plain, err)
	}
	d := NewDraft(dim, Limits{Origin: []float64{far + 1, 0, 0}})
	if err := d.Floats(rows); err != nil {
		t.Fatal(err)
	}
	binary, err := d.Search()
	if err != nil || !slices.Equal(binary.Queries, []float32{-1, 1, 2, 127, 1, 2}) || rows[0] != far {
		t.Errorf("binary: %+v, %v", binary, err)
	}
	d = NewDraft(dim, Limits{Origin: []float64{far, 0, 0}})
	d.Single()
	if _, err := d.Matrix([]byte("[[1073741825,0.5,0.1]]"), 0); err != nil {
		t.Fatal(err)
	}
	single, err := d.Search()
	if err != nil || !slices.Equal(single.Queries, []float32{0, .5, .1}) || single.Changes != nil {
		t.Errorf("numbers that are said to be float32: %+v, %v", single, err)
	}
	texts, err := DecodeSearchOrTexts([]byte(`{"texts":["a"]}`), dim, Limits{Origin: []float64{1, 0, 0}}, func(string) []float32 { return []float32{3, 4, 5} })
	if err != nil || !slices.Equal(texts.Queries, []float32{2, 4, 5}) {
		t.Errorf("texts: %+v, %v", texts, err)
	}
}

// TestDefaultK: a body that names no k is not refused because of k.
func TestDefaultK(t *testing.T) {
	for _, x := range []struct {
		body string
		most int
		want int
	}{
		{`{"queries":[[1,2,3]]}`, 0, 10},
		{`{"queries":[[1,2,3]]}`, 4, 4},
		{`{"queries":[[1,2,3]],"min_score":0}`, 4, 4},
		{`{"queries":[[1,2,3]],"min_score":0}`, 0, 0},
	} {
		s, err := DecodeSearch([]byte(x.body), dim, Limits{K: x.most})
		if err != nil || s.K != x.want || !s.CutK {
			t.Errorf("%s with at most %d: %+v (%v), want k %d", x.body, x.most, s, err, x.want)
		}
	}
}

func TestRequest(t *testing.T) {
	least := 1.5
	s := Search{Queries: []float32{1, 2, 3}, M: 1, Dim: 3, K: 4, Delta: .1, Epsilon: .2, Relative: true, Method: batch.Exact, Plan: "p", MinScore: &least, Deadline: 9}
	want := batch.Request{Queries: s.Queries, Stored: true, K: 4, Delta: .1, Epsilon: .2, Relative: true, Method: batch.Exact, Plan: "p", MinScore: &least, Deadline: 9}
	if diff := cmp.Diff(want, s.Request()); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeSearchRefuses fixes kind, field, index and text of every refusal.
func TestDecodeSearchRefuses(t *testing.T) {
	with := func(s string) string { return `{"queries":[[1,2,3]],` + s + `}` }
	for _, x := range []struct {
		name, body string
		kind       problem.Kind
		field      string
		index      int
		says       string
	}{
		{"nothing", ``, problem.Malformed, "", -1, "text ends where an object is wanted"},
		{"array", `[[1,2,3]]`, problem.Malformed, "", -1, `"[" at byte 0 where an object is wanted`},
		{"cut", `{"queries":[[1,2,3]]`, problem.Malformed, "", -1, `text ends where "," or "}" is wanted`},
		{"cut in a row", `{"queries":[[1,2,3],[1,`, problem.Malformed, "queries", 1, `query 1, coordinate 1: text ends where a number is wanted`},
		{"garbage", `{queries:1}`, problem.Malformed, "", -1, `"q" at byte 1 where a string is wanted`},
		{"behind", `{"queries":[[1,2,3]]}{}`, problem.Malformed, "", -1, `"{" at byte 21 where the end is wanted`},
		{"not UTF-8", "{\"quer\xffies\":1}", problem.Malformed, "", -1, "string at byte 1 is not UTF-8"},
		{"no queries", `{"k":3}`, problem.NoQueries, "queries", -1, "queries is missing"},
		{"zero queries", `{"queries":[]}`, problem.NoQueries, "queries", -1, "queries is empty"},
		{"queries null", `{"queries":null}`, problem.InvalidValue, "queries", -1, "queries is null, an array of vectors is wanted"},
		{"queries text", `{"queries":"AAAA"}`, problem.InvalidValue, "queries", -1, "queries is a string, an array of vectors is wanted"},
		{"queries broken", `{"queries":nul}`, problem.Malformed, "queries", -1, `queries: "n" at byte 11 where an array is wanted`},
		{"flat", `{"queries":[1,2,3]}`, problem.InvalidValue, "queries", 0, "query 0 is a number, an array of numbers is wanted"},
		{"objects", `{"queries":[[1,2,3],{"v":[1,2,3]}]}`, problem.InvalidValue, "queries", 1, "query 1 is an object, an array of numbers is wanted"},
		{"short", `{"queries":[[1,2,3],[1,2]]}`, problem.WrongDimension, "queries", 1, "query 1 has 2 values, the collection 3 dimensions"},
		{"long", `{"queries":[[1,2,3],[1,2,3,4]]}`, problem.WrongDimension, "queries", 1, "query 1 has 4 values, the collection 3 dimensions"},
		{"empty row", `{"queries":[[]]}`, problem.WrongDimension, "queries", 0, "query 0 has 0 values, the collection 3 dimensions"},
		{"deep", `{"queries":[[1,[2],3]]}`, problem.Malformed, "queries", 0, `query 0, coordinate 1: "[" at byte 15 where a number is wanted`},
		{"text in a row", `{"queries":[[1,2,"3"]]}`, problem.Malformed, "queries", 0, `query 0, coordinate 2: "\"" at byte 17 where a number is wanted`},
		{"NaN", `{"queries":[[1,2,3],[1,NaN,3]]}`, problem.NotFinite, "queries", 1, "query 1, coordinate 1: value is NaN"},
		{"Infinity", `{"queries":[[1,2,-Infinity]]}`, problem.NotFinite, "queries", 0, "query 0, coordinate 2: value is -Infinity"},
		{"null in a row", `{"queries":[[1,2,3],[null,2,3]]}`, problem.NotFinite, "queries", 1, "query 1, coordinate 0: value is null"},
		{"overflow", `{"queries":[[1,2,3],[1,2,3],[1,2,3.5e38]]}`, problem.NotFinite, "queries", 2, "query 2, coordinate 2: value 3.5e38 is beyond the range of float32"},
		{"too many", `{"queries":[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}`, problem.OverLimit, "queries", -1, "more than 3 queries"},
		{"queries twice", with(`"queries":[[1,2,3]]`), problem.InvalidValue, "queries", -1, "queries is given twice"},
		{"unknown field", with(`"detla":0.1`), problem.UnknownField, "detla", -1, `there is no field "detla"`},
		{"unknown field, unread", with(`"x":` + strings.Repeat("[", 1000)), problem.UnknownField, "x", -1, `there is no field "x"`},
		{"long unknown field", with(`"` + strings.Repeat("x", 1000) + `":1`), problem.UnknownField, strings.Repeat("x", 60), -1, "there is no field"},
		{"k twice", with(`"k":1,"k":1`), problem.InvalidValue, "k", -1, "k is given twice"},
		{"k 0", with(`"k":0`), problem.InvalidValue, "k", -1, "k is 0, at least 1 is wanted"},
		{"k negative", with(`"k":-3`), problem.InvalidValue, "k", -1, "k is -3, at least 1 is wanted"},
		{"k fraction", with(`"k":1.5`), problem.InvalidValue, "k", -1, "k is 1.5, a whole number is wanted"},
		{"k text", with(`"k":"7"`), problem.InvalidValue, "k", -1, "k is a string, a whole number is wanted"},
		{"k null", with(`"k":null`), problem.InvalidValue, "k", -1, "k is null, a whole number is wanted"},
		{"k array", with(`"k":[1]`), problem.InvalidValue, "k", -1, "k is an array, a whole number is wanted"},
		{"k broken", with(`"k":01`), problem.Malformed, "k", -1, `k: "0" at byte 25 where a number is wanted`},
		{"k cut", `{"queries":[[1,2,3]],"k":`, problem.Malformed, "k", -1, "k: text ends where a value is wanted"},
		{"k huge", with(`"k":1000000000`), problem.OverLimit, "k", -1, "k is 1000000000, at most 50 is accepted"},
		{"k beyond", with(`"k":9223372036854775808`), problem.InvalidValue, "k", -1, "k is 9223372036854775808, beyond the integers of 64 bits"},
		{"k exponent", with(`"k":1e300`), problem.InvalidValue, "k", -1, "k is 1e300, a whole number is wanted"},
		{"delta 0", with(`"delta":0`), problem.InvalidValue, "delta", -1, "delta is 0, a probability inside (0, 1) is wanted"},
		{"delta 1", with(`"delta":1.0`), problem.InvalidValue, "delta", -1, "delta is 1, a probability inside (0, 1) is wanted"},
		{"delta underflows", with(`"delta":1e-999`), problem.InvalidValue, "delta", -1, "delta is 0, a probability inside (0, 1) is wanted"},
		{"delta overflows", with(`"delta":1e999`), problem.InvalidValue, "delta", -1, "delta is 1e999, beyond the range of float64"},
		{"delta NaN", with(`"delta":NaN`), problem.Malformed, "delta", -1, `delta: "N" at byte 29 where a value is wanted`},
		{"delta true", with(`"delta":true`), problem.InvalidValue, "delta", -1, "delta is true, a number is wanted"},
		{"epsilon", with(`"epsilon":-0.1`), problem.InvalidValue, "epsilon", -1, "epsilon is -0.1, a finite number from 0 on is wanted"},
		{"relative", with(`"relative":1`), problem.InvalidValue, "relative", -1, "relative is a number, true or false is wanted"},
		{"cut_k", with(`"cut_k":"true"`), problem.InvalidValue, "cut_k", -1, "cut_k is a string, true or false is wanted"},
		{"method", with(`"method":"hnsw"`), problem.UnknownMethod, "method", -1, `method "hnsw" is none of [auto exact`},
		{"method number", with(`"method":1`), problem.InvalidValue, "method", -1, "method is a number, a string is wanted"},
		{"plan", with(`"plan":{}`), problem.InvalidValue, "plan", -1, "plan is an object, a string is wanted"},
		{"plan escape", with(`"plan":"\x"`), problem.Malformed, "plan", -1, "plan: string at byte 28: invalid character"},
		{"min_score", with(`"min_score":false`), problem.InvalidValue, "min_score", -1, "min_score is false, a number is wanted"},
		{"timeout 0", with(`"deadline_ms":0`), problem.InvalidValue, "deadline_ms", -1, "deadline_ms is 0, at least 0.001 and at most a day's 86400000 is wanted"},
		{"timeout of next to nothing", with(`"deadline_ms":5e-324`), problem.InvalidValue, "deadline_ms", -1, "deadline_ms is 5e-324, at least 0.001 and at most a day's 86400000 is wanted"},
		{"timeout long", with(`"deadline_ms":1e300`), problem.InvalidValue, "deadline_ms", -1, "deadline_ms is 1e+300, at least 0.001"},
		{"allow number", with(`"filter":3`), problem.InvalidValue, "filter", -1, "filter is a number, an array of ids or of true and false, an expression over columns, or an object of conditions is wanted"},
		{"allow nested", with(`"filter":[[1]]`), problem.InvalidValue, "filter", 0, "filter[0] is an array, an id, a whole number or a string, is wanted"},
		{"allow mixed", with(`"filter":[1,"a"]`), problem.InvalidValue, "filter", 1, "filter[1] is a string, a whole number like the ids before is wanted"},
		{"deny mixed", with(`"exclude":["a","b",7]`), problem.InvalidValue, "exclude", 2, "exclude[2] is a number, a string like the ids before is wanted"},
		{"deny fraction", with(`"exclude":[1,2.5]`), problem.InvalidValue, "exclude", 1, "exclude[1] is 2.5, a float, which can be a number, or an id that a float64 rounds from 2^53 on; ids are whole numbers, without a point, or strings"},
		{"deny broken", with(`"deny":[1,x]`), problem.Malformed, "deny", 1, `deny[1]: "x" at byte 31 where a value is wanted`},
		{"deny unclosed", with(`"deny":[1`), problem.Malformed, "deny", -1, `deny: "}" at byte 30 where "," or "]" is wanted`},
		{"include", with(`"include":["certificate","looks"]`), problem.InvalidValue, "include", 1, `include: "looks" is none of [certificate rounds rows scores64 covers]`},
		{"include text", with(`"include":"certificate"`), problem.InvalidValue, "include", -1, "include is a string, an array of strings is wanted"},
		{"include number", with(`"include":[1]`), problem.InvalidValue, "include", 0, "include[0] is a number, a string is wanted"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := DecodeSearch([]byte(x.body), dim, limits())
			checkProblem(t, err, x.kind, x.field, x.index, x.says)
		})
	}
	// There is a limit even if the server sets none.
	_, err := DecodeSearch([]byte(with(`"k":2147483648`)), dim, Limits{})
	checkProblem(t, err, problem.OverLimit, "k", -1, "k is 2147483648, at most 2147483647 is accepted")
}

func checkProblem(t *testing.T, err error, kind problem.Kind, field string, index int, says string) {
	t.Helper()
	p, ok := err.(*problem.Problem)
	if !ok {
		t.Fatalf("error %v, want a problem", err)
	}
	if p.Kind != kind || p.Field != field || p.Index != index || !strings.Contains(p.Detail, says) {
		t.Errorf("%s, field %q, index %d: %s\nwant %s, %q, %d: %s", p.Kind, p.Field, p.Index, p.Detail, kind, field, index, says)
	}
}

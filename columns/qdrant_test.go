package columns

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseJSONSelects(t *testing.T) {
	c := books(t)
	for _, test := range []struct {
		text string
		want []uint32
	}{
		{`{}`, []uint32{0, 1, 2, 3}},
		{`{"must":[],"should":null}`, []uint32{0, 1, 2, 3}},
		{`{"must":[{"key":"year","range":{"gte":1999}}]}`, []uint32{0, 1}},
		{`{"must":{"key":"year","range":{"gt":1999,"lte":2005}}}`, []uint32{1}},
		{`{"must":[{"key":"lang","match":{"value":"go"}}]}`, []uint32{0}},
		{`{"must":[{"key":"draft","match":{"value":true}}]}`, []uint32{1}},
		{`{"must":[{"key":"year","match":{"any":[1998,2005]}}]}`, []uint32{1, 3}},
		{`{"must":[{"key":"year","match":{"any":[]}}]}`, nil},
		{`{"must":[{"key":"year","match":{"except":[1998,2005]}}]}`, []uint32{0}},
		{`{"must":[{"key":"tags","match":{"value":"b"}}]}`, []uint32{0, 3}},
		{`{"must":[{"key":"tags","match":{"except":["b"]}}]}`, []uint32{0}},
		{`{"must":[{"key":"tags","match":{"any":["a","x"]}}]}`, []uint32{0}},
		{`{"must":[{"key":"tags","values_count":{"gte":1,"lt":2}}]}`, []uint32{3}},
		{`{"must":[{"key":"year","values_count":{"lt":1}}]}`, []uint32{2}},
		{`{"must":[{"is_null":{"key":"tags"}}]}`, []uint32{2}},
		{`{"must":[{"key":"tags","is_null":false}]}`, []uint32{0, 1, 3}},
		{`{"must":[{"is_empty":{"key":"tags"}}]}`, []uint32{1, 2}},
		{`{"must":[{"key":"tags","is_empty":true}]}`, []uint32{1, 2}},
		{`{"must":[{"has_id":[0,2,99]}]}`, []uint32{0, 2}},
		{`{"must":[{"has_id":[0,9223372036854775809]}]}`, []uint32{0}},
		{`{"must_not":[{"key":"year","match":{"value":1999}},{"has_id":[2]}]}`, []uint32{1, 3}},
		{`{"should":[{"key":"year","match":{"value":1999}},{"key":"draft","match":{"value":true}}]}`, []uint32{0, 1}},
		{`{"should":[{"must":[{"key":"year","match":{"value":1999}}]},{"has_id":[2]}],"must_not":{"key":"lang","match":{"value":"go"}}}`, []uint32{2}},
		{`{"min_should":{"conditions":[{"key":"year","range":{"lt":2000}},{"key":"draft","match":{"value":false}},{"key":"tags","match":{"value":"a"}}],"min_count":3}}`, []uint32{0}},
		{`{"min_should":{"conditions":[{"key":"draft","match":{"value":true}}],"min_count":0}}`, []uint32{0, 1, 2, 3}},
		{`{"must":[{"key":"added","range":{"gte":"2024-01-02T00:00:00Z"}}]}`, []uint32{1, 3}},
		{` {"must" : [ {"key" : "year" , "range" : {"lt" : 1998.5 , "gt" : null} } ] } `, []uint32{3}},
		{`{"must":[{"key":"year","range":{"gt":1998},"match":{"value":2005}}]}`, []uint32{1}},
	} {
		e, err := ParseJSON([]byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got, err := c.Select(e)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if !slices.Equal(got.ToArray(), test.want) && (len(test.want) > 0 || !got.IsEmpty()) {
			t.Errorf("%s: rows %v, want %v", test.text, got.ToArray(), test.want)
		}
	}
}

func TestParseJSONErrors(t *testing.T) {
	c := books(t)
	for _, test := range []struct{ text, path, want string }{
		{`[]`, "", "an object with must, should, must_not or min_should is wanted"},
		{`{"must":[`, "", "a value"},
		{`{} {}`, "", "the end"},
		{`{"musst":[]}`, "musst", `there is no member "musst"`},
		{`{"must":[],"must":[]}`, "must", "appears twice"},
		{`{"must":[3]}`, "must[0]", "a condition, an object, is wanted"},
		{`{"must":[{}]}`, "must[0]", "the condition has nothing"},
		{`{"must":[{"key":"year"}]}`, "must[0]", "nothing that its values are compared with"},
		{`{"must":[{"key":3,"match":{"value":1}}]}`, "must[0].key", "the name of a column is wanted"},
		{`{"must":[{"key":"year","match":{"text":"a"}}]}`, "must[0].match.text", `there is no match by "text"`},
		{`{"must":[{"key":"year","match":{"value":1,"any":[2]}}]}`, "must[0].match", "one of value, any and except is wanted, not 2"},
		{`{"must":[{"key":"year","match":{"any":3}}]}`, "must[0].match.any", "a list of values is wanted"},
		{`{"must":[{"key":"year","geo_radius":{}}]}`, "must[0].geo_radius", `there is no condition "geo_radius"`},
		{`{"must":[{"nested":{}}]}`, "must[0]", `the condition has ["nested"]`},
		{`{"should":[{"key":"year","range":{"ge":3}}]}`, "should[0].range.ge", `there is no limit "ge"`},
		{`{"should":[{"must":[{"key":"year","range":{"gte":"x"}}]}]}`, "should[0].must[0].range.gte", `column "year" is int64, and >= compares it with a text`},
		{`{"must":[{"key":"year","match":{"any":[1,true]}}]}`, "must[0].match.any[1]", "with true or false"},
		{`{"must":[{"key":"nope","match":{"any":[1]}}]}`, "must[0].match", `there is no column "nope"`},
		{`{"must":[{"key":"tags","range":{"gte":1}}]}`, "must[0].range.gte", "list of texts, which has no >="},
		{`{"must":[{"has_id":[1.5]}]}`, "must[0].has_id[0]", "an id, an integer or a text, is wanted"},
		{`{"must":[{"has_id":[18446744073709551616]}]}`, "must[0].has_id[0]", "18446744073709551616 is beyond the integers of 64 bits"},
		{`{"must":[{"has_id":[1,-9223372036854775809]}]}`, "must[0].has_id[1]", "-9223372036854775809 is beyond the integers of 64 bits"},
		{`{"must":[{"has_id":["a"]}]}`, "must[0].has_id[0]", "the rows have no ids but their numbers"},
		{`{"min_should":{"conditions":[]}}`, "min_should", "min_count is missing"},
		{`{"min_should":{"conditions":[],"min_count":-1}}`, "min_should.min_count", "a number of conditions is wanted"},
		{`{"must":[{"is_null":{"key":3}}]}`, "must[0].is_null.key", "the key, a name of a column"},
		{`{"must":[{"key":"year","is_null":1}]}`, "must[0].is_null", "true or false is wanted"},
		{strings.Repeat(`{"must":`, 120) + `{}` + strings.Repeat(`}`, 120), strings.Repeat("must.", 99) + "must", "more than 100 filters"},
		{strings.Repeat(`[`, 1e5), "", "deep"},
		{"{\"must\":[{\"key\":\"\xff\"}]}", "", "UTF-8"},
		{strings.Repeat(" ", MaxLength+1), "", "at most 1048576"},
	} {
		e, err := ParseJSON([]byte(test.text))
		if err == nil {
			err = c.Check(e)
		}
		var of *ExprError
		if !errors.As(err, &of) {
			t.Errorf("%.60s: error %v, want an ExprError", test.text, err)
		} else if of.Path != test.path || !strings.Contains(of.Error(), test.want) {
			t.Errorf("%.60s: %q: %v; want %q: %s", test.text, of.Path, of, test.path, test.want)
		}
	}
}

// TestHasIDByNames: ids are those of the rows, where these have any.
func TestHasIDByNames(t *testing.T) {
	c := books(t)
	c.RowsOf = func(id int64, text string) []uint32 {
		if text == "b" {
			return []uint32{1}
		}
		return []uint32{uint32(id - 100)}
	}
	e, err := ParseJSON([]byte(`{"must":[{"has_id":["b",103]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Select(e); err != nil || !slices.Equal(got.ToArray(), []uint32{1, 3}) || !e.NamesIDs() {
		t.Errorf("rows %v, %v", got, err)
	}
}

// TestIsAlwaysTrue: filters without a condition that a row could fail are known as such, and are true of all rows; others are not, though they may be.
func TestIsAlwaysTrue(t *testing.T) {
	c := books(t)
	for text, want := range map[string]bool{
		`{}`: true, `{"must":[]}`: true, `{"must":null}`: true, `{"should":[],"must_not":[]}`: true, `{"must":[{"should":[]}]}`: true, `{"should":[{"must":[]},{"has_id":[1]}]}`: true,
		`{"must_not":[{"has_id":[]}]}`: true, `{"must_not":[{"key":"year","match":{"any":[]}}]}`: true, `{"must_not":[{"must_not":[{"must":[]}]}]}`: true,
		`{"min_should":{"conditions":[{"key":"year","match":{"value":1999}}],"min_count":0}}`: true, `{"min_should":{"conditions":[{"must":[]},{"has_id":[1]}],"min_count":1}}`: true,
		`{"must_not":[{"min_should":{"conditions":[{"has_id":[1]}],"min_count":2}}]}`: true,
		`{"must":[{"has_id":[1]}]}`: false, `{"must_not":[{"must":[]}]}`: false, `{"must":[{"has_id":[]}]}`: false, `{"should":[{"must":[]}],"must":[{"has_id":[1]}]}`: false,
		`{"should":[{"is_null":{"key":"year"}},{"key":"year","is_null":false}]}`: false, `{"min_should":{"conditions":[{"must":[]},{"has_id":[1]}],"min_count":2}}`: false,
	} {
		e, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		if got := e.IsAlwaysTrue(); got != want {
			t.Errorf("%s: always true %v", text, got)
		}
		if rows, err := c.Select(e); err != nil || want && int(rows.GetCardinality()) != c.Rows() {
			t.Errorf("%s: rows %v, %v", text, rows, err)
		}
	}
	if e, err := Parse("year = 1999 or year is null"); err != nil || e.IsAlwaysTrue() {
		t.Errorf("an expression with comparisons: %v", err)
	}
}

// FuzzParseJSON: no text makes the parser or what follows panic.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"must":[{"key":"year","range":{"gte":1999,"lt":2005.5}}],"must_not":[{"has_id":[1,"a"]}]}`, `{"should":[{"key":"lang","match":{"any":["go","rust"]}},{"key":"tags","match":{"except":["a"]}}]}`,
		`{"min_should":{"conditions":[{"key":"draft","match":{"value":true}},{"is_null":{"key":"year"}}],"min_count":1}}`, `{"must":{"key":"tags","values_count":{"gt":1}}}`, `{"must":[{"must":[{"key":"added","range":{"lt":"2024-01-01"}}]}]}`, `{`, `{"must":null}`, `{"must":[null]}`} {
		f.Add([]byte(text))
	}
	c := books(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ParseJSON(text)
		checkFuzzed(t, c, e, err)
	})
}

// TestLimitsWanted: a range without a limit says nothing, and is refused; so are more comparisons than an expression may
// have.
func TestLimitsWanted(t *testing.T) {
	for _, text := range []string{`{"must":[{"key":"year","range":{"gte":null}}]}`, `{"must":[{"key":"tags","values_count":{}}]}`} {
		if _, err := ParseJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), "a limit is missing: lt, lte, gt or gte") {
			t.Errorf("%s: error %v", text, err)
		}
	}
	c, err := New(Of("a", []int{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{MaxComparisons: "", MaxComparisons + 1: "1001 comparisons, at most 1000"} {
		e, err := ParseJSON([]byte(`{"should":[` + strings.Repeat(`{"is_null":{"key":"a"}},`, n-1) + `{"is_null":{"key":"a"}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(e); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: error %v", n, err)
		}
	}
}

package service

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const ndjson = "application/x-ndjson"

// TestTwoReadingsAreRefused walks what can be read in two ways through the bodies that take it:
// the problem names both readings.
func TestTwoReadingsAreRefused(t *testing.T) {
	s := start(t, nil)
	s.do("PUT", "/v1/collections/films?ids=id&metric=ip&wait", []byte(`{"id":5,"v":[1,0]}
{"id":1,"v":[0,1]}
{"id":0,"v":[0,2]}
{"id":9,"v":[1,2]}
`), "Content-Type", ndjson).want(201)
	mask := "a mask of the 4"
	const inMask, inFloat = "or the ids 0 and 1, repeated", "an id that a float64 rounds from 2^53 on"
	goal := func(member string) string { return `"goals":[{"k":1},{` + member + `}]` }
	for _, x := range []struct{ body, field, one, other string }{
		{`"allow":[1,0,1,0]`, "allow", mask, inMask},
		{`"deny":[0,0,1,0]`, "deny", mask, inMask},
		{goal(`"exclude":[1,1,1,0]`), "goals[1].exclude", mask, inMask},
		{`"allow":[5.0]`, "allow", "5.0, a float", inFloat},
		{`"deny":[1,1e1]`, "deny", "1e1, a float", inFloat},
		{goal(`"exclude":[0.5]`), "goals[1].exclude", "0.5, a float", inFloat},
		{goal(`"candidates":[1,2.0]`), "goals[1].candidates", "2.0, a float", inFloat},
		{`"allow":[true,false]`, "allow", "a mask of 2", "one of the 4 vectors"},
		{goal(`"exclude":[true,false,true]`), "goals[1].exclude", "a mask of 3", "one of the 4 vectors"},
	} {
		p := s.do("POST", searchFilms, `{"queries":[[1,1],[2,1]],"k":1,`+x.body+`}`).problem(400, "invalid-value")
		if p.Field != x.field || !strings.Contains(p.Detail, x.one) || !strings.Contains(p.Detail, x.other) {
			t.Errorf("%s: field %q: %s", x.body, p.Field, p.Detail)
		}
	}
	p := s.do("POST", searchFilms+"?allow=1,0,1,0", npy([]float32{1, 1}, 2), "Content-Type", npyType).problem(400, "invalid-value")
	if p.Field != "allow" || !strings.Contains(p.Detail, inMask) {
		t.Errorf("%+v", p)
	}
	p = s.do("POST", searchFilms, `{"queries":[1,1]}`).problem(400, "invalid-value")
	if p.Field != "queries" {
		t.Errorf("one row without brackets: %+v", p)
	}
	for _, answers := range []string{`[[5.0]]`, `[{"ids":[5.0]}]`} {
		p := s.do("POST", "/v1/collections/films/recall", `{"queries":[[1,1]],"answers":`+answers+`}`).problem(400, "invalid-value")
		if p.Field != "answers[0].ids" || !strings.Contains(p.Detail, inFloat) {
			t.Errorf("answers %s: %+v", answers, p)
		}
	}
	p = s.do("DELETE", "/v1/collections/films/rows", `{"ids":[1,0,1,0]}`).problem(400, "invalid-value")
	if p.Field != "ids" || !strings.Contains(p.Detail, inMask) {
		t.Errorf("%+v", p)
	}
	for i, c := range []struct{ source, field string }{
		{`{"vectors":[1,2,3]}`, "source.vectors"},
		{`{"vectors":[[1,2],[3,4]],"ids":[1.0,2]}`, "ids"},
		{`{"vectors":[[1,2],[3,4]],"ids":[1,-2]}`, "ids"},
	} {
		p := s.do("PUT", fmt.Sprintf("/v1/collections/c%d?wait", i), `{"metric":"ip","source":`+c.source+`}`).problem(400, "invalid-value")
		if p.Field != c.field {
			t.Errorf("%s: field %q: %s", c.source, p.Field, p.Detail)
		}
	}
}

// TestMasks: true and false for each atom list the same as ids.
func TestMasks(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	n := len(rows) / dim
	listed, mask := []int{}, make([]bool, n)
	for i := range n {
		if mask[i] = i%3 == 1; mask[i] {
			listed = append(listed, i)
		}
	}
	text, err := json.Marshal(mask)
	if err != nil {
		t.Fatal(err)
	}
	answered := func(member, list string) string {
		body := oneQuery(`,"k":5,"` + member + `":` + list)
		if member == "exclude" {
			body = oneQuery(`,"k":5,"goals":[{"exclude":` + list + `}]`)
		}
		var r results
		s.do("POST", searchFilms, body).want(200).into(&r)
		return fmt.Sprint(r.Results[0].IDs)
	}
	seen := map[string]bool{}
	for _, member := range []string{"allow", "deny", "exclude"} {
		ids, masked := answered(member, idsText(listed...)), answered(member, string(text))
		if ids != masked {
			t.Errorf("%s: %s by ids, %s by a mask", member, ids, masked)
		}
		seen[ids] = true
	}
	if len(seen) != 2 { // deny and exclude say the same
		t.Errorf("lists have no effect: %v", seen)
	}
}

// TestIDsBeyondInt64: such ids are kept as their digits; lists take them as numbers or as texts, of a collection that is a file and of one
// that changes by rows.
func TestIDsBeyondInt64(t *testing.T) {
	const films = "/v1/collections/films"
	for _, changes := range []bool{false, true} {
		s := start(t, nil)
		s.do("PUT", films+"?ids=id&metric=ip&wait", []byte(`{"id":5,"v":[1,0]}
{"id":9223372036854775809,"v":[0,1]}
{"id":18446744073709551614,"v":[0,2]}
`), "Content-Type", ndjson).want(201)
		if changes {
			s.do("PUT", films+"/rows", `{"source":{"vectors":[[0,1]],"ids":[9223372036854775809]}}`).want(200)
			s.do("PUT", films+"/rows", `{"source":{"vectors":[[1,0]],"ids":[5]}}`).want(200) // below 2^63 throughout, and so no text
			s.do("PUT", films+"/rows", `{"source":{"vectors":[[1,0]],"ids":[-5]}}`).problem(400, "invalid-value")
		}
		found := func(search, want string) {
			t.Helper()
			a := s.do("POST", searchFilms, `{"queries":[[1,2]],`+search+`}`).want(200)
			if !strings.Contains(string(a.body), `"ids":[`+want+`]`) {
				t.Errorf("changes %v, %s: %s", changes, search, a.body)
			}
		}
		for _, ids := range []string{`[5,9223372036854775809]`, `["5","9223372036854775809"]`, `[9223372036854775809,5]`} {
			found(`"k":3,"cut_k":true,"allow":`+ids, `"9223372036854775809","5"`)
			found(`"goals":[{"k":2,"candidates":`+ids+`}]`, `"18446744073709551614","9223372036854775809"`)
		}
		found(`"k":1,"allow":[5]`, `"5"`)
		found(`"k":2,"deny":[5]`, `"18446744073709551614","9223372036854775809"`)
		found(`"k":2,"deny":[18446744073709551614]`, `"9223372036854775809","5"`)
		found(`"goals":[{"k":2,"exclude":[18446744073709551614]}]`, `"9223372036854775809","5"`)
		found(`"goals":[{"k":2,"exclude":[5],"candidates":[5]}]`, `"18446744073709551614","9223372036854775809"`)
		found(`"k":1,"filter":{"must":[{"has_id":[5]}]}`, `"5"`)
		found(`"k":1,"filter":{"must":[{"has_id":[9223372036854775809]}]}`, `"9223372036854775809"`)
		a := s.do("POST", films+"/recall", `{"queries":[[1,2]],"k":1,"answers":[{"ids":[18446744073709551614]}]}`).want(200)
		if !strings.Contains(string(a.body), `"recall":1`) {
			t.Errorf("changes %v: %s", changes, a.body)
		}
		p := s.do("POST", searchFilms, `{"queries":[[1,2]],"allow":[18446744073709551616]}`).problem(400, "invalid-value")
		if !strings.Contains(p.Detail, "beyond the integers of 64 bits") {
			t.Error(p.Detail)
		}
		s.do("POST", films+"/rows?wait", `{"source":{"vectors":[[9,9]],"ids":[6]}}`).want(200)
		found(`"k":1`, `"6"`)
		s.do("POST", films+"/rows?wait", `{"source":{"vectors":[[9,9]],"ids":[6]}}`).problem(400, "invalid-value")
		s.do("DELETE", films+"/rows", `{"ids":[18446744073709551614]}`).want(200)
	}
}

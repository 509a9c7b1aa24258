package tournaments

import (
	"encoding/json"
	"errors"
	"testing"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// FuzzResults: a body is a list of results or a problem that names the error, and results are
// unchanged by encoding and decoding.
func FuzzResults(f *testing.F) {
	for _, seed := range []string{
		`[{"duel_id":7,"tie":true,"judge":"ann"},{"duel_id":8,"skip":true}]`, `[{"duel_id":7,"tie":true,"a_won":false}]`, `[{"duel_id":7,"tie":false}]`,
		`[{"duel_id":7,"a_won":true}]`, `[]`, `null`, `{}`, `[{}]`, `[{"duel_id":1}]`, `[{"a_won":false}]`, `[null]`, `[[]]`, `[1]`,
		`[{"duel_id":18446744073709551615,"a_won":false},{"duel_id":0,"a_won":true}]`, `[{"duel_id":18446744073709551616,"a_won":false}]`,
		`[{"duel_id":-1,"a_won":true}]`, `[{"duel_id":1.5,"a_won":true}]`, `[{"duel_id":"1","a_won":true}]`, `[{"duel_id":1,"a_won":1}]`,
		`[{"duel_id":1,"a_won":true,"b_won":false}]`, `[{"duel_id":1,"a_won":null}]`, `[{"duel_id":1,"duel_id":2,"a_won":true}]`, `[{"duel_id":1,"a_won":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		results, err := DecodeResults(text)
		if err != nil {
			var p *problem.Problem
			if !errors.As(err, &p) || p.Kind.Status() != 400 {
				t.Errorf("%v", err)
			}
			return
		}
		again := []map[string]any{}
		for _, r := range results {
			x := map[string]any{"duel_id": r.Duel, "judge": r.Judge}
			switch {
			case r.Tie:
				x["tie"] = true
			case r.Skip:
				x["skip"] = true
			default:
				x["a_won"] = r.AWon
			}
			again = append(again, x)
		}
		text, err = json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeResults(text)
		if err != nil || len(second) != len(results) {
			t.Fatalf("%v: %s", err, text)
		}
		for i := range results {
			if results[i] != second[i] {
				t.Errorf("%v is %v", results[i], second[i])
			}
		}
	})
}

// FuzzSpec: a specification makes a tournament whose own specification makes the same, or it
// is a problem with a field.
func FuzzSpec(f *testing.F) {
	for _, s := range designs() {
		s.Arms = arms(3)
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"arms":["a","a"],"mode":"online","horizon":100}`))
	f.Add([]byte(`{"arms":["a","b"],"mode":"pac","epsilon":1e-300,"delta":1e-300,"gamma":1e300}`))
	f.Add([]byte(`{"arms":["a","b"],"mode":"online","horizon":1e15,"seed":18446744073709551615,"lease_seconds":0.001,"alpha":1e308,"algorithm":"double-thompson"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := DecodeSpec(text)
		if err != nil {
			return
		}
		config, err := checkSpec(&s, 16)
		if err != nil {
			var p *problem.Problem
			if !errors.As(err, &p) || p.Field == "" || p.Kind.Status() != 400 {
				t.Errorf("%v", err)
			}
			return
		}
		again := completed(config)
		second, err := checkSpec(&again, 16)
		if err != nil {
			t.Fatalf("%v: %+v", err, again)
		}
		a, b := config, second
		a.Arms, b.Arms = nil, nil
		if a.Design != b.Design || a.Seed != b.Seed || (a.Lease-b.Lease).Abs() > 1 {
			t.Errorf("%+v is %+v", a, b)
		}
	})
}

// FuzzEvents: no stored log crashes the process.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`[{"n":2,"t":5,"c":1},{"r":[1,-2],"c":7}]`), true)
	f.Add([]byte(`[{"n":1000000000,"c":1},{"r":[-9223372036854775808],"c":7},{"r":[0]}]`), false)
	f.Fuzz(func(t *testing.T, text []byte, sweep bool) {
		var events []event
		if json.Unmarshal(text, &events) != nil {
			return
		}
		spec := online(4)
		if sweep {
			spec.Testing = string(duel.Sweep)
		}
		config, err := checkSpec(&spec, 4)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGame(config)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			_ = g.replay(&events[i]) // most diverge
		}
		state, rest, err := g.snapshot(uint64(len(events)))
		if err != nil {
			t.Fatal(err)
		}
		if _, n, err := restored(state, rest); err != nil || n != uint64(len(events)) {
			t.Errorf("%v, event %d", err, n)
		}
	})
}

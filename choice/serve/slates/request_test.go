package slates

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

func TestDecode(t *testing.T) {
	r, err := DecodeRequest([]byte(` {"users":["ann",-7,"7"],"k":5,"budgets":[1.5,2],"group_limits":{"x":0,"":3},"algo":"mod","delta":0.05,"eps":0.5,"deadline_ms":250} `), Limits{})
	want := &Request{
		Users: []ID{{Name: "ann", Text: true}, {Int: -7}, {Name: "7", Text: true}}, K: 5, Budgets: []float64{1.5, 2},
		GroupLimits: map[string]int{"x": 0, "": 3}, Algorithm: string(Modified), Delta: 0.05, Epsilon: 0.5, DeadlineMS: 250,
	}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	r, err = DecodeRequest([]byte(`{"users":[1]}`), Limits{K: 3})
	if diff := cmp.Diff(&Request{Users: []ID{{Int: 1}}, K: 3, Algorithm: string(AFSM), Delta: 0.1, Epsilon: 0.2}, r); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	f, one, err := DecodeFeedback([]byte(`{"slate_id":"s","rewards":[0,1,0.5]}`), Limits{})
	if diff := cmp.Diff([]Feedback{{ID: "s", Rewards: []float64{0, 1, 0.5}}}, f); err != nil || diff != "" || !one {
		t.Fatal(err, diff, one)
	}
	f, one, err = DecodeFeedback([]byte(`{"feedback":[{"rewards":[0],"slate_id":"a"},{"slate_id":"b","rewards":[1]}]}`), Limits{})
	if diff := cmp.Diff([]Feedback{{ID: "a", Rewards: []float64{0}}, {ID: "b", Rewards: []float64{1}}}, f); err != nil || diff != "" || one {
		t.Fatal(err, diff, one)
	}
}

// TestBadBodies: each invalid body gets its kind, field, index, limit and text.
func TestBadBodies(t *testing.T) {
	l := Limits{Users: 3, K: 20, Results: 40}
	request := func(text string) error { _, err := DecodeRequest([]byte(text), l); return err }
	feedback := func(text string) error { _, _, err := DecodeFeedback([]byte(text), l); return err }
	settings := func(text string) error { _, err := DecodeSettings([]byte(text), 4); return err }
	const none = -1
	manyGroups := `{"items":[{"id":1,"groups":["` + strings.Repeat("x", maxGroup+1) + `"]}]}`
	var names []string
	for i := range maxGroups + 1 {
		names = append(names, fmt.Sprintf(`"g%d"`, i))
	}
	for _, c := range []struct {
		name   string
		decode func(string) error
		text   string
		kind   problem.Kind
		field  string
		index  int
		limit  any
	}{
		{"nothing", request, ``, problem.Malformed, "", none, nil},
		{"a list", request, `[]`, problem.Malformed, "", none, nil},
		{"cut short", request, `{"users":["a"`, problem.Malformed, "users", none, nil},
		{"something behind", request, `{"users":["a"]}}`, problem.Malformed, "", none, nil},
		{"no users", request, `{}`, problem.InvalidValue, "users", none, nil},
		{"empty users", request, `{"users":[]}`, problem.InvalidValue, "users", none, nil},
		{"users that are no list", request, `{"users":"a"}`, problem.InvalidValue, "users", none, nil},
		{"too many users", request, `{"users":[1,2,3,4]}`, problem.OverLimit, "users", none, 3},
		{"a user that is null", request, `{"users":[1,null]}`, problem.InvalidValue, "users", 1, nil},
		{"a user without a name", request, `{"users":[1,""]}`, problem.InvalidValue, "users", 1, nil},
		{"a user with a long name", request, `{"users":["` + strings.Repeat("x", maxUser+1) + `"]}`, problem.InvalidValue, "users", 0, nil},
		{"a fraction of a user", request, `{"users":[1.5]}`, problem.InvalidValue, "users", 0, nil},
		{"a user beyond 64 bits", request, `{"users":[9223372036854775808]}`, problem.InvalidValue, "users", 0, nil},
		{"k of 0", request, `{"users":[1],"k":0}`, problem.InvalidValue, "k", none, []int{1, 20}},
		{"k too large", request, `{"users":[1],"k":21}`, problem.OverLimit, "k", none, 20},
		{"k of 1.5", request, `{"users":[1],"k":1.5}`, problem.InvalidValue, "k", none, nil},
		{"k of text", request, `{"users":[1],"k":"3"}`, problem.InvalidValue, "k", none, nil},
		{"too many items in all", request, `{"users":[1,2,3],"k":20}`, problem.OverLimit, "k", none, 40},
		{"a budget of 0", request, `{"users":[1],"budgets":[1,0]}`, problem.InvalidValue, "budgets", 1, "(0, 1e60]"},
		{"a budget of NaN", request, `{"users":[1],"budgets":[NaN]}`, problem.InvalidValue, "budgets", 0, nil},
		{"a budget beyond float64", request, `{"users":[1],"budgets":[1e999]}`, problem.InvalidValue, "budgets", 0, "(0, 1e60]"},
		{"a budget beyond 1e60", request, `{"users":[1],"budgets":[1e61]}`, problem.InvalidValue, "budgets", 0, "(0, 1e60]"},
		{"a limit below 0", request, `{"users":[1],"group_limits":{"x":-1}}`, problem.InvalidValue, "group_limits", none, nil},
		{"limits that are a list", request, `{"users":[1],"group_limits":[1]}`, problem.InvalidValue, "group_limits", none, nil},
		{"a limit twice", request, `{"users":[1],"group_limits":{"x":1,"x":2}}`, problem.InvalidValue, "group_limits", none, nil},
		{"algorithm", request, `{"users":[1],"algo":"best"}`, problem.UnknownMethod, "algo", none, algorithms()},
		{"delta of 1", request, `{"users":[1],"delta":1}`, problem.InvalidValue, "delta", none, "(0, 1)"},
		{"eps of 0", request, `{"users":[1],"eps":0}`, problem.InvalidValue, "eps", none, "[0.01, 10]"},
		{"deadline", request, `{"users":[1],"deadline_ms":-1}`, problem.InvalidValue, "deadline_ms", none, "[0.001, 86400000]"},
		{"deadline by its former name", request, `{"users":[1],"timeout_ms":-1}`, problem.InvalidValue, "timeout_ms", none, "[0.001, 86400000]"},
		{"deadline by two names", request, `{"users":[1],"timeout_ms":1,"deadline_ms":1}`, problem.InvalidValue, "timeout_ms", none, nil},
		{"field", request, `{"users":[1],"user":2}`, problem.UnknownField, "user", none, nil},
		{"field twice", request, `{"users":[1],"k":2,"k":3}`, problem.InvalidValue, "k", none, nil},

		{"no feedback", feedback, `{}`, problem.InvalidValue, "slate_id", none, nil},
		{"no slate", feedback, `{"rewards":[1]}`, problem.InvalidValue, "slate_id", none, nil},
		{"slate of a number", feedback, `{"slate_id":1,"rewards":[1]}`, problem.InvalidValue, "slate_id", none, nil},
		{"no rewards", feedback, `{"slate_id":"s"}`, problem.InvalidValue, "rewards", none, nil},
		{"empty rewards", feedback, `{"slate_id":"s","rewards":[]}`, problem.InvalidValue, "rewards", none, nil},
		{"rewards of null", feedback, `{"slate_id":"s","rewards":null}`, problem.InvalidValue, "rewards", none, nil},
		{"a reward of null", feedback, `{"slate_id":"s","rewards":[1,null]}`, problem.InvalidValue, "rewards", 1, nil},
		{"a reward of NaN", feedback, `{"slate_id":"s","rewards":[1,NaN]}`, problem.InvalidValue, "rewards", 1, nil},
		{"a reward of Inf", feedback, `{"slate_id":"s","rewards":[-Infinity]}`, problem.InvalidValue, "rewards", 0, nil},
		{"a reward beyond float64", feedback, `{"slate_id":"s","rewards":[1e999]}`, problem.InvalidValue, "rewards", 0, "[0, 1]"},
		{"a reward above 1", feedback, `{"slate_id":"s","rewards":[0.5,1.5]}`, problem.InvalidValue, "rewards", 1, "[0, 1]"},
		{"a reward below 0", feedback, `{"slate_id":"s","rewards":[-0.5]}`, problem.InvalidValue, "rewards", 0, "[0, 1]"},
		{"a reward of text", feedback, `{"slate_id":"s","rewards":["1"]}`, problem.InvalidValue, "rewards", 0, nil},
		{"one and many", feedback, `{"slate_id":"s","feedback":[{"slate_id":"s","rewards":[1]}]}`, problem.InvalidValue, "feedback", none, nil},
		{"many of none", feedback, `{"feedback":[]}`, problem.InvalidValue, "feedback", none, nil},
		{"many that are no list", feedback, `{"feedback":{}}`, problem.InvalidValue, "feedback", none, nil},
		{"too many", feedback, `{"feedback":[{"slate_id":"s","rewards":[1]},{"slate_id":"s","rewards":[1]},{"slate_id":"s","rewards":[1]},{}]}`, problem.OverLimit, "feedback", none, 3},
		{"no slate of many", feedback, `{"feedback":[{"slate_id":"s","rewards":[1]},{"rewards":[1]}]}`, problem.InvalidValue, "feedback", 1, nil},
		{"a reward of many", feedback, `{"feedback":[{"slate_id":"s","rewards":[1,7]}]}`, problem.InvalidValue, "feedback", 0, "[0, 1]"},
		{"one of many that is none", feedback, `{"feedback":[7]}`, problem.InvalidValue, "feedback", 0, nil},
		{"field of many", feedback, `{"feedback":[{"slate":"s"}]}`, problem.UnknownField, "feedback", 0, []string{"rewards", "slate_id"}},

		{"lambda", settings, `{"lambda":0}`, problem.InvalidValue, "lambda", none, "[1e-6, 1e6]"},
		{"noise", settings, `{"noise":-1}`, problem.InvalidValue, "noise", none, "[1e-6, 1e6]"},
		{"bound", settings, `{"bound":1e9}`, problem.InvalidValue, "bound", none, "[1e-6, 1e6]"},
		{"rule", settings, `{"rule":"guess"}`, problem.InvalidValue, "rule", none, nil},
		{"a negative cost", settings, `{"items":[{"id":1,"costs":[1]},{"id":2,"costs":[-1]}]}`, problem.InvalidValue, "items", 1, "[0, 1e60]"},
		{"a cost beyond 1e60", settings, `{"items":[{"id":1,"costs":[1e61]}]}`, problem.InvalidValue, "items", 0, "[0, 1e60]"},
		{"another number of costs", settings, `{"items":[{"id":1,"costs":[1]},{"id":2,"costs":[1,2]}]}`, problem.InvalidValue, "items", 1, 1},
		{"no costs where others have", settings, `{"items":[{"id":1,"costs":[1]},{"id":2}]}`, problem.InvalidValue, "items", 1, 1},
		{"an item without an id", settings, `{"items":[{"costs":[1]}]}`, problem.InvalidValue, "items", 0, nil},
		{"an id of null", settings, `{"items":[{"id":null}]}`, problem.InvalidValue, "items", 0, nil},
		{"a group twice", settings, `{"items":[{"id":1,"groups":["x","x"]}]}`, problem.InvalidValue, "items", 0, nil},
		{"a group without a name", settings, `{"items":[{"id":1,"groups":[""]}]}`, problem.InvalidValue, "items", 0, nil},
		{"a group with a long name", settings, manyGroups, problem.InvalidValue, "items", 0, nil},
		{"a group of a number", settings, `{"items":[{"id":1,"groups":[1]}]}`, problem.InvalidValue, "items", 0, nil},
		{"too many groups of an item", settings, `{"items":[{"id":1,"groups":[` + strings.Join(names, ",") + `]}]}`, problem.OverLimit, "items", 0, maxGroups},
		{"too many groups", settings, `{"items":[{"id":1,"groups":["first"]},{"id":2,"groups":[` + strings.Join(names[1:], ",") + `]}]}`, problem.OverLimit, "items", 1, maxGroups},
		{"too many costs", settings, `{"items":[{"id":1,"costs":[` + strings.Repeat("1,", maxCosts) + `1]}]}`, problem.OverLimit, "items", 0, maxCosts},
		{"too many items", settings, `{"items":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]}`, problem.OverLimit, "items", none, 4},
		{"field of an item", settings, `{"items":[{"id":1,"cost":1}]}`, problem.UnknownField, "items", 0, []string{"costs", "groups", "id"}},
		{"field of settings", settings, `{"objective":"sum"}`, problem.UnknownField, "objective", none, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.decode(c.text)
			wants(t, err, c.kind, c.field)
			p := problem.Of(err)
			if p.Index != c.index || len(p.Detail) < 5 || p.Detail[0] == ' ' || strings.Contains(p.Detail, ": :") {
				t.Errorf("index %d, detail %q", p.Index, p.Detail)
			}
			if c.limit != nil {
				if diff := cmp.Diff(c.limit, p.Limit); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// FuzzDecode decodes anything as each of the bodies. What is accepted respects the limits and
// is JSON, and settings can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"users":["ann",7],"k":3,"budgets":[1],"group_limits":{"x":1},"algo":"lsb","delta":0.1,"eps":0.2,"timeout_ms":5}`,
		`{"slate_id":"slate-0","rewards":[0,1,0.25]}`, `{"feedback":[{"slate_id":"a","rewards":[1]}]}`,
		`{"lambda":2,"rule":"tuned","noise":0.1,"bound":3,"items":[{"id":"a\u00e9","costs":[1,0],"groups":["x"]},{"id":"b","costs":[0,1e-9]}]}`,
		`{"users":[1e9]}`, `{"items":[{"id":-0}]}`, `{"feedback":[[[[`, `{"\u0075sers":[9223372036854775807]}`,
	} {
		f.Add([]byte(s))
	}
	l := Limits{Users: 4, K: 9, Results: 20}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(err error, sound func() bool) {
			if err != nil {
				if p := problem.Of(err); p.Kind.Status() >= 500 || p.Detail == "" {
					t.Fatalf("%v", err)
				}
				return
			}
			if !json.Valid(body) || !sound() {
				t.Fatalf("%q is accepted", body)
			}
		}
		r, err := DecodeRequest(body, l)
		check(err, func() bool {
			return len(r.Users) > 0 && len(r.Users) <= l.Users && r.K >= 1 && r.K <= l.K && r.Delta > 0 && r.Delta < 1 && r.DeadlineMS >= 0
		})
		all, _, err := DecodeFeedback(body, l)
		check(err, func() bool {
			for _, f := range all {
				for _, x := range f.Rewards {
					if !(x >= 0 && x <= 1) {
						return false
					}
				}
				if f.ID == "" || len(f.Rewards) == 0 {
					return false
				}
			}
			return len(all) > 0 && len(all) <= l.Users
		})
		s, err := DecodeSettings(body, 3)
		check(err, func() bool {
			text, err := json.Marshal(s)
			if err != nil {
				return false
			}
			again, err := DecodeSettings(text, 3)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			other, err := json.Marshal(again)
			return err == nil && string(other) == string(text) && len(s.Items) <= 3
		})
	})
}

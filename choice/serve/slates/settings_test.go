package slates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

// TestSettings: costs and groups limit slates, items that are not listed are in none, and
// excluded items are reported.
func TestSettings(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 6)
	v.names = []string{"a", "b", "c", "d", "e", "f"}
	body := `{"items":[
		{"id":"a","costs":[1,1],"groups":["x"]},
		{"id":"b","costs":[2,1],"groups":["x","y"]},
		{"id":"c","costs":[9,1],"groups":[]},
		{"id":"d","costs":[1,0],"groups":["z"]},
		{"id":"e","costs":[1,1],"groups":["x"]}]}`
	info, err := f.put(v, body)
	if err != nil || len(info.Items) != 5 {
		t.Fatal(info, err)
	}
	f.reopen()
	a, err := f.ask(v, `{"users":["u"],"k":6,"budgets":[5,3],"group_limits":{"x":1,"z":0}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	want := &Excluding{
		Unaffordable: &Excluded{Count: 1, IDs: []ID{{Name: "c", Text: true}}},
		Barred:       &Excluded{Count: 1, IDs: []ID{{Name: "d", Text: true}}},
		Unlisted:     &Excluded{Count: 1, IDs: []ID{{Name: "f", Text: true}}},
	}
	if diff := cmp.Diff(want, a.Excluded); diff != "" {
		t.Error(diff)
	}
	if items := a.Slates[0].Items; len(items) != 1 || !strings.Contains("abe", items[0].ID.Name) {
		t.Errorf("%+v", items)
	}
	// Without budgets costs do not matter, and c is as good as the others.
	a, err = f.ask(v, `{"users":["u"],"k":6}`, "")
	if err != nil || len(a.Slates[0].Items) != 5 || a.Excluded.Unaffordable != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	for body, field := range map[string]string{
		`{"users":["u"],"budgets":[1]}`:           "budgets",
		`{"users":["u"],"budgets":[1,1,1]}`:       "budgets",
		`{"users":["u"],"budgets":[0.1,0.1]}`:     "budgets",
		`{"users":["u"],"group_limits":{"q":1}}`:  "group_limits",
		`{"users":["u"],"group_limits":{"x":-1}}`: "group_limits",
	} {
		_, err := f.ask(v, body, "")
		wants(t, err, problem.InvalidValue, field)
	}
	// A removed atom is ignored, a new one is not listed.
	fewer := &shelf{number: 9, dim: dim, rows: v.rows[dim:], names: []string{"b", "c", "d", "e", "g"}}
	a, err = f.ask(fewer, `{"users":["u"],"k":6}`, "")
	if err != nil || len(a.Slates[0].Items) != 4 || a.Excluded.Unlisted.IDs[0].Name != "g" {
		t.Fatalf("%+v, %v", a, err)
	}
	// New settings are used immediately.
	if _, err := f.put(v, `{"rule":"tuned"}`); err != nil {
		t.Fatal(err)
	}
	for _, listed := range []int{6, 1} {
		if a, err = f.ask(v, `{"users":["u"],"k":6}`, ""); err != nil || len(a.Slates[0].Items) != listed || (a.Excluded == nil) != (listed == 6) {
			t.Fatalf("%+v, %v", a, err)
		}
		if _, err := f.put(v, `{"items":[{"id":"b"}]}`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	f := open(t, Options{Dimension: 5})
	v := films(1, 6)
	for _, c := range []struct {
		body  string
		kind  problem.Kind
		field string
		index int
	}{
		{`{"items":[{"id":0},{"id":6}]}`, problem.UnknownID, "items", 1},
		{`{"items":[{"id":0},{"id":1},{"id":0}]}`, problem.InvalidValue, "items", 2},
		{`{"items":[{"id":"0"}]}`, problem.UnknownID, "items", 0},
	} {
		_, err := f.put(v, c.body)
		wants(t, err, c.kind, c.field)
		if p := problem.Of(err); p.Index != c.index {
			t.Errorf("%s: index %d", c.body, p.Index)
		}
	}
	v.rows[4*dim+2] = 1.5
	_, err := f.ask(v, `{"users":["u"]}`, "")
	wants(t, err, problem.Conflict, "rows")
	if p := problem.Of(err); p.Index != 4 || !strings.Contains(p.Detail, "vector 4 has 1.5 at coordinate 2") {
		t.Errorf("%+v", p)
	}
	v.rows[4*dim+2] = -0.1
	_, err = f.put(v, `{}`)
	wants(t, err, problem.Conflict, "rows")
	wide := &shelf{number: 1, dim: 6, rows: make([]float32, 12)}
	_, err = f.ask(wide, `{"users":["u"]}`, "")
	wants(t, err, problem.Conflict, "name")
	small := open(t, Options{Memory: 100})
	_, err = small.ask(films(1, 6), `{"users":["u"]}`, "")
	wants(t, err, problem.OutOfMemory, "name")
}

// TestTooMuchToKeep: the vectors of one request's slates are bounded.
func TestTooMuchToKeep(t *testing.T) {
	f := open(t, Options{})
	_, err := f.ask(films(1, 10), fmt.Sprintf(`{"users":[1,2],"k":%d}`, maxValues/(2*dim)+1), "")
	wants(t, err, problem.OverLimit, "users")
}

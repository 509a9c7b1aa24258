package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormerNames: an option's former name is taken as its present one and noted, but not beside it.
func TestFormerNames(t *testing.T) {
	renamed := 0
	for _, o := range options() {
		if o.former == "" {
			continue
		}
		renamed++
		value := "[1,2]"
		if o.kind == numberKind {
			value = "2.5"
		}
		decode := func(members string) (*Search, error) {
			return DecodeSearch([]byte(`{"queries":[[1,2,3]]`+members+`}`), 3, Limits{})
		}
		now, err := decode(`,"` + o.name + `":` + value)
		if err != nil || now.Former != nil || now.Notes() != nil {
			t.Fatalf("%s: %v, %v", o.name, now, err)
		}
		before, err := decode(`,"` + o.former + `":` + value)
		if err != nil {
			t.Fatalf("%s: %v", o.former, err)
		}
		if diff := cmp.Diff([]string{o.former + " is called " + o.name + " now; the former name is still taken"}, before.Notes()); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		if got := before.Called(o.name); got != o.former {
			t.Errorf("%s is said to be called %s", o.former, got)
		}
		before.Former = nil
		if diff := cmp.Diff(now, before); diff != "" {
			t.Errorf("%s is not %s (-want +got):\n%s", o.former, o.name, diff)
		}
		both := `,"` + o.former + `":` + value + `,"` + o.name + `":` + value
		wantProblem(t, both, o, decode)
		wantProblem(t, `,"`+o.name+`":`+value+`,"`+o.former+`":`+value, o, decode)
	}
	if renamed < 3 {
		t.Errorf("%d options have a former name", renamed)
	}
}

func wantProblem(t *testing.T, members string, o option, decode func(string) (*Search, error)) {
	t.Helper()
	if _, err := decode(members); err == nil {
		t.Errorf("%s and %s are taken together", o.former, o.name)
	}
}

package dataset

import (
	"context"
	"strings"
	"testing"
)

func TestCheckIDs(t *testing.T) {
	for _, c := range []struct {
		ids  string
		want string // "" is none
	}{
		{"1,2,18446744073709551615", ""}, {"a,-1,0.5", ""}, {"1,x", ""}, {"007,1.5x", ""}, {"", ""},
		{"1,2.5,3", "f: row 1 (0-based): id 2.5 is a float"}, {"1e3,2", "row 0 (0-based): id 1e3 is a float"}, {"1.0", "row 0 (0-based): id 1.0"},
		{"4,-5,-6", "row 1 (0-based): id -5 is negative"}, {"-1", "row 0 (0-based): id -1"}, {"-1,1.5", "row 1 (0-based): id 1.5 is a float"},
	} {
		err := CheckIDs("f", strings.Split(c.ids, ","))
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.ids, err, c.want)
		}
	}
}

// TestIDsOfColumnsAreChecked: in every format that has columns.
func TestIDsOfColumnsAreChecked(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":   "key,d0,d1\n1.5,1,2\n2.5,3,4\n",
		"b.csv":   "key,d0,d1\n3,1,2\n-2,3,4\n",
		"c.jsonl": `{"key":3,"v":[1,2]}` + "\n" + `{"key":-2,"v":[3,4]}` + "\n",
	} {
		_, err := ReadAll(context.Background(), writeTemp(t, name, text), &Options{IDs: "key"})
		if err == nil || !strings.Contains(err.Error(), "ids are integers from 0 on, or texts") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package columns_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/columns"
)

// tableOf reads columns of a file of JSON lines with a text.
func tableOf(t *testing.T, text string, names ...string) *columns.Columns {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := columns.Read(t.Context(), []string{path}, names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGroups: rows have the same group if all their keys are equal, and none if one is null.
func TestGroups(t *testing.T) {
	left := tableOf(t, `{"text":"b","n":1,"yes":true,"at":"2024-01-02"}
{"text":"a","n":2,"yes":false,"at":"2024-01-02"}
{"text":"","n":1,"yes":true,"at":"2024-01-03"}
{"n":1,"yes":true,"at":"2024-01-02"}
{"text":"z","n":1,"yes":true,"at":"2024-01-02"}
{"text":"b","n":1,"yes":true,"at":"2024-01-02"}
`, "text", "n", "yes", "at")
	right := tableOf(t, `{"text":"a","n":1,"yes":true,"at":"2024-01-02T00:00:00Z"}
{"text":"b","n":1,"yes":true,"at":"2024-01-02T00:00:00Z"}
{"text":"b","yes":true,"at":"2024-01-02T00:00:00Z"}
{"text":"","n":1,"yes":false,"at":"2024-01-03T00:00:00Z"}
{"text":"b","n":1,"yes":true,"at":"2024-01-02T00:00:00Z"}
`, "text", "n", "yes", "at")
	for _, c := range []struct {
		by          string
		left, right []int32
		n           int
	}{
		{"text", []int32{1, 0, 2, -1, 3, 1}, []int32{0, 1, 1, 2, 1}, 4},
		{"n", []int32{0, 1, 0, 0, 0, 0}, []int32{0, 0, -1, 0, 0}, 2},
		{"yes", []int32{0, 1, 0, 0, 0, 0}, []int32{0, 0, 0, 1, 0}, 2},
		{"at", []int32{0, 0, 1, 0, 0, 0}, []int32{0, 0, 0, 1, 0}, 2},
		{"text,n", []int32{1, 3, 2, -1, 4, 1}, []int32{0, 1, -1, 2, 1}, 5},
		{"", []int32{0, 0, 0, 0, 0, 0}, []int32{0, 0, 0, 0, 0}, 1},
	} {
		var by []string
		if c.by != "" {
			by = strings.Split(c.by, ",")
		}
		l, r, n, err := columns.Groups(left, right, by)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l, c.left) || !slices.Equal(r, c.right) || n != c.n {
			t.Errorf("by %q: %v and %v, %d groups; want %v, %v and %d", c.by, l, r, n, c.left, c.right, c.n)
		}
	}
}

// TestGroupsRefuses: keys whose values cannot be compared are errors that name the column.
func TestGroupsRefuses(t *testing.T) {
	left := tableOf(t, `{"key":"1","x":1.5,"tags":["a"],"null":null}
{"null":true}`, "key", "x", "tags", "null")
	right := tableOf(t, `{"key":1,"x":1.5,"tags":["a"],"null":7,"own":1}`, "key", "x", "tags", "null", "own")
	for by, says := range map[string]string{
		"key":       `column "key" is text in the left table and int64 in the right`,
		"x":         `column "x" is float64; keys are`,
		"tags":      `column "tags" is list of texts; keys are`,
		"own":       `the left table has no column "own"`,
		"null":      `column "null" is bool in the left table and int64 in the right`,
		"null,null": `column "null" is named twice`,
	} {
		if _, _, _, err := columns.Groups(left, right, strings.Split(by, ",")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("by %s: error %v", by, err)
		}
	}
}

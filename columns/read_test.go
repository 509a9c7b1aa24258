package columns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
)

func readText(t *testing.T, name, text string, columns ...string) (*Columns, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(context.Background(), []string{path}, columns, nil)
}

// TestTypesOfText: the values of a column of comma-separated values say together what it holds, and of JSON lines each
// says so itself.
func TestTypesOfText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Type
	}{
		{"a.csv", "x,y\n1,\n-2,\n,\n", Integer},
		{"a.csv", "x,y\n1,\n2.50,\nnan,\n", Float},
		{"a.csv", "x,y\n9007199254740993,\n.5,\n", Text}, // which float64 rounds
		{"a.csv", "x,y\n007,\n8,\n", Text},
		{"a.csv", "x,y\n1,\nn/a,\n", Text},
		{"a.csv", "x,y\ntrue,\nFALSE,\n", Bool},
		{"a.csv", "x,y\n2024-05-01,\n2024-05-01T12:00:00Z,\n", Time},
		{"a.csv", "x,y\n2024-05-01,\n2024-05-01T12:00:00.0000001Z,\n", Time}, // to the microsecond
		{"a.csv", "x,y\nnan,\n,\n", Text},
		{"a.jsonl", "{\"x\":1}\n{}\n{\"x\":null}\n{\"x\":2}\n", Integer},
		{"a.jsonl", "{\"x\":1}\n{\"x\":2.5}\n{\"x\":3}\n", Float},
		{"a.jsonl", "{\"x\":\"1\"}\n", Text},
		{"a.jsonl", "{\"x\":\"2024-05-01\"}\n", Time},
		{"a.jsonl", "{\"x\":false}\n", Bool},
		{"a.jsonl", "{\"x\":[]}\n{\"x\":[\"a\"]}\n", TextList},
	} {
		got, err := readText(t, c.name, c.text, "x")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got.All()[0].Type != c.want {
			t.Errorf("%s: %s, want %s", c.text, got.All()[0].Type, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.jsonl", "{\"x\":1}\n{\"x\":\"a\"}\n", `row 1 (0-based): line 2: column "x": a text, where the rows before have an integer`},
		{"a.jsonl", "{\"x\":9007199254740993}\n{\"x\":0.5}\n", `row 1 (0-based): line 2: column "x": a float, and row 0 has the integer 9007199254740993, which no float64 is`},
		{"a.jsonl", "{\"x\":0.5}\n{\"x\":9007199254740993}\n", `integer 9007199254740993 among floats`},
		{"a.jsonl", "{\"y\":1}\n", `no row has a value of "x"`},
	} {
		_, err := readText(t, c.name, c.text, "x")
		var of *dataset.Error
		if !errors.As(err, &of) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("x,y\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(ctx, []string{path}, []string{"x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that has ended", err)
	}
}

// TestCheck: columns are refused as Read refuses them, of every file and of its folder, before a row is read; JSON lines tell theirs later.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("year=2024", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.csv": "x,y\n1,2\n", "b.csv": "x\n1\n", "c.jsonl": "{\"x\":1}\n", "year=2024/a.csv": "x\n1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ paths, names, want string }{
		{"a.csv", "x,y", ""}, {"a.csv,b.csv", "x", ""}, {"c.jsonl", "y", ""}, {"year=2024/a.csv", "year,x", ""},
		{"a.csv", "z", `a.csv: no column "z"`}, {"a.csv,b.csv", "x,y", `b.csv: no column "y"`}, {"year=2024/a.csv,a.csv", "year", `a.csv: no column "year"`},
		{"none.csv", "x", "none.csv"},
	} {
		paths, names := strings.Split(c.paths, ","), strings.Split(c.names, ",")
		err := Check(paths, names, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: error %v, want %q", c.names, c.paths, err, c.want)
		}
		if _, same := Read(t.Context(), paths, names, nil); err != nil && fmt.Sprint(same) != err.Error() {
			t.Errorf("%s of %s: error %v, Read has %v", c.names, c.paths, err, same)
		}
	}
}

// TestStrayText: an error says which value makes a column one of texts.
func TestStrayText(t *testing.T) {
	c, err := readText(t, "a.csv", "x,y\n1,1\n2,3\nn/a,3\n", "x")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse("x > 1")
	if err != nil {
		t.Fatal(err)
	}
	want := `column "x" is text, and > compares it with an integer; a text stands in quotes; row 2 (0-based) has "n/a", which is no number`
	if err := c.Check(e); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestReadSelects: what is read is what is selected from, nulls before the first value among it.
func TestReadSelects(t *testing.T) {
	for name, text := range map[string]string{"a.csv": "x,y\n,1\n5,1\n,1\n7,1\n", "a.jsonl": "{\"y\":1}\n{\"x\":5}\n{\"x\":null}\n{\"x\":7}\n"} {
		c, err := readText(t, name, text, "x")
		if err != nil {
			t.Fatal(err)
		}
		for expr, want := range map[string][]uint32{"x > 5": {3}, "x <= 5": {1}, "x is null": {0, 2}, "x != 5": {3}, "not x = 5": {0, 2, 3}} {
			e, err := Parse(expr)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Select(e); err != nil || !slices.Equal(got.ToArray(), want) {
				t.Errorf("%s, %s: %v %v, want %v", name, expr, got, err, want)
			}
		}
	}
}

// TestReadFiles: the rows of several files follow each other, and say together what a column holds.
func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, text := range []string{"x,y\n1,1\n,2\n", "x,y\n2.5,1\n"} {
		paths = append(paths, filepath.Join(dir, string(rune('a'+i))+".csv"))
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(context.Background(), paths, []string{"x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse("x > 2 or x is null")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Select(e); err != nil || !slices.Equal(got.ToArray(), []uint32{1, 2}) || c.All()[0].Type != Float {
		t.Errorf("%v %v of %s", got, err, c.All()[0].Type)
	}
}

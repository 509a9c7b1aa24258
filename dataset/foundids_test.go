package dataset

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestFoundIDsThatAreNone: a column called id that cannot be ids is refused, unless another is named or the rows are
// queries.
func TestFoundIDsThatAreNone(t *testing.T) {
	type row[T any] struct {
		ID T         `parquet:"id"`
		V  []float32 `parquet:"v,list"`
	}
	dir := t.TempDir()
	floats, flags := filepath.Join(dir, "f.parquet"), filepath.Join(dir, "b.parquet")
	if err := parquet.WriteFile(floats, []row[float64]{{1, []float32{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(flags, []row[bool]{{true, []float32{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	lines := func(text string) string { return writeTemp(t, "a.jsonl", text) }
	for _, c := range []struct{ path, want string }{
		{lines(`{"id":1.0,"v":[1,2]}`), `row 0 (0-based): line 1: field "id" is 1.0, and ids are`},
		{lines(`{"v":[1,2],"id":null}`), `row 0 (0-based): line 1: field "id" is null`},
		{lines(`{"id":true,"v":[1,2]}`), `row 0 (0-based): line 1: field "id" is true`},
		{lines(`{"id":"\ud800","v":[1,2]}`), `row 0 (0-based): line 1: field "id" is "\ud800"`},
		{lines(`{"v":[1,2]}` + "\n" + `{"v":[1,2],"id":7}`), `row 1 (0-based): line 2: field "id" is missing in row 0`},
		{floats, `column "id" is a column of DOUBLE`},
		{flags, `column "id" is a column of BOOLEAN`},
	} {
		_, err := ReadAll(context.Background(), c.path, &Options{FindIDs: true, Words: Words{IDs: "--ids"}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--ids names another column") {
			t.Errorf("%v, want %q", err, c.want)
		}
		for _, opt := range []*Options{{FindIDs: true, OneRow: true}, {}} {
			if m, err := ReadAll(context.Background(), c.path, opt); err != nil || m.IDs != nil {
				t.Errorf("%+v: %v", opt, err)
			}
		}
	}
}

package columns

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
)

// TestKeepAll: of all columns those that cannot be kept are refused with a reason, and what is named is an error.
func TestKeepAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(`{"z":null,"x":1,"big":18446744073709551615,"o":{},"v":[1,2]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	c, refused, err := Keep(ctx, []string{path}, []string{All}, nil, "v")
	if err != nil {
		t.Fatal(err)
	}
	if of := c.All(); len(of) != 1 || of[0].Name != "x" || c.Rows() != 1 {
		t.Errorf("keeps %v", c.Fields())
	}
	if want := []Refused{{Name: "big"}, {Name: "o"}, {"z", errEmpty}}; !slices.Equal(refused, want) {
		t.Errorf("refuses %v, want %v", refused, want)
	}
	if err := Lost(refused); err != nil {
		t.Errorf("nothing is lost of types and of no values: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("x,y\n1,a\n2,\xff\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, refused, err := Keep(ctx, []string{bad}, []string{All}, nil); err != nil || len(refused) != 1 || refused[0].Name != "y" || Lost(refused) != refused[0].Why {
		t.Errorf("a text that is not UTF-8: refuses %v, error %v", refused, err)
	}
	if _, _, err := Keep(ctx, []string{path}, []string{"z"}, nil, "v"); err == nil || !strings.Contains(err.Error(), `no row has a value of "z"`) {
		t.Errorf("a named column without values: error %v", err)
	}
	_, refused, err = Keep(ctx, []string{path}, []string{All}, nil, "v", "x")
	if !errors.Is(err, dataset.ErrNoValues) || len(refused) != 3 || !strings.HasSuffix(err.Error(), "has no columns beside the vectors but such as columns cannot hold: big, o, z") {
		t.Errorf("without a column that can be kept: %v, error %v", refused, err)
	}
}

// TestFiner counts times finer than microseconds, and refuses them as keys.
func TestFiner(t *testing.T) {
	fine, err := readText(t, "a.csv", "at,x\n2024-01-02,1\n2024-01-02T00:00:00.0000001Z,1\n,1\n2024-01-02T00:00:00.0000001Z,1\n", "at")
	if err != nil {
		t.Fatal(err)
	}
	if rows, first := fine.All()[0].Finer(); rows != 2 || first != 1 {
		t.Errorf("%d times, the first in row %d; want 2 and 1", rows, first)
	}
	day, err := readText(t, "a.csv", "at,x\n2024-01-02T00:00:00.000001Z,1\n", "at")
	if err != nil {
		t.Fatal(err)
	}
	if rows, _ := day.All()[0].Finer(); rows != 0 {
		t.Errorf("%d times of microseconds are finer", rows)
	}
	var finer *FinerError
	if _, _, _, err := Groups(day, fine, []string{"at"}); !errors.As(err, &finer) || finer.Row != 1 || finer.Column != fine.All()[0] {
		t.Errorf("keys: error %v", err)
	}
	if _, _, _, err := Groups(day, day, []string{"at"}); err != nil {
		t.Error(err)
	}
}

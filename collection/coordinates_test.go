package collection

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCoordinates: a file keeps the names of coordinates, those that count however many there are.
func TestCoordinates(t *testing.T) {
	counted := make([]string, 5000)
	for i := range counted {
		counted[i] = fmt.Sprintf("emb_%d_x", i)
	}
	for name, names := range map[string][]string{"words": {"x", "y", "z"}, "none": nil, "counted": counted, "padded": {"d00", "d01", "d10", "d2"}} {
		path := filepath.Join(t.TempDir(), "a.thresher")
		dim := max(len(names), 1)
		c, err := Create(t.Context(), path, &rowsSource{rows: make([]float32, 2*dim), dim: dim}, false, &Options{Basis: Raw, Coordinates: names})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		info, err := Stat(path)
		if err != nil || !slices.Equal(info.Coordinates, names) {
			t.Errorf("%s: %d names, %v; want %d", name, len(info.Coordinates), err, len(names))
		}
	}
}

// TestNameRuns: names of any form are what they were, and runs that do not fit the dimension are refused.
func TestNameRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,2}[0-9]{0,3}[d.]{0,1}`), 1, 30).Draw(t, "names")
		got, err := namesOf(nameRuns(names), len(names))
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("%q, %v; want %q", got, err, names)
		}
		for _, dim := range []int{len(names) - 1, len(names) + 1} {
			if _, err := namesOf(nameRuns(names), dim); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%d names of %d coordinates: %v", len(names), dim, err)
			}
		}
	})
	if _, err := namesOf([]nameRun{{Before: "d", Count: 1 << 40}}, 3); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

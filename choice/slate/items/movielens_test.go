package items

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// films writes a folder in the format of MovieLens 100K.
func films(t *testing.T) string {
	dir := t.TempDir()
	writeFile(t, dir, "u.genre", "unknown|0\nDrama|1\nWar|2\n\n")
	writeFile(t, dir, "u.item", "1|Am\xe9lie (2001)|01-Jan-2001||http://x|0|1|0\n2|Two|||x|0|1|1\n3|Three|||x|1|0|0\n")
	writeFile(t, dir, "u.data", "1\t1\t5\t881250949\n2\t1\t5\t0\n1\t2\t1\t0\n2\t2\t1\t0\n3\t2\t1\t0\n")
	return dir
}

func TestMovieLens(t *testing.T) {
	s, err := Read(films(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Topics, []string{"Drama", "War"}) || s.Titles[0] != "Amélie (2001)" || s.IDs[2] != "3" {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.Groups[0], []int{0}) || !slices.Equal(s.Groups[1], []int{0, 1}) || len(s.Groups[2]) != 0 {
		t.Errorf("groups %v", s.Groups)
	}
	liked, disliked := s.Row(0), s.Row(1)
	if liked[0] < .6 || liked[1] != 0 || disliked[0] > .4 || disliked[0] != disliked[1] || slices.Max(s.Row(2)) != 0 {
		t.Errorf("features %v", s.Features)
	}
	for i, r := range []float64{liked[0], disliked[0]} {
		if want := (distuv.Beta{Alpha: 10, Beta: 2}).CDF(r); math.Abs(s.CostsOf(i)[0]-want) > 1e-12 {
			t.Errorf("cost of %g is %g, want %g", r, s.CostsOf(i)[0], want)
		}
	}
}

func TestMovieLensErrors(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"u.genre", "Drama\n", `u.genre: line 1: "Drama" is not a genre and its number 0`},
		{"u.genre", "unknown|0\nDrama|2\n", "line 2:"},
		{"u.genre", "unknown|0\n", "1 genres"},
		{"u.item", "1|One|||x|0|1\n", "u.item: line 1: 7 fields, want 8"},
		{"u.item", "2|One|||x|0|1|0\n", `line 1: movie "2", want 1`},
		{"u.item", "1|One|||x|0|2|0\n", `line 1: genre 1: "2" is neither 0 nor 1`},
		{"u.data", "1 1 5\n", "u.data: line 1: 3 fields, want 4"},
		{"u.data", "1 1 5 0\n\n1 4 5 0\n", `line 3: field 2: "4" is not in [1, 3]`},
		{"u.data", "1 1 6 0\n", `line 1: field 3: "6" is not in [1, 5]`},
		{"u.data", "x 1 5 0\n", `line 1: field 1: "x" is not in`},
		{"u.data", "", "u.data: no ratings"},
		{"u.data", strings.Repeat("x", 1<<17), "u.data: line 1: "},
	} {
		dir := films(t)
		writeFile(t, dir, c.file, c.content)
		if _, err := MovieLens(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: %v; want %q", c.file, c.content, err, c.want)
		}
	}
	for _, name := range []string{"u.genre", "u.item", "u.data"} {
		dir := films(t)
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		_, err := MovieLens(dir)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, name)) || !strings.Contains(err.Error(), "grouplens.org") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

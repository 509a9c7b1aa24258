package ratings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const movies = "1::Alien (1979)::Horror\n2::Am\xe9lie (2001)::Comedy\n3::Brazil (1985)::Sci-Fi\n4::Casablanca (1942)::Drama\n"

const table = `user,movie,rating
1,1,5
1,2,4
1,3,3
2,1,2
2,2,2
2,3,3.5
3,1,4
3,2,1
`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompare(t *testing.T) {
	dat := strings.ReplaceAll(strings.TrimPrefix(table, "user,movie,rating\n"), ",", "::")
	dat = strings.ReplaceAll(dat, "\n", "::978300760\n")
	for name, files := range map[string]map[string]string{
		"csv and dat": {"movies.dat": movies, "ratings.csv": table},
		"dat":         {"movies.dat": movies, "ratings.dat": dat},
		"csv":         {"movies.csv": "movieId,title\n1,Alien (1979)\n2,\"Am\u00e9lie (2001)\"\n3,Brazil (1985)\n", "ratings.csv": table},
	} {
		r, err := Read(folder(t, files))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		titles, err := r.Most(3)
		if want := []string{"Alien (1979)", "Am\u00e9lie (2001)", "Brazil (1985)"}; err != nil || !slices.Equal(titles, want) {
			t.Fatalf("%s: %q, %v", name, titles, err)
		}
		c, err := r.Compare(titles)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ i, j, prefer, ties int }{{0, 1, 2, 1}, {1, 0, 0, 1}, {0, 2, 1, 0}, {2, 0, 1, 0}, {1, 2, 1, 0}, {2, 1, 1, 0}} {
			if c.Prefer(x.i, x.j) != x.prefer || c.Ties(x.i, x.j) != x.ties {
				t.Errorf("%s: %d prefer %d to %d, %d ties; want %+v", name, c.Prefer(x.i, x.j), x.i, x.j, c.Ties(x.i, x.j), x)
			}
		}
		if c.Judges(0, 1) != 2 || c.Judges(2, 0) != 2 {
			t.Errorf("%s: %d and %d judges", name, c.Judges(0, 1), c.Judges(2, 0))
		}
		if best, _ := c.Best(); best != -1 { // Alien and Brazil are even
			t.Errorf("%s: %q is best", name, titles[best])
		}
	}
}

// TestTitleOfTwoMovies: a person who rated both movies of one title does not prefer the title
// to itself, and has judged it against others twice.
func TestTitleOfTwoMovies(t *testing.T) {
	r, err := Read(folder(t, map[string]string{
		"movies.dat":  "1::Sabrina (1954)\n2::Sabrina (1954)\n3::Brazil (1985)\n",
		"ratings.csv": "1,1,5\n1,2,4\n1,3,3\n2,1,2\n2,2,2\n2,3,2\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Compare([]string{"Sabrina (1954)", "Brazil (1985)"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.prefer, []int{0, 2, 0, 0}) || !slices.Equal(c.ties, []int{0, 2, 2, 0}) {
		t.Errorf("%v prefer, %v ties", c.prefer, c.ties)
	}
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		prefer      []int
		best, rival int
	}{
		{[]int{0, 1, 5, 9, 0, 6, 3, 4, 0}, 1, 2},
		{[]int{0, 9, 1, 1, 0, 9, 9, 1, 0}, -1, -1}, // a cycle
	} {
		x := &Comparison{titles: []string{"a", "b", "c"}, prefer: c.prefer}
		if best, rival := x.Best(); best != c.best || rival != c.rival {
			t.Errorf("%v: %d before %d, want %d before %d", c.prefer, best, rival, c.best, c.rival)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "neither movies.csv nor movies.dat"},
		{map[string]string{"movies.dat": movies}, "neither ratings.csv nor ratings.dat"},
		{map[string]string{"movies.dat": "one\n"}, "movies.dat, line 1: 1 fields"},
		{map[string]string{"movies.dat": "one::Alien\n"}, `"one" is not a number`},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "4,1\n"}, "ratings.csv, line 10: 2 fields"},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "4,x,1\n"}, `line 10: "4,x,1" is no rating`},
		{map[string]string{"movies.dat": movies + "3::Dune (1984)::Sci-Fi\n"}, `line 5: movie 3 is listed twice, first as "Brazil (1985)"`},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "4,1,NaN\n"}, `line 10: "4,1,NaN" is no rating`},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "4,1,-inf\n"}, `line 10: "4,1,-inf" is no rating`},
		{map[string]string{"movies.csv": "1,\"Alien\n(1979)\"\n2\n"}, "movies.csv, line 3: 1 fields"},
		{map[string]string{"movies.dat": "1::" + strings.Repeat("a", 1<<17) + "\n"}, "movies.dat: line 1: bufio"},
		{map[string]string{"movies.dat": movies, "ratings.csv": "\uFEFF1,9,5\n"}, "ratings.csv, line 1: movie 9 has no title"},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "4,9,1\n"}, "line 10: movie 9 has no title"},
		{map[string]string{"movies.dat": movies, "ratings.csv": table + "\"4,1,1\n"}, "ratings.csv: "},
	} {
		if _, err := Read(folder(t, c.files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	r, err := Read(folder(t, map[string]string{"movies.dat": movies, "ratings.csv": table + "4,4,1\n5,4,2\n"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		titles []string
		want   string
	}{
		{[]string{"Alien (1979)", "Aliens (1986)"}, `nobody rated "Aliens (1986)"`},
		{[]string{"Alien (1979)", "Casablanca (1942)"}, `nobody rated "Alien (1979)" and "Casablanca (1942)" differently`},
	} {
		if _, err := r.Compare(c.titles); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for _, n := range []int{1, 5} {
		if titles, err := r.Most(n); err == nil {
			t.Errorf("the %d most rated are %q", n, titles)
		}
	}
}

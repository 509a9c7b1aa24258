package ratings

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// FuzzRead: a folder is refused by an error that names one of its files, or gives consistent
// ratings: titles are UTF-8, all are rated, and the counts of preferences and ties add up.
func FuzzRead(f *testing.F) {
	for _, seed := range []struct {
		movies, ratings string
		csv             bool
	}{
		{movies, "1::1::5::978300760\n1::2::4::978300760\n", false},
		{"movieId,title\n1,Alien (1979)\n2,\"Am\u00e9lie (2001)\"\n", table, true},
		{"1::a\n2::a\n", "1::1::5\n1::2::4\n", false},
		{"", "", false},
		{"\n", "\n", true},
		{"1::a::\n", "1::1::NaN\n2::1::Inf\n3::1::-0\n4::1::0x1p-2\n", false},
		{"9223372036854775808::a\n", "1::1::1\n", false},
		{"1::\xff\n2::\n", "+1::1::1e999\n-1::2::1\n", false},
		{"1,\"a\n\",\n2,b", "user,movie,rating\n1,1,\"1\"\n1,2,2,,,", true},
		{"\xef\xbb\xbf1,a\n", "\xef\xbb\xbf1,1,1\n", true},
		{"1::a\r\n", "1::1::1\r\n", false},
	} {
		f.Add([]byte(seed.movies), []byte(seed.ratings), seed.csv)
	}
	f.Fuzz(func(t *testing.T, movies, rated []byte, csv bool) {
		form := ".dat"
		if csv {
			form = ".csv"
		}
		dir := t.TempDir()
		for name, text := range map[string][]byte{"movies": movies, "ratings": rated} {
			if err := os.WriteFile(filepath.Join(dir, name+form), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Read(dir)
		if err != nil {
			return
		}
		for title, all := range r.rated {
			if !utf8.ValidString(title) {
				t.Errorf("title %q", title)
			}
			for _, x := range all {
				if math.IsNaN(x.value) || math.IsInf(x.value, 0) {
					t.Errorf("%q has the rating %g", title, x.value)
				}
			}
		}
		titles, err := r.Most(min(len(r.rated), 5))
		if err != nil {
			return
		}
		c, err := r.Compare(titles)
		if err != nil {
			return
		}
		for i := range titles {
			for j := range titles {
				if i != j && (c.Judges(i, j) < 1 || c.Judges(i, j) != c.Judges(j, i) || c.Ties(i, j) != c.Ties(j, i)) {
					t.Errorf("%q and %q: %d and %d judges, %d and %d ties", titles[i], titles[j], c.Judges(i, j), c.Judges(j, i), c.Ties(i, j), c.Ties(j, i))
				}
			}
		}
	})
}

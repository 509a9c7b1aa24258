package data

import (
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// every is the sets that are drawn, at a small size.
func every(t *testing.T) []*Set {
	t.Helper()
	r := fewRatings()
	f, err := r.NonNegative(context.Background(), 2, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	films, err := Films(f, 3, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	viewers, err := Viewers(f, 3, 4, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCustomers(context.Background(), r, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	customers, err := c.Films(3, 40, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	return []*Set{
		Normal(4, 50, 2, 1), Correlated(4, 50, 1), Mixed(4, 50, 2, 1), Symmetric(4, 50, 2, 1), Gaussian(4, 50, 2, 1), Uniform(4, 50, 2, 1),
		Prices(4, 50, 2, 1), Descriptors(4, 50, 2, 1), Spectrum(4, 50, 2, .5, 1), films, viewers, customers,
	}
}

// fewRatings is seven users of six films with two tastes.
func fewRatings() *Ratings {
	r := &Ratings{Users: 7, Films: 6}
	for u := range 7 {
		for f := range 6 {
			if (u+f)%5 != 0 {
				r.Given = append(r.Given, Rating{u, f, float64(1 + 3*((u/3+f)%2) + u%2)})
			}
		}
	}
	return r
}

// A set has the coordinates that its atoms promise, the same when read one by one and by rows.
func TestSetsAreRead(t *testing.T) {
	for _, s := range every(t) {
		n, d := s.Atoms.Len(), s.Atoms.Dim()
		rows, err := Rows(context.Background(), s.Atoms, 2)
		if err != nil {
			t.Fatal(err)
		}
		column := make([]float64, 2)
		for j := range d {
			for i := range n {
				arms := []int{i, n - 1 - i}
				s.Atoms.Pull(j, arms, column)
				for p, a := range arms {
					if float64(rows[a*d+j]) != column[p] || math.IsNaN(column[p]) || math.IsInf(column[p], 0) {
						t.Fatalf("%s: atom %d, coordinate %d is %v, in its row %v", s.Name, a, j, column[p], rows[a*d+j])
					}
				}
			}
		}
		for q, query := range s.Queries {
			if len(query) != d || s.Means != nil && len(s.Means[q]) != n {
				t.Errorf("%s: query %d of %d coordinates", s.Name, q, len(query))
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Rows(ctx, Normal(2, 10, 1, 1).Atoms, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The numbers of the sets that tests and figures had before they had this package.
func TestDrawsAreFixed(t *testing.T) {
	one := []float64{0}
	for _, c := range []struct {
		set         *Set
		atom, query float64 // atom 3 and the first query at coordinate 7
	}{
		{Normal(4, 10, 1, 5), -1.0717756748199463, 2.042729139328003},
		{Correlated(4, 10, 5), -1.826828956604004, 2.042729139328003},
		{Symmetric(4, 10, 1, 5), -0.34766310453414917, 0.594607949256897},
	} {
		c.set.Atoms.Pull(7, []int{3}, one)
		if one[0] != c.atom || float64(c.set.Queries[0][7]) != c.query {
			t.Errorf("%s: %v, query %v; want %v, %v", c.set.Name, one[0], c.set.Queries[0][7], c.atom, c.query)
		}
	}
}

// The means that a model promises are those of its coordinates, within six standard errors.
func TestMeansOfModels(t *testing.T) {
	const d = 20000
	c, err := NewCustomers(context.Background(), fewRatings(), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	customers, err := c.Films(3, d, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Set{Normal(3, d, 2, 2), Correlated(3, d, 2), Mixed(3, d, 2, 2), Symmetric(3, d, 2, 2), Uniform(3, d, 2, 2), customers} {
		rows, err := Rows(context.Background(), s.Atoms, 1)
		if err != nil {
			t.Fatal(err)
		}
		for q, query := range s.Queries {
			for i, want := range s.Means[q] {
				sum, squares := 0.0, 0.0
				for j, x := range query {
					p := float64(x) * float64(rows[i*d+j])
					sum, squares = sum+p/d, squares+p*p/d
				}
				if limit := 6 * math.Sqrt((squares-sum*sum)/d); math.Abs(sum-want) > limit+1e-9 {
					t.Errorf("%s, query %d, atom %d: mean %v, the model's %v, limit %v", s.Name, q, i, sum, want, limit)
				}
			}
		}
	}
	s := &Set{Means: [][]float64{{1, 4, 2.5, 4}, {1, 7, 2}}}
	if a, b := s.Gap(0), s.Gap(1); a != 0 || b != 5 {
		t.Errorf("gaps %v and %v", a, b)
	}
}

// A matrix of low rank comes back from its factors.
func TestFactors(t *testing.T) {
	r := &Ratings{Users: 30, Films: 20}
	for u := range r.Users {
		for f := range r.Films {
			r.Given = append(r.Given, Rating{u, f, 1 + float64(u%4)*float64(f%3)/3})
		}
	}
	exact, err := r.Truncated(context.Background(), 2, func(Rating) float64 { return 0 }, 1)
	if err != nil {
		t.Fatal(err)
	}
	positive, err := r.NonNegative(context.Background(), 2, 400, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Given {
		if x := exact.At(g.User, g.Film); math.Abs(x-g.Stars) > 1e-6 {
			t.Fatalf("user %d, film %d: %v of singular vectors, want %v", g.User, g.Film, x, g.Stars)
		}
		if x := positive.At(g.User, g.Film); math.Abs(x-g.Stars) > .05 {
			t.Fatalf("user %d, film %d: %v of factors that are not negative, want %v", g.User, g.Film, x, g.Stars)
		}
	}
	for _, x := range append(positive.User, positive.Film...) {
		if x < 0 {
			t.Fatalf("factor %v", x)
		}
	}
	if _, err := r.Truncated(context.Background(), 21, func(Rating) float64 { return 0 }, 1); err == nil {
		t.Error("rank 21 of 20 films")
	}
	if _, err := Films(positive, 19, 30, 2, 1); err == nil {
		t.Error("21 of 20 films")
	}
}

func TestReadRatings(t *testing.T) {
	for name, text := range map[string]string{
		"ratings.dat": "5::30::4::978\n2::10::1::978\n5::10::5::1\n",
		"ratings.csv": "user,movie,rating\n5,30,4\r\n2,10,1\n\n5,10,5\n",
		"u.data":      "5\t30\t4\t978\n2\t10\t1\t978\n5\t10\t5\t1\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadRatings(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Users != 2 || r.Films != 2 || len(r.Given) != 3 || r.Given[0] != (Rating{1, 1, 4}) || r.Given[1] != (Rating{0, 0, 1}) {
			t.Errorf("%s: %+v", name, r)
		}
		if r, err := ReadRatings(dir, 1); err != nil || len(r.Given) != 1 || r.Given[0] != (Rating{0, 0, 4}) {
			t.Errorf("%s: one rating: %+v, %v", name, r, err)
		}
	}
	for text, want := range map[string]string{
		"user,film,stars\n1,1,1\n":          "line 1: the header",
		"user,movie,rating\n1,1,1\n2,1,6\n": `line 3: stars "6" is not a whole number of 1 to 5`,
		"user,movie,rating\n1,1,1\n0,1,5\n": `line 3: user "0"`,
		"user,movie,rating\n1,9999999,5\n":  `line 2: film "9999999"`,
		"user,movie,rating\n1,5\n":          "line 2: 2 fields",
		"user,movie,rating\n1,5,3.5\n":      `line 2: stars "3.5"`,
		"user,movie,rating\n":               "no ratings",
		"user,movie,rating\n1,5,3\n1,5,4\n": "twice",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ratings.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRatings(dir, 0); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ratings.csv") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := ReadRatings(t.TempDir(), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// MovieLens 1M may not be passed on: the test says when it is not there.
func TestMovieLens(t *testing.T) {
	const folder = "../../../shared/data/ml-1m"
	r, err := ReadRatings(folder, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("MovieLens 1M is not in %s", folder)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.Users != 6040 || r.Films != 3706 || len(r.Given) != 1000209 {
		t.Fatalf("%d users, %d films, %d ratings", r.Users, r.Films, len(r.Given))
	}
}

// The coefficients of a song's notes are what SongPlayed says.
func TestSong(t *testing.T) {
	s := NewSong(10, 1, 1)
	notes, want := SongPlayed()
	column, all := make([]float64, 10), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	sums := map[string]float64{}
	for j := range s.Dim() {
		s.Pull(j, all, column)
		for i, v := range column {
			sums[s.Note(i)] += s.Signal(j) * v / s.NormsSquared()[i]
		}
	}
	for p, note := range notes {
		if math.Abs(sums[note]-want[p]) > 1e-9 {
			t.Errorf("%s: coefficient %v, want %v", note, sums[note], want[p])
		}
	}
	if math.Abs(sums["D4"]) > 1e-9 || len(sums) != 10 {
		t.Errorf("D4, which is not played: %v", sums["D4"])
	}
}

func TestPixels(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "images.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(z.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header = "\x00\x00\x08\x03\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x02" // 3 images of 2 x 2
	s, err := Pixels(write(header+"abcdefghijkl"), 0, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Rows(context.Background(), s.Atoms, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float32]bool{}
	for _, x := range append(rows, s.Queries[0]...) {
		seen[x] = true
	}
	// A pixel's values in two images differ by a whole number of images, 4 values each.
	if len(rows) != 9 || len(seen) != 12 || int(rows[1]-rows[0])%4 != 0 {
		t.Errorf("atoms %v, query %v", rows, s.Queries[0])
	}
	for text, want := range map[string]string{
		header + "abc":                  "3 bytes of pixels, 3 images of 4 pixels have 12",
		"\x00\x00\x08\x01" + header[4:]: "magic number 0x801",
		header[:9]:                      "header",
	} {
		if _, err := Pixels(write(text), 0, 3, 1, 1); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "images.gz") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Pixels(write(header+"abcdefghijkl"), 4, 3, 1, 1); err == nil {
		t.Error("five of four pixels")
	}
}

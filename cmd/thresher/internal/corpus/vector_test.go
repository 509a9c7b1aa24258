package corpus

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

func small(t *testing.T) *Corpus {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var some []Entry
	for i := 0; i < len(c.Entries); i += 20 {
		some = append(some, c.Entries[i])
	}
	return &Corpus{Version: c.Version, Entries: some}
}

func dot(a, b []float32) float64 {
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// TestHash fixes the hash: another one would change vectors and make figures of two releases
// incomparable.
func TestHash(t *testing.T) {
	for word, want := range map[string]uint64{"": 0xf52a15e9a9b5e89b, "goroutin": 0x6a12f0b338e5974f} {
		if got := hash(word); got != want {
			t.Errorf("hash(%q) = %#x, want %#x", word, got, want)
		}
	}
}

func TestVectorsHaveLengthOne(t *testing.T) {
	const dim = 256
	c := small(t)
	rows, _, err := Vectorize(context.Background(), c, dim, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(c.Entries)*dim {
		t.Fatalf("%d numbers for %d entries of %d", len(rows), len(c.Entries), dim)
	}
	for i, e := range c.Entries {
		row := rows[i*dim : (i+1)*dim]
		if n := dot(row, row); math.Abs(n-1) > 1e-6 {
			t.Errorf("%s: squared length %g", e.Symbol(), n)
		}
	}
}

func TestVectorsDoNotDependOnThreads(t *testing.T) {
	c := small(t)
	want, _, err := Vectorize(context.Background(), c, 128, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{0, 2, 7, 1000} {
		got, _, err := Vectorize(context.Background(), c, 128, threads)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d threads give other vectors than one", threads)
		}
	}
}

func TestKindredTextsAreAlike(t *testing.T) {
	texts := []Entry{
		{"strings", "Index", "Index returns the place of the first instance of a substring, or -1."},
		{"bytes", "Index", "Index returns the place of the first instance of a subslice, or -1."},
		{"net", "Dial", "Dial connects to the address on the named network and waits for it."},
		{"net", "DialTimeout", "DialTimeout acts like Dial but takes a timeout for the connection."},
	}
	rows, w, err := Vectorize(context.Background(), &Corpus{Entries: texts}, 1024, 1)
	if err != nil {
		t.Fatal(err)
	}
	row := func(i int) []float32 { return rows[i*1024 : (i+1)*1024] }
	if near, far := dot(row(0), row(1)), dot(row(0), row(2)); near < far+.2 {
		t.Errorf("two Index at %.3f, Index and Dial at %.3f", near, far)
	}
	q := w.Query("connect to a network address")
	if near, far := dot(q, row(2)), dot(q, row(0)); near < far+.2 {
		t.Errorf("the question is at %.3f of Dial, at %.3f of Index", near, far)
	}
}

func TestQuery(t *testing.T) {
	_, w, err := Vectorize(context.Background(), small(t), 256, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "the of and", "qqxyzzy", "\x00\xff"} {
		if v := w.Query(text); dot(v, v) != 0 {
			t.Errorf("%q is not all zeros", text)
		}
	}
	known := w.Query("returns an error")
	if n := dot(known, known); math.Abs(n-1) > 1e-6 {
		t.Errorf("squared length of a question %g", n)
	}
	if !slices.Equal(known, w.Query("qqxyzzy returning ERRORS")) {
		t.Error("unknown words or inflections change a question")
	}
}

func TestVectorizeErrors(t *testing.T) {
	for _, dim := range []int{0, 8, 100, -16} {
		if _, _, err := Vectorize(context.Background(), &Corpus{}, dim, 1); err == nil {
			t.Errorf("dimension %d accepted", dim)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Vectorize(ctx, small(t), 64, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCompanyMakesKindred: two words that never occur together but with the same words are
// related.
func TestCompanyMakesKindred(t *testing.T) {
	var texts []Entry
	for _, s := range []string{
		"mutex lock shared memory", "mutex lock guards memory", "mutex lock unlock memory",
		"semaphore lock shared memory", "semaphore lock guards memory", "semaphore lock unlock memory",
		"colour palette drawing image", "colour palette drawing pixel", "colour palette drawing shade",
	} {
		texts = append(texts, Entry{Text: s})
	}
	_, w, err := Vectorize(context.Background(), &Corpus{Entries: texts}, 4096, 1)
	if err != nil {
		t.Fatal(err)
	}
	q := w.Query("mutex")
	if near, far := dot(q, w.Query("semaphore")), dot(q, w.Query("colour")); near < far+.05 {
		t.Errorf("mutex is at %.3f of semaphore, at %.3f of colour", near, far)
	}
}

func TestWordOrderCounts(t *testing.T) {
	texts := []Entry{{Text: "copy file"}, {Text: "file copy"}, {Text: "another text"}}
	rows, _, err := Vectorize(context.Background(), &Corpus{Entries: texts}, 1024, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := dot(rows[:1024], rows[1024:2048]); d > .99 || d < .5 {
		t.Errorf("two orders of the same words are at %.3f", d)
	}
}

package corpus

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Read a file.", []string{"read", "a", "file"}},
		{"io.ReadAll", []string{"io", "read", "all", "readall"}},
		{"HTTPServer", []string{"http", "server", "httpserver"}},
		{"UTF-8, 0x1F", []string{"utf", "8", "0x1f"}},
		{"IDs", []string{"ids"}},
		{"ServeHTTP", []string{"serve", "http", "servehttp"}},
		{"Größe", []string{"größe"}},
		{" -- ", nil},
	} {
		var got []string
		words(c.text, func(w string) { got = append(got, w) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestStemJoinsInflections(t *testing.T) {
	for _, group := range [][]string{
		{"line", "lines"},
		{"parse", "parses", "parsed", "parsing"},
		{"compress", "compresses", "compressed", "compressing"},
		{"run", "runs", "running"},
		{"entry", "entries"},
		{"call", "calls", "called", "calling"},
		{"byte", "bytes"},
	} {
		for _, w := range group[1:] {
			if stem(w) != stem(group[0]) {
				t.Errorf("%s becomes %q, %s %q", w, stem(w), group[0], stem(group[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"status", "statue"}, {"this", "the"}, {"is", "i"}, {"read", "red"}, {"string", "str"}} {
		if stem(pair[0]) == stem(pair[1]) {
			t.Errorf("%s and %s both become %q", pair[0], pair[1], stem(pair[0]))
		}
	}
}

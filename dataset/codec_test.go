package dataset

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatsOfDoc: the table of the package comment has the extensions of every format, and says which of them
// stream.
func TestFormatsOfDoc(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		row := regexp.MustCompile(`^//\t\S.*?\s((?:\.\w+ )+).*\s(yes|no)\s`).FindStringSubmatch(line)
		if row == nil {
			continue
		}
		for _, ext := range strings.Fields(row[1]) {
			streams[ext] = row[2] == "yes"
		}
	}
	want := map[string]bool{}
	for i := range codecs {
		for _, ext := range codecs[i].extensions {
			want["."+ext] = !codecs[i].seeks
		}
	}
	if diff := cmp.Diff(want, streams); diff != "" {
		t.Error(diff)
	}
}

// TestExtensions: every extension is that of one format, with and without .gz, in any case of letters.
func TestExtensions(t *testing.T) {
	var seen []string
	for i := range codecs {
		c := &codecs[i]
		for _, ext := range c.extensions {
			if slices.Contains(seen, ext) {
				t.Errorf(".%s is listed twice", ext)
			}
			seen = append(seen, ext)
			for _, name := range []string{"a." + ext, "A.B." + strings.ToUpper(ext), "a." + ext + ".gz"} {
				if f, gzipped := FormatOf(name); f != c.format || gzipped != strings.HasSuffix(name, ".gz") {
					t.Errorf("%s is %q, gzip %v", name, f, gzipped)
				}
			}
		}
	}
}

// TestNotWritten: what a format cannot hold is refused, and the error lists the formats that can.
func TestNotWritten(t *testing.T) {
	pairs := func(do func(p *Pair) error) error { return do(&Pair{}) }
	for _, format := range []Format{NPY, IVecs, Arrow, Unknown, "xls"} {
		want := "pairs are not written as " + string(format) + "; formats that are: npz, csv, parquet, jsonl"
		if err := WritePairs(io.Discard, format, pairs, &PairTable{Count: 1}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	lists := &table{columns: []Column{{Name: "ids", List: true}, {Name: "covers", Type: JSON}}}
	want := "answers are not written as parquet; formats that are: jsonl"
	if err := writeTable(io.Discard, Parquet, "answers", lists); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

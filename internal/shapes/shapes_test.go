package shapes

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var write = flag.Bool("write-shapes", false, "write the table into docs/answers.md")

// TestDocumented: the page has the table.
func TestDocumented(t *testing.T) {
	const page = "../../docs/answers.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), "| from |")
	_, tail, ended := strings.Cut(rest, "\n\n")
	if !ok || !ended {
		t.Fatalf("%s has no table that begins with | from |, and a blank line after it", page)
	}
	want := head + Text() + "\n" + tail
	if want == string(b) {
		return
	}
	if !*write {
		t.Fatalf("%s has another table; -write-shapes writes it", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

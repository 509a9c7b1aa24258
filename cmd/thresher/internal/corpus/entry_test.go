package corpus

import (
	"slices"
	"testing"
)

func TestSentence(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Wait blocks. It may block long.", "Wait blocks."},
		{"Use os.Open and not this. Really.", "Use os.Open and not this."},
		{"Sorts a list, e.g. Of names. Fast.", "Sorts a list, e.g. Of names."},
		{"Version 1.2 is the last. Good.", "Version 1.2 is the last."},
		{"Is it so? It is.", "Is it so?"},
		{"in etc. and other places. End.", "in etc. and other places."},
		{"No stop at all", "No stop at all"},
		{"Ends here.", "Ends here."},
		{"", ""},
	} {
		if got := (Entry{Text: c.text}).Sentence(); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestSymbol(t *testing.T) {
	if got := (Entry{Package: "encoding/json", Name: "Decoder.Decode"}).Symbol(); got != "encoding/json.Decoder.Decode" {
		t.Error(got)
	}
	if got := (Entry{Package: "encoding/json"}).Symbol(); got != "encoding/json" {
		t.Error(got)
	}
}

func TestTidyDoesNotDependOnOrder(t *testing.T) {
	make := func() []Entry {
		return []Entry{
			{"a", "X", "one two three four five six"},
			{"a", "X", "another text of the very same name"},
			{"b", "Y", "one two three four five six"},
			{"b", "Z", "too short to be of"},
		}
	}
	want := tidy(make())
	if len(want) != 2 || want[0].Text[:7] != "another" || want[1].Name != "Y" {
		t.Fatalf("kept %v", want)
	}
	back := make()
	slices.Reverse(back)
	if got := tidy(back); !slices.Equal(got, want) {
		t.Errorf("reversed input: %v, want %v", got, want)
	}
}

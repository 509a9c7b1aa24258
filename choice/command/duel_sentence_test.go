package command

import "testing"

func TestInSentence(t *testing.T) {
	for name, want := range map[string]string{
		"word": "word", "two words": `"two words"`, "": `""`, "\x1b": `\x1b`,
		"01234567890123456789" + "-" + "01234567890123456789": "01234567890123456789…01234567890123456789",
	} {
		if got := inSentence(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

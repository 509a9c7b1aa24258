package main

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünïcode 日本 👩‍🔬":  "plain ünïcode 日本 👩‍🔬",
		"two\nlines\tand a tab": "two\nlines\tand a tab",
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"bell\a, \u202eturned":  `bell\a, \u202eturned`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := printableLine("a\tb\nc"); got != `a\tb\nc` {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"word": "word", "two words": `"two words"`, "": `""`, "\x1b": `\x1b`,
		"0123456789012345678901234567890123456789x": "0123456789012345678901234567890123456789…",
	} {
		if got := inSentence(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

package cli

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünïcode 日本 👩‍🔬":  "plain ünïcode 日本 👩‍🔬",
		"two\nlines\tand a tab": "two\nlines\tand a tab",
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"bell\a, \u202eturned":  `bell\a, \u202eturned`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := PrintableLine("a\tb\nc"); got != `a\tb\nc` {
		t.Error(got)
	}
}

package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable returns a text from outside in which characters that a terminal may obey, or that do not show, are
// written as escapes; lines and tabs stay.
func Printable(text string) string { return escaped(text, "\n\t") }

// PrintableLine is Printable on one line, without tabs.
func PrintableLine(text string) string { return escaped(text, "") }

func escaped(text, but string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\u00a0' && r != '\u200d' && !strings.ContainsRune(but, r)
	}
	if strings.IndexFunc(text, odd) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if odd(r) {
			q := fmt.Sprintf("%+q", r) // in quotes
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

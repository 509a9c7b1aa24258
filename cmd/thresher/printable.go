package main

import (
	"fmt"
	"strings"
	"unicode"
)

// printable returns a text from outside in which characters that a terminal may obey, or that do not show, are
// written as escapes; lines and tabs stay.
func printable(text string) string { return escaped(text, "\n\t") }

// printableLine is printable on one line, without tabs.
func printableLine(text string) string { return escaped(text, "") }

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

// inSentence returns the name of an arm for a sentence: quoted if it is more than a word, and cut if it is long.
func inSentence(name string) string {
	const most = 40
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	if name = printableLine(name); name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
		return "\"" + name + "\""
	}
	return name
}

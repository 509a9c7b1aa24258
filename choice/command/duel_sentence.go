package command

import (
	"strings"
	"unicode"

	"thresher/internal/cli"
)

// inSentence returns the name of an arm for a sentence: quoted if it is more than a word, and cut in the middle if it is long.
func inSentence(name string) string {
	const most = 40
	if r := []rune(name); len(r) > most {
		name = string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
	}
	if name = cli.PrintableLine(name); name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
		return "\"" + name + "\""
	}
	return name
}

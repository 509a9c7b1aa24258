package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestEveryFlagHasAHeading: help lists every flag of every verb under a heading, and no name is listed that no flag has.
func TestEveryFlagHasAHeading(t *testing.T) {
	clitest.CheckHeadings(t, newRootCommand(newApp(nil, nil, nil)), flagHeadings)
}

// TestEveryVerbHasExamples: each verb's help has examples, of that verb, whose flags and arguments it takes. Those
// that need no data are run.
func TestEveryVerbHasExamples(t *testing.T) {
	runs := []string{"thresher version", "thresher config show"}
	clitest.EachCommand(newRootCommand(newApp(nil, nil, nil)), func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		mine := 0
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			line = strings.TrimSpace(line)
			if _, next, several := strings.Cut(line, "; "); several {
				line = next
			}
			words := shellWords(line)
			if len(words) == 0 || words[0] != "thresher" {
				t.Errorf("%s: example %q is no command of thresher", cmd.CommandPath(), line)
				continue
			}
			root := newRootCommand(newApp(nil, nil, nil))
			called, args, err := root.Find(words[1:])
			if err == nil {
				err = called.ParseFlags(args)
			}
			if err == nil {
				err = called.ValidateArgs(called.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
			if called.CommandPath() == cmd.CommandPath() {
				mine++
			}
			if slices.Contains(runs, called.CommandPath()) {
				thresher(t, words[1:]...).WantCode(t, cli.ExitOK)
			}
		}
		if mine == 0 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	})
}

// shellWords divides a command into words as a shell does, with quotes of both kinds, up to a pipe, a file or a comment behind it.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, inside := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case strings.ContainsRune("#|<>", r) && !inside:
			return words
		case r == ' ':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	return words
}

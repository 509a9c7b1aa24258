package command

import (
	"fmt"
	"io"

	"thresher/choice/duel"
)

// toldVerdicts are the verdicts that lines of this run gave on duels, so that a second one that differs is
// not dropped without a word.
type toldVerdicts map[uint64]toldVerdict

type toldVerdict struct {
	verdict string // as in the line, in words
	line    int
}

// maxTold is the number of verdicts after which they are forgotten.
const maxTold = 1 << 16

// inLine states the verdict of a line.
func (j *judgmentLine) inLine() string {
	switch {
	case j.AWon != nil:
		return fmt.Sprintf("a_won %t", *j.AWon)
	case j.Winner != nil && *j.Winner != tie:
		return fmt.Sprintf("winner %q", *j.Winner)
	}
	return tie
}

// keep keeps the verdict of a line.
func (told toldVerdicts) keep(j *judgmentLine, line int) {
	if len(told) == maxTold {
		clear(told)
	}
	told[j.Duel] = toldVerdict{j.inLine(), line}
}

// forget forgets the verdicts that an undo took back.
func (told toldVerdicts) forget(undone []duel.Result) {
	for _, r := range undone {
		delete(told, r.Duel)
	}
}

// compare says on w if a line contradicts what an earlier one told of its duel.
func (told toldVerdicts) compare(j *judgmentLine, line int, w io.Writer) {
	first, ok := told[j.Duel]
	if now := j.inLine(); ok && now != first.verdict {
		fmt.Fprintf(w, "standard input, line %d: duel %d: %s, but line %d said %s, which stands; {\"undo\":true} takes back the last judgment\n",
			line, j.Duel, now, first.line, first.verdict)
	}
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// judgeByHand asks at the terminal, one duel after the other.
func (a *app) judgeByHand(ctx context.Context, t *tournament, lines *inputLines) error {
	judged := false // in this run
	var notice standoffNotice
	for {
		duels, err := t.nextDuels(1)
		ended := errors.Is(err, duel.ErrEnded)
		if err != nil && !ended {
			return err
		}
		if ended && judged {
			again, err := a.askUndo(ctx, t, lines)
			if ctx.Err() != nil {
				return a.stoppedTournament(t, ctx.Err())
			}
			if err != nil {
				return err
			}
			if again {
				continue
			}
		}
		if ended || len(duels) == 0 {
			return a.describeTournament(t)
		}
		notice.tell(a, t, "q")
		a.show(t, duels[0])
		answer, err := a.ask(ctx, lines, "which is better? [1, 2, = tie, s skip, u undo, q stop] ", "1", "2", "=", "s", "u", "q")
		if ctx.Err() != nil {
			return a.stoppedTournament(t, ctx.Err())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil || answer == "q" {
			return a.describeTournament(t)
		}
		if err := a.applyAnswer(t, duels[0], answer); err != nil {
			return err
		}
		judged = true
	}
}

// show prints a duel and how the tournament stands.
func (a *app) show(t *tournament, d duel.Duel) {
	s := t.State()
	waiting := ""
	if s.Waiting > 0 {
		waiting = fmt.Sprintf(", %d more judged, which wait for others", s.Waiting)
	}
	fmt.Fprintf(a.Err, "\n%d of %d arms in, %d duels decided%s\n", len(s.Active), len(t.names), s.Duels, waiting)
	if s.Guarantee != nil {
		fmt.Fprintf(a.Err, "%s leads, %s\n", inSentence(t.names[s.Leader]), sure(s.Guarantee))
	}
	fmt.Fprintf(a.Err, "  1  %s\n  2  %s\n", cli.Printable(t.texts.text(t.names[d.A])), cli.Printable(t.texts.text(t.names[d.B])))
}

// ask returns the next line that is one of the answers; io.EOF at the end of the input.
func (a *app) ask(ctx context.Context, lines *inputLines, question string, answers ...string) (string, error) {
	for {
		fmt.Fprint(a.Err, question)
		line, err := lines.nextLine(ctx)
		if err != nil {
			return "", err
		}
		line = strings.ToLower(strings.TrimSpace(line))
		for _, answer := range answers {
			if line == answer {
				return answer, nil
			}
		}
	}
}

// applyAnswer applies what was typed about a duel.
func (a *app) applyAnswer(t *tournament, d duel.Duel, answer string) error {
	switch answer {
	case "s":
		return t.Skip(t.judgedBy, d.ID)
	case "u":
		return a.undo(t)
	}
	_, err := t.Report(duel.Result{Duel: d.ID, AWon: answer == "1", Tie: answer == "=", Judge: t.judgedBy})
	return err
}

// undo takes back the last judgment, if one is left.
func (a *app) undo(t *tournament) error {
	results, err := t.Undo()
	if err != nil && !errors.Is(err, duel.ErrNothingToUndo) {
		return err
	}
	t.Recall() // the duel to ask for is that on the screen, or the one whose judgment was undone
	if err != nil {
		fmt.Fprintln(a.Err, err)
	} else {
		fmt.Fprintf(a.Err, "undone: the judgment of duel %d\n", results[0].Duel)
	}
	return nil
}

// askUndo asks whether the last judgment, after which the tournament ended, was a slip.
func (a *app) askUndo(ctx context.Context, t *tournament, lines *inputLines) (bool, error) {
	s := t.State()
	answer, err := a.ask(ctx, lines, fmt.Sprintf("\n%s is the winner [u undo the last judgment, Enter to end] ", inSentence(t.names[s.Leader])), "", "q", "u")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil || answer != "u" {
		return false, err
	}
	return true, a.undo(t)
}

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// duelLine and judgmentLine are the lines of --jsonl.
type duelLine struct {
	Duel uint64 `json:"duel"`
	A    string `json:"a"`
	B    string `json:"b"`
}

type judgmentLine struct {
	Duel   uint64  `json:"duel"`
	Winner *string `json:"winner"`
	AWon   *bool   `json:"a_won"`
	Tie    bool    `json:"tie"`
	Skip   bool    `json:"skip"`
	Undo   bool    `json:"undo"`
	Judge  string  `json:"judge"`
}

// undoneLine answers an undo. Duels that were written since the judgment are void.
type undoneLine struct {
	Undone []uint64 `json:"undone"`
}

// judgeByLines issues duels and reads judgments as they arrive.
func (a *app) judgeByLines(ctx context.Context, t *tournament, lines *inputLines, batch int) error {
	out := json.NewEncoder(a.Out)
	told := toldVerdicts{}
	var notice standoffNotice
	for {
		duels, err := t.nextDuels(batch)
		if errors.Is(err, duel.ErrEnded) {
			return out.Encode(t.outcome())
		}
		if err != nil {
			return err
		}
		notice.tell(a, t, "end the input")
		for _, d := range duels {
			if err := out.Encode(duelLine{d.ID, t.names[d.A], t.names[d.B]}); err != nil {
				return err
			}
		}
		for wait := max(1, len(duels)); wait > 0; wait-- {
			text, err := lines.nextLine(ctx)
			if errors.Is(err, io.EOF) {
				return errors.Join(t.save(), out.Encode(t.outcome()))
			}
			if ctx.Err() != nil {
				return errors.Join(a.interrupted(t, ctx.Err()), out.Encode(t.outcome()))
			}
			var undone []duel.Result
			if err == nil {
				if undone, err = t.judge(text, lines.taken, told, a.Err); err != nil {
					err = lines.at(lines.taken, err)
				}
			}
			if err != nil {
				return errors.Join(err, t.save())
			}
			if undone == nil {
				continue
			}
			if err := t.tellUndone(out, undone); err != nil {
				return err
			}
			break // what was issued since is void
		}
	}
}

// tellUndone makes an undo durable and then answers it.
func (t *tournament) tellUndone(out *json.Encoder, undone []duel.Result) error {
	if err := t.save(); err != nil {
		return err
	}
	line := undoneLine{}
	for _, r := range undone {
		line.Undone = append(line.Undone, r.Duel)
	}
	return out.Encode(line)
}

// judge applies the line of this number. A repeated judgment of a settled duel changes nothing; if it is not
// the one that told knows, that is said on w. undone are the results that an undo took back.
func (t *tournament) judge(text string, number int, told toldVerdicts, w io.Writer) (undone []duel.Result, err error) {
	j, err := parseJudgment(text)
	if err != nil {
		return nil, err
	}
	if j.Judge == "" {
		j.Judge = t.judgedBy
	}
	switch {
	case j.Undo:
		if undone, err = t.Undo(); err == nil {
			told.forget(undone)
		}
		return undone, err
	case j.Skip:
		err = t.Skip(j.Judge, j.Duel)
	default:
		told.compare(&j, number, w)
		if err = t.report(&j); err == nil {
			told.keep(&j, number)
		}
	}
	if errors.Is(err, duel.ErrWithdrawn) {
		err = nil // issued ahead, and withdrawn since
	}
	return nil, err
}

// tie as the winner says that neither arm is better; in a duel of an arm of this name it is
// that arm.
const tie = "tie"

// report reports the judgment of a line.
func (t *tournament) report(j *judgmentLine) error {
	r := duel.Result{Duel: j.Duel, Judge: j.Judge, Tie: j.Tie}
	d, open := t.Duel(j.Duel)
	switch {
	case j.Tie:
	case j.AWon != nil:
		r.AWon = *j.AWon
	case !open: // settled, withdrawn or unknown, whichever arm won
	case *j.Winner == t.names[d.A] || *j.Winner == t.names[d.B]:
		r.AWon = *j.Winner == t.names[d.A]
	case *j.Winner == tie:
		r.Tie = true
	default:
		return fmt.Errorf("duel %d is of %q and %q; %q does not take part", j.Duel, t.names[d.A], t.names[d.B], *j.Winner)
	}
	_, err := t.Report(r)
	return err
}

// parseJudgment parses a line with exactly one JSON object.
func parseJudgment(text string) (j judgmentLine, err error) {
	const form = `a judgment is {"duel":7,"winner":"x"}, {"duel":7,"winner":"tie"}, {"duel":7,"a_won":true}, {"duel":7,"skip":true} or {"undo":true}, one a line`
	if strings.TrimSpace(text) == "" {
		return j, errors.New("is empty; " + form)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		return j, fmt.Errorf("%w; %s", cli.InWords(err, "a judgment"), form)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return j, fmt.Errorf("extra data after the judgment of duel %d; %s", j.Duel, form)
	}
	given := 0
	for _, is := range []bool{j.Winner != nil, j.AWon != nil, j.Tie, j.Skip, j.Undo} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return j, fmt.Errorf("duel %d: give one of winner and a_won, or of tie, skip and undo", j.Duel)
	case j.Undo && j.Duel != 0:
		return j, fmt.Errorf("duel %d: an undo takes back the last judgment, and names no duel", j.Duel)
	}
	return j, nil
}

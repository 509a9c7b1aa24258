package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/duel"
)

// inputLines reads the lines of a stream in a goroutine, so that waiting for a line can end
// with a context.
type inputLines struct {
	lines chan string
	err   error // after lines is closed
	done  chan struct{}
}

func readLines(r io.Reader) *inputLines {
	// One slot for each duel that can be out: a judge that answers while duels are still
	// being written must not block, which could deadlock with this process.
	in := &inputLines{lines: make(chan string, duel.MaxArms), done: make(chan struct{})}
	go func() { // ends with the stream or with stop; a blocked read ends with the process
		defer close(in.lines)
		s := bufio.NewScanner(r)
		for s.Scan() {
			select {
			case in.lines <- s.Text():
			case <-in.done:
				return
			}
		}
		in.err = s.Err()
	}()
	return in
}

func (in *inputLines) stop() { close(in.done) }

// nextLine returns the next line; io.EOF at the end.
func (in *inputLines) nextLine(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-in.lines:
		if !ok && in.err != nil {
			return "", fmt.Errorf("standard input: %w", in.err)
		}
		if !ok {
			return "", io.EOF
		}
		return line, nil
	}
}

// judgeByHand asks at the terminal, one duel after the other.
func (a *app) judgeByHand(ctx context.Context, t *tournament, lines *inputLines) error {
	for {
		duels, err := t.nextDuels(1)
		if errors.Is(err, duel.ErrEnded) || err == nil && len(duels) == 0 {
			return a.describeTournament(t)
		}
		if err != nil {
			return err
		}
		d, s := duels[0], t.State()
		fmt.Fprintf(a.err, "\n%d of %d arms in, %d duels decided\n", len(s.Active), len(t.names), s.Duels)
		if s.Guarantee != nil {
			fmt.Fprintf(a.err, "%s leads, %s\n", t.names[s.Leader], sure(s.Guarantee))
		}
		fmt.Fprintf(a.err, "  1  %s\n  2  %s\n", t.names[d.A], t.names[d.B])
		first, err := a.askWhich(ctx, lines)
		if errors.Is(err, io.EOF) {
			return a.describeTournament(t)
		}
		if err != nil {
			return err
		}
		if _, err := t.Report(duel.Result{Duel: d.ID, AWon: first}); err != nil {
			return err
		}
	}
}

// askWhich returns true for the first arm; io.EOF to stop.
func (a *app) askWhich(ctx context.Context, lines *inputLines) (bool, error) {
	for {
		fmt.Fprint(a.err, "which is better? [1, 2, q to stop] ")
		line, err := lines.nextLine(ctx)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "1":
			return true, nil
		case "2":
			return false, nil
		case "q":
			return false, io.EOF
		}
	}
}

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
}

// outcomeLine is the last line.
type outcomeLine struct {
	Done   bool       `json:"done"`
	Winner string     `json:"winner,omitempty"`
	Leader string     `json:"leader"`
	State  duel.State `json:"state"`
}

// judgeByLines issues duels and reads judgments as they arrive.
func (a *app) judgeByLines(ctx context.Context, t *tournament, lines *inputLines, batch int) error {
	out := json.NewEncoder(a.out)
	line := 0
	for {
		duels, err := t.nextDuels(batch)
		if errors.Is(err, duel.ErrEnded) {
			return t.outcome(out)
		}
		if err != nil {
			return err
		}
		for _, d := range duels {
			if err := out.Encode(duelLine{d.ID, t.names[d.A], t.names[d.B]}); err != nil {
				return err
			}
		}
		for wait := max(1, len(duels)); wait > 0; wait-- {
			text, err := lines.nextLine(ctx)
			if errors.Is(err, io.EOF) {
				return errors.Join(t.save(), t.outcome(out))
			}
			if err == nil {
				line++
				err = t.judge(text)
			}
			if err != nil && !errors.Is(err, ctx.Err()) {
				err = fmt.Errorf("standard input, line %d: %w", line, err)
			}
			if err != nil {
				return errors.Join(err, t.save())
			}
		}
	}
}

// judge applies one judgment. A repeated judgment of a settled duel changes nothing.
func (t *tournament) judge(text string) error {
	j, err := parseJudgment(text)
	if err != nil {
		return err
	}
	r := duel.Result{Duel: j.Duel}
	d, open := t.Duel(j.Duel)
	switch {
	case j.AWon != nil:
		r.AWon = *j.AWon
	case !open: // settled, withdrawn or unknown, whichever arm won
	case *j.Winner != t.names[d.A] && *j.Winner != t.names[d.B]:
		return fmt.Errorf("duel %d is of %q and %q; %q does not take part", j.Duel, t.names[d.A], t.names[d.B], *j.Winner)
	default:
		r.AWon = *j.Winner == t.names[d.A]
	}
	_, err = t.Report(r)
	if errors.Is(err, duel.ErrWithdrawn) {
		err = nil // issued ahead, and withdrawn since
	}
	return err
}

// parseJudgment parses a line with exactly one JSON object.
func parseJudgment(text string) (j judgmentLine, err error) {
	const form = `a judgment is {"duel":7,"winner":"x"} or {"duel":7,"a_won":true}, one a line`
	if strings.TrimSpace(text) == "" {
		return j, errors.New("is empty; " + form)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		return j, fmt.Errorf("%w; %s", inWords(err, "a judgment"), form)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return j, fmt.Errorf("extra data after the judgment of duel %d; %s", j.Duel, form)
	}
	if (j.Winner == nil) == (j.AWon == nil) {
		return j, fmt.Errorf("duel %d: give one of winner and a_won", j.Duel)
	}
	return j, nil
}

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// maxOutput bounds what is kept of a judge's output.
const maxOutput = 64 << 10

// judgeCommand is a program that judges: one call for two texts, which it gets as a line of
// JSON on its standard input. Texts are never part of the command line.
type judgeCommand struct {
	line       string // run by sh -c
	question   string
	bothOrders bool
	timeout    time.Duration
	retries    int
	wait       time.Duration // before the first retry; twice as long before each further one
}

// inquiry is what a program is asked. It has no names of arms.
type inquiry struct {
	Duel     uint64 `json:"duel"`
	Question string `json:"question,omitempty"`
	First    string `json:"first"`
	Second   string `json:"second"`
}

// verdict says which of two texts is better.
type verdict int

const (
	neither verdict = iota
	firstBetter
	secondBetter
)

// judge returns the verdict on two texts. With bothOrders it asks twice, and two verdicts
// for different texts are a tie, as are a tie and a win.
func (j *judgeCommand) judge(ctx context.Context, id uint64, first, second string) (verdict, error) {
	v, err := j.ask(ctx, inquiry{id, j.question, first, second})
	if err != nil || !j.bothOrders {
		return v, err
	}
	w, err := j.ask(ctx, inquiry{id, j.question, second, first})
	if v+w == firstBetter+secondBetter && v != neither && w != neither { // the same text
		return v, err
	}
	return neither, err
}

// ask calls the program until it answers, at most 1 + retries times.
func (j *judgeCommand) ask(ctx context.Context, c inquiry) (verdict, error) {
	input, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	wait := j.wait
	for attempt := 0; ; attempt++ {
		v, err := j.call(ctx, append(input, '\n'))
		if err == nil {
			return v, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if attempt == j.retries {
			return 0, fmt.Errorf("%w (call %d of %d)", err, attempt+1, j.retries+1)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
		wait *= 2
	}
}

// call runs the program once.
func (j *judgeCommand) call(ctx context.Context, input []byte) (verdict, error) {
	limited, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, "sh", "-c", j.line)
	var out, errs beginning
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	cmd.WaitDelay = time.Second // for a grandchild that keeps the output open
	killTogether(cmd)
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		_ = cmd.Cancel() // its processes; they may have ended meanwhile
		return 0, fmt.Errorf("it ended, but a process that it started in the background keeps its output open; redirect the output of that process, as in 'server >server.log 2>&1 &'%s", said(&out, &errs))
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return 0, fmt.Errorf("took longer than %v%s", j.timeout, said(&out, &errs))
	case err != nil:
		return 0, fmt.Errorf("%w%s", err, said(&out, &errs))
	case out.cut:
		return 0, fmt.Errorf("more than %d bytes of output%s", maxOutput, said(&out, &errs))
	}
	v, err := parseVerdict(out.text.String())
	if err != nil {
		return 0, fmt.Errorf("%w%s", err, said(&out, &errs))
	}
	return v, nil
}

// said quotes the beginning of a program's output.
func said(out, errs *beginning) string {
	const most = 200
	text := ""
	for _, x := range []struct {
		name string
		of   *beginning
	}{{"output", out}, {"error output", errs}} {
		if s := strings.TrimSpace(x.of.text.String()); s != "" {
			text += fmt.Sprintf("; its %s begins %q", x.name, s[:min(len(s), most)])
		}
	}
	if text == "" {
		return "; it wrote nothing"
	}
	return text
}

// beginning keeps the first maxOutput bytes that are written to it.
type beginning struct {
	text bytes.Buffer
	cut  bool
}

func (b *beginning) Write(p []byte) (int, error) {
	room := maxOutput - b.text.Len()
	b.cut = b.cut || len(p) > room
	b.text.Write(p[:min(len(p), room)])
	return len(p), nil
}

// parseVerdict parses the output of a program: 1, 2 or tie, alone or as the winner of a JSON
// object, whose other members do not matter.
func parseVerdict(text string) (verdict, error) {
	errForm := errors.New(`its output is none of 1, 2, tie, {"winner":1}, {"winner":2}, {"winner":"tie"}`)
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		var object struct {
			Winner json.RawMessage `json:"winner"`
		}
		if json.Unmarshal([]byte(text), &object) != nil {
			return 0, errForm
		}
		text = strings.Trim(string(object.Winner), `"`)
	}
	switch strings.ToLower(text) {
	case "1":
		return firstBetter, nil
	case "2":
		return secondBetter, nil
	case "tie":
		return neither, nil
	}
	return 0, errForm
}

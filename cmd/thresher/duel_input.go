package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

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

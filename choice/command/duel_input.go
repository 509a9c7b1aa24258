package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"thresher/choice/duel"
)

// inputLines reads the lines of a stream in a goroutine, so that waiting for a line can end
// with a context.
type inputLines struct {
	lines chan string
	taken int   // lines that nextLine has returned
	err   error // after lines is closed
	done  chan struct{}
}

// maxLine is the greatest length of an input line in bytes.
const maxLine = 1 << 20

func readLines(r io.Reader) *inputLines {
	// One slot for each duel that can be out: a judge that answers while duels are still
	// being written must not block, which could deadlock with this process.
	in := &inputLines{lines: make(chan string, duel.MaxArms), done: make(chan struct{})}
	go func() { // ends with the stream or with stop; a blocked read ends with the process
		defer close(in.lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			select {
			case in.lines <- s.Text():
			case <-in.done:
				return
			}
		}
		if in.err = s.Err(); errors.Is(in.err, bufio.ErrTooLong) {
			in.err = fmt.Errorf("has more than %d bytes, or no end", maxLine)
		}
	}()
	return in
}

func (in *inputLines) stop() { close(in.done) }

// nextLine returns the next line; io.EOF at the end. Other errors name the line.
func (in *inputLines) nextLine(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-in.lines:
		if !ok && in.err != nil {
			return "", in.at(in.taken+1, in.err)
		}
		if !ok {
			return "", io.EOF
		}
		in.taken++
		return line, nil
	}
}

// at returns an error of a line.
func (in *inputLines) at(number int, err error) error {
	return fmt.Errorf("standard input, line %d: %w", number, err)
}

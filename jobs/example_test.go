package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"thresher/jobs"
)

// lines is a Source of a text's lines, two to a chunk.
type lines struct {
	text [][]byte
}

func (l *lines) Skip(_ context.Context, items int64) error {
	if items > int64(len(l.text)) {
		return fmt.Errorf("text has %d lines, %d are answered", len(l.text), items)
	}
	l.text = l.text[items:]
	return nil
}

func (l *lines) Next(context.Context) ([][]byte, int, error) {
	if len(l.text) == 0 {
		return nil, 0, io.EOF
	}
	n := min(2, len(l.text))
	chunk := l.text[:n]
	l.text = l.text[n:]
	return chunk, n, nil
}

// A job that stops in the middle is resumed there.
func Example() {
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := []byte("one\ntwo\nthree\nfour\nfive")

	healthy := false
	shout := func(_ context.Context, chunk [][]byte, first int64, totals []byte) ([][]byte, []byte, error) {
		if first == 4 && !healthy {
			return nil, nil, errors.New("out of breath")
		}
		letters, _ := strconv.Atoi(string(totals)) // 0 before the first chunk
		var out []byte
		for _, line := range chunk {
			out = append(append(out, bytes.ToUpper(line)...), '\n')
			letters += len(line)
		}
		return [][]byte{out}, strconv.AppendInt(nil, int64(letters), 10), nil
	}

	spec := jobs.Spec{
		Progress:    filepath.Join(dir, "loud.txt.progress"),
		Outputs:     []string{filepath.Join(dir, "loud.txt")},
		Fingerprint: "shout one to five",
		Resume:      true,
	}
	for range 2 {
		sum, err := jobs.Run(context.Background(), spec, &lines{bytes.Split(text, []byte("\n"))}, shout)
		fmt.Printf("%d lines, %d of them before, %s letters, complete: %t\n", sum.Items, sum.Resumed, sum.Totals, sum.Complete)
		healthy = err != nil
	}
	if err := jobs.Finish(spec.Progress); err != nil {
		log.Fatal(err)
	}
	loud, _ := os.ReadFile(spec.Outputs[0])
	fmt.Print(string(loud))
	// Output:
	// 4 lines, 0 of them before, 15 letters, complete: false
	// 5 lines, 4 of them before, 19 letters, complete: true
	// ONE
	// TWO
	// THREE
	// FOUR
	// FIVE
}

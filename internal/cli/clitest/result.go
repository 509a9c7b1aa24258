package clitest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// ChildVariable is the variable of the environment by which a test binary runs the command itself.
const ChildVariable = "THRESHER_TEST_CHILD"

// Program runs a command line with these streams and returns the exit code.
type Program func(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int

// Run runs the command line args, with stdin as standard input.
func (p Program) Run(ctx context.Context, stdin string, args ...string) Result {
	var out, errs bytes.Buffer
	code := p(ctx, args, strings.NewReader(stdin), &out, &errs)
	return Result{code, out.String(), errs.String()}
}

// Result is the outcome of one run of the command.
type Result struct {
	Code     int
	Out, Err string // what was written to standard output and standard error
}

// WantCode fails the test unless the run ended with code.
func (r Result) WantCode(t *testing.T, code int) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %.2000s\nstderr: %.2000s", r.Code, code, r.Out, r.Err)
	}
}

// WantError fails the test unless the run ended with cli.ExitInput, with one line on stderr that
// contains every part, and nothing on stdout.
func (r Result) WantError(t *testing.T, parts ...string) {
	t.Helper()
	r.WantCode(t, cli.ExitInput)
	if strings.Count(r.Err, "\n") != 1 || !strings.HasPrefix(r.Err, "thresher: ") {
		t.Errorf("stderr is not one line:\n%s", r.Err)
	}
	if r.Out != "" {
		t.Errorf("stdout: %.500s", r.Out)
	}
	for _, p := range parts {
		if !strings.Contains(r.Err, p) {
			t.Errorf("stderr lacks %q: %s", p, r.Err)
		}
	}
}

// Package crashtest runs a test's own binary as a child process that is killed, with SIGKILL,
// at a line that it prints. It is for tests of durability.
package crashtest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	argsVariable = "THRESHER_CRASHTEST_ARGS" // set: this process is a child
	stepVariable = "THRESHER_CRASHTEST_STEP" // set: it waits for a byte after every line
)

// Child is this process, run as a child.
type Child struct {
	Args []string // the arguments of Run
	mu   sync.Mutex
	step bool
}

// Main must be called first in TestMain of a package with children. In a child it runs
// run and exits; otherwise it returns.
func Main(run func(*Child) error) {
	args, ok := os.LookupEnv(argsVariable)
	if !ok {
		return
	}
	c := &Child{Args: strings.Split(args, "\n"), step: os.Getenv(stepVariable) != ""}
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Print prints a line, at which the child may be killed. It may block until the parent has
// decided. It is safe for concurrent use.
func (c *Child) Print(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Println(line)
	if !c.step {
		return
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		os.Exit(3) // the parent is gone
	}
}

// StepDone starts the line by which a child reports that the step of the number after it is done.
const StepDone = "did "

// Outcome is what became of a child.
type Outcome struct {
	Lines []string // all lines it printed before it died
	Done  bool     // it finished
}

// Last returns the last line printed, "" if there is none.
func (o *Outcome) Last() string {
	if len(o.Lines) == 0 {
		return ""
	}
	return o.Lines[len(o.Lines)-1]
}

// NextStep returns the number of the first step not reported as done; first if none is.
func (o *Outcome) NextStep(first int) int {
	for _, line := range slices.Backward(o.Lines) {
		if n, ok := strings.CutPrefix(line, StepDone); ok {
			if did, err := strconv.Atoi(n); err == nil {
				return did + 1
			}
		}
	}
	return first
}

// Run runs a child and kills it when it prints its last line, counted from 1, unless it
// finishes before; a last of 0 never comes. With step it dies exactly there, otherwise soon
// after. A child that fails by itself fails the test.
func Run(t testing.TB, last int, step bool, args ...string) *Outcome {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(args, "\n"))
	if step {
		cmd.Env = append(cmd.Env, stepVariable+"=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outcome := &Outcome{}
	killed := false
	for s := bufio.NewScanner(out); s.Scan(); {
		outcome.Lines = append(outcome.Lines, s.Text())
		if len(outcome.Lines) == last {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		} else if step && !killed {
			_, _ = in.Write([]byte{'.'}) // fails if the child has failed, which Wait reports
		}
	}
	err = cmd.Wait()
	outcome.Done = err == nil
	if err != nil && !killed {
		t.Fatalf("child: %v: %s", err, &stderr)
	}
	return outcome
}

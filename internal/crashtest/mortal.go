// Package crashtest runs a test's own binary as a child that is killed, with SIGKILL, at a
// line that it prints. It is for tests of what is durable.
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
	argsVariable = "THRESHER_MORTAL_ARGS" // set: this process is a child
	stepVariable = "THRESHER_MORTAL_STEP" // set: it waits for a byte after every line
)

// Child is this process as a child.
type Child struct {
	Args []string // those that Live was called with
	mu   sync.Mutex
	step bool
}

// Main begins every TestMain of a package with children: where this process is one, it
// does what a child is to do, and the process ends.
func Main(childhood func(*Child) error) {
	args, ok := os.LookupEnv(argsVariable)
	if !ok {
		return
	}
	c := &Child{Args: strings.Split(args, "\n"), step: os.Getenv(stepVariable) != ""}
	if err := childhood(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Say prints a line, at which the child may die. It may stand still there until the
// parent has decided. It is safe for concurrent use.
func (c *Child) Say(line string) {
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

// Did begins the line of a child whose deed of the number that follows is done.
const Did = "did "

// Life is how a child has lived.
type Life struct {
	Said []string // all that it printed before it was dead
	Done bool     // it did all it had to
}

// Last is the last line that was printed, "" if there is none.
func (l *Life) Last() string {
	if len(l.Said) == 0 {
		return ""
	}
	return l.Said[len(l.Said)-1]
}

// Next is the deed after the last one that is done, first if none is.
func (l *Life) Next(first int) int {
	for _, line := range slices.Backward(l.Said) {
		if n, ok := strings.CutPrefix(line, Did); ok {
			if did, err := strconv.Atoi(n); err == nil {
				return did + 1
			}
		}
	}
	return first
}

// Live runs a child and kills it when it prints its last line, counted from 1, unless
// it is done before; a last line of 0 never comes. With step it dies exactly there,
// else soon after. A child that fails by itself fails the test.
func Live(t testing.TB, last int, step bool, args ...string) *Life {
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
	life := &Life{}
	killed := false
	for s := bufio.NewScanner(out); s.Scan(); {
		life.Said = append(life.Said, s.Text())
		if len(life.Said) == last {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		} else if step && !killed {
			_, _ = in.Write([]byte{'.'}) // fails when the child has failed, which Wait tells
		}
	}
	err = cmd.Wait()
	life.Done = err == nil
	if err != nil && !killed {
		t.Fatalf("child: %v: %s", err, &stderr)
	}
	return life
}

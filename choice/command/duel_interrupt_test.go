//go:build unix

package command

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// An interrupt during a call of the judge command ends the call and all that it started, keeps what
// was judged, and exits with the code of interrupts; the same command continues.
func TestJudgeCommandInterrupted(t *testing.T) {
	dir := t.TempDir()
	pipe, state := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// The third call never ends; it and its child hold the pipe open.
	count := filepath.Join(dir, "count")
	third := "echo x >>" + count + `; if [ $(wc -l <` + count + `) -eq 3 ]; then exec 3>` + pipe + `; echo asked >&3; sleep 1000; fi; ` + shorter
	args := []string{"duel", "run", "--texts", textsFile(t, dir), "--delta", ".1", "--judge-command", third, "--state", state}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(pipe) // once the third call opens it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	r := bufio.NewReader(held)
	if line, err := r.ReadString('\n'); err != nil || line != "asked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 { // ends with the last process that holds it
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait() // its code follows
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted || !strings.Contains(errs.String(), "interrupted; what was judged is kept in "+state) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	if !strings.Contains(out.String(), "leader so far") || !strings.Contains(out.String(), "duels          2\n") {
		t.Errorf("the standing is not told:\n%s", &out)
	}
	if s := restored(t, state).State(); s.Duels != 2 || s.Done {
		t.Errorf("%+v", s)
	}
	thresher(t, args...).WantCode(t, cli.ExitOK)
	if s := restored(t, state).State(); !s.Done {
		t.Errorf("%+v", s)
	}
}

// A process that the judge command leaves behind, with its output open, is an error that says so, and is ended.
func TestJudgeCommandLeavesProcess(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // the pipe ends with the last process that holds it
		held, err := os.Open(pipe)
		if err == nil {
			_, err = io.ReadAll(held)
			held.Close()
		}
		ended <- err
	}()
	command := "exec 3>" + pipe + "; sleep 1000 & echo 1" // what is left behind holds the pipe from the start
	r := duelRun(t, "", "--texts", textsFile(t, dir), "--delta", ".1", "--judge-command", command, "--judge-retries", "0", "--state", filepath.Join(dir, "s"))
	r.WantError(t, "a process that it started in the background keeps its output open")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

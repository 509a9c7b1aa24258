package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// child starts the command as a child process, in which every query is a chunk, and calls
// stop once some chunks are durable.
func child(t *testing.T, stop func(*os.Process), args ...string) *exec.Cmd {
	t.Helper()
	return childFor(t, 3, stop, args...)
}

// childFor is child for a number of chunks.
func childFor(t *testing.T, enough int, stop func(*os.Process), args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--chunk", "1", "--log-level", "debug")...)
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	chunks := 0
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "chunk is durable") {
			chunks++
		}
		if chunks == enough {
			stop(cmd.Process)
			chunks++
		}
	}
	cmd.Wait() // callers check the exit code
	if chunks == 0 {
		t.Fatalf("no chunk became durable:\n%.2000s", said.String())
	}
	t.Logf("%.300s", said.String()[max(0, said.Len()-300):])
	return cmd
}

func TestResumeAfterKill(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 120, 40)
	queries := vectorFile(t, dir, "q.npy", 2, 2000, 40)
	for _, name := range formats() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, out := filepath.Join(dir, "whole-"+name), filepath.Join(dir, name)
			args := func(out string) []string {
				return []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k4", "--out", out, "--certificates", out + ".certificates.jsonl"}
			}
			thresher(t, args(whole)...).WantCode(t, cli.ExitOK)

			cmd := child(t, func(p *os.Process) { p.Kill() }, args(out)...)
			if cmd.ProcessState.Exited() || !clitest.Exists(out+".progress") {
				t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
			}
			if name != "r.jsonl" && clitest.Exists(out) {
				t.Error("the output exists before all is answered")
			}
			// A power failure may leave bytes after the recorded length.
			torn := out
			if name != "r.jsonl" {
				torn += ".spool"
			}
			appendTo(t, torn, []byte("torn"))

			thresher(t, args(out)...).WantError(t, "--resume", "--overwrite")
			r := thresher(t, append(args(out), "--resume")...)
			r.WantCode(t, cli.ExitOK)
			if !strings.Contains(r.Err, "2000, 4 best each;") || !strings.Contains(r.Err, "by an earlier run") {
				t.Errorf("summary does not tell of the earlier run:\n%s", r.Err)
			}
			for _, suffix := range []string{"", ".certificates.jsonl"} {
				if !bytes.Equal(clitest.ReadFile(t, out+suffix), clitest.ReadFile(t, whole+suffix)) {
					t.Errorf("%s%s differs from that of an uninterrupted run", name, suffix)
				}
			}
			if clitest.Exists(out+".spool") || clitest.Exists(whole+".progress") {
				t.Error("the spool, or the progress of a run that was not resumed, was left behind")
			}

			// The same command, given again, finds that all is done, and whether it still is.
			again := append(args(out), "--resume")
			r = thresher(t, again...)
			r.WantCode(t, cli.ExitOK)
			if !strings.Contains(r.Err, "2000, 4 best each; 2000 of them by an earlier run") || !bytes.Equal(clitest.ReadFile(t, out), clitest.ReadFile(t, whole)) {
				t.Errorf("the finished run, given again, says\n%s", r.Err)
			}
			certificates := clitest.ReadFile(t, out+".certificates.jsonl")
			if err := os.WriteFile(out+".certificates.jsonl", bytes.Replace(certificates, []byte("1"), []byte("2"), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			thresher(t, again...).WantError(t, out+".certificates.jsonl", "damaged")
			if err := os.WriteFile(out+".certificates.jsonl", certificates, 0o600); err != nil {
				t.Fatal(err)
			}
			thresher(t, append(again, "-k5")...).WantError(t, "other vectors or settings", "--overwrite")
			if err := os.Remove(out); err != nil {
				t.Fatal(err)
			}
			thresher(t, again...).WantError(t, "says that all is done", out, "--overwrite")
		})
	}
}

func appendTo(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
}

func TestSignalsStopCleanly(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			atoms := vectorFile(t, dir, "a.npy", 1, 120, 40)
			queries := vectorFile(t, dir, "q.npy", 2, 2000, 40)
			out := filepath.Join(dir, "r.npz")
			args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out}
			cmd := child(t, func(p *os.Process) { p.Signal(signal) }, args...)
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted {
				t.Fatalf("exit code %d, want %d", code, cli.ExitInterrupted)
			}
			if !clitest.Exists(out + ".progress") {
				t.Fatal("no progress is left to resume")
			}
			thresher(t, append(args, "--resume")...).WantCode(t, cli.ExitOK)
			thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out, "--sample", "100").WantCode(t, cli.ExitOK)
		})
	}
}

// TestResumeRefusesOtherSettings: a file never contains answers of two settings.
func TestResumeRefusesOtherSettings(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 40, 3)
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte(strings.Repeat("[1,2,3]\n", 6)+"[1]\n"))
	out := filepath.Join(dir, "r.npz")
	args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--chunk", "2", "-k3", "--out", out}
	thresher(t, args...).WantError(t, "6 queries are answered")
	for _, other := range [][]string{{"-k2"}, {"--method", "exact"}, {"--seed", "5"}, {"--metric", "l2"}, {"--delta", ".2"},
		{"--epsilon", "1"}, {"--min-score", "0"}, {"--vectors", vectorFile(t, dir, "b.npy", 2, 40, 3), "--metric", "ip"}} {
		thresher(t, append(append(args, "--resume"), other...)...).WantError(t, "other vectors or settings")
	}
	// The same settings meet the same fault again.
	thresher(t, append(args, "--resume")...).WantError(t, "row 6")
}

// TestResumeOfCompleteAnswers: after a crash between the last chunk and the final file,
// resuming writes that file.
func TestResumeOfCompleteAnswers(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 40, 3), vectorFile(t, dir, "q.npy", 2, 9, 3)
	out := filepath.Join(dir, "r.npz")
	args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out}

	// A folder in place of the output makes only the last step fail.
	inTheWay := func() error { return os.Mkdir(out, 0o755) }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := &app{App: &cli.App{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: &spy{at: "vectors ready", do: inTheWay}}}
	root := newRootCommand(a)
	root.SetArgs(append(args, "--log-level", "info"))
	if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "no answers are lost") {
		t.Fatalf("error %v", err)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	thresher(t, append(args, "--resume")...).WantCode(t, cli.ExitOK)
	if n := len(answersOf(t, out)); n != 9 {
		t.Errorf("%d answers, want 9", n)
	}
}

// spy calls a function when it reads a word.
type spy struct {
	at string
	do func() error
}

func (s *spy) Write(p []byte) (int, error) {
	if !strings.Contains(string(p), s.at) {
		return len(p), nil
	}
	return len(p), s.do()
}

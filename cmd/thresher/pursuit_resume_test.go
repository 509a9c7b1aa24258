package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestPursuitResumesAfterKill: a run that is killed continues to the same bytes; the same command, given again, finds that all
// is done; one with another setting is refused by the name and both values of the setting.
func TestPursuitResumesAfterKill(t *testing.T) {
	dir := t.TempDir()
	vectors := vectorFile(t, dir, "a.npy", 1, 120, 40)
	lines := &bytes.Buffer{}
	for i := range 300 {
		fmt.Fprintf(lines, `{"id":"s%d","vector":[%d%s]}`+"\n", i, i+1, strings.Repeat(",1", 39))
	}
	signals := clitest.WriteFile(t, dir, "s.jsonl", lines.Bytes())
	args := func(out string, more ...string) []string {
		return append([]string{"pursuit", "--vectors", vectors, "--signals", signals, "--terms", "3", "--method", "adaptive", "--out", filepath.Join(dir, out)}, more...)
	}
	for _, name := range []string{"t.csv", "t.npz"} {
		out, whole := filepath.Join(dir, name), "whole-"+name
		thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
		cmd := child(t, func(p *os.Process) { p.Kill() }, args(name)...)
		if cmd.ProcessState.Exited() || !clitest.Exists(out+".progress") || clitest.Exists(out) {
			t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
		}
		appendTo(t, out+".spool", []byte("torn"))
		thresher(t, args(name)...).WantError(t, "--resume", "--overwrite")
		for flags, says := range map[string]string{
			"--terms 4":                           "started with --terms 3, not 4; --overwrite",
			"--seed 7":                            "started with --seed 1, not 7;",
			"--method exact":                      "started with --method adaptive, not exact;",
			"--method banditmips --sigma 2":       "no --sigma, not 2",
			"--delta .1 --nonnegative":            "--delta 0.01, not 0.1; --nonnegative false, not true;",
			"--signals " + vectors:                "other contents of --signals;",
			"--overwrite":                         "--resume and --overwrite exclude each other",
			"--out - --terms 3":                   "--resume needs the --out file",
			"--out " + out + ".jsonl --terms 3.5": "3.5",
		} {
			thresher(t, append(args(name, strings.Fields(flags)...), "--resume")...).WantError(t, says)
		}
		thresher(t, args(name, "--resume", "--chunk", "7")...).WantCode(t, cli.ExitOK)
		if want := clitest.ReadFile(t, filepath.Join(dir, whole)); !bytes.Equal(clitest.ReadFile(t, out), want) {
			t.Errorf("%s differs from that of an uninterrupted run", name)
		}
		if clitest.Exists(out+".spool") || clitest.Exists(filepath.Join(dir, whole)+".progress") {
			t.Error("the log, or the progress of a run that was not resumed, was left behind")
		}
		r := thresher(t, args(name, "--resume", "--json")...)
		r.WantCode(t, cli.ExitOK)
		var s pursuitSummary
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil || s.Resumed != 300 || s.Signals != 300 || s.Pulls == 0 {
			t.Errorf("the finished run, given again, says %s (%v)", r.Out, err)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
		thresher(t, args(name, "--resume")...).WantError(t, "says that all is done", "--overwrite")
		thresher(t, args(name, "--overwrite")...).WantCode(t, cli.ExitOK)
	}
}

package main

import (
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestReadLimit: what a file may take has a default that no ordinary file reaches; errors name the row, the limit and
// the flag that raises or lowers it.
func TestReadLimit(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	long := `{"id":"` + strings.Repeat("a", 70_000) + `","v":[1,2]}` + "\n"
	names := clitest.WriteFile(t, dir, "names.jsonl", []byte(`{"id":"a","v":[1,2]}`+"\n"+long))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,2]\n"))
	search := func(atoms string, flags ...string) clitest.Result {
		return thresher(t, append([]string{"search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k", "1"}, flags...)...)
	}
	search(names).WantError(t, "names.jsonl", "row 1", "id of 70000 bytes, at most 65536", "--read-limit sets the limit")
	search(names, "--read-limit", "8GiB").WantCode(t, cli.ExitOK)

	line := clitest.WriteFile(t, dir, "line.jsonl", []byte("[1,2]\n[3,"+strings.Repeat(" ", 5<<20)+"4]\n"))
	search(line).WantCode(t, cli.ExitOK)
	search(line, "--read-limit", "1MiB").WantError(t, "line.jsonl", "row 1", "line 2 is longer than 4194304 bytes", "--read-limit sets the limit")

	numbers := clitest.WriteFile(t, dir, "numbers.jsonl", []byte(`{"v":[1,2],"k":1,"x":"`+strings.Repeat("a", 5<<20)+`"}`+"\n"))
	goals := []string{"search", "--vectors", line, "--queries", numbers, "--metric", "ip", "-k", "1", "--k-column", "k", "--queries-column", "v"}
	thresher(t, goals...).WantCode(t, cli.ExitOK)
	thresher(t, append(goals, "--read-limit", "64MiB")...).WantError(t, "numbers.jsonl", "line 1 is longer than 4194304 bytes", "--read-limit sets the limit")
	excluded := clitest.WriteFile(t, dir, "seen.jsonl", []byte("["+strings.Repeat("0,", 3<<20)+"0]\n"))
	search(line, "--exclude", excluded).WantCode(t, cli.ExitOK)
	search(line, "--exclude", excluded, "--read-limit", "64MiB").WantError(t, "line", "longer than 4194304 bytes", "--read-limit sets the limit")
	answers := clitest.WriteFile(t, dir, "answers.jsonl", []byte(`{"query":0,"ids":[0],"x":"`+strings.Repeat("a", 5<<20)+`"}`+"\n"))
	thresher(t, "info", "--answers", answers).WantCode(t, cli.ExitOK)
	thresher(t, "info", "--answers", answers, "--read-limit", "1MiB").WantError(t, "answers.jsonl", "longer than 4194304 bytes", "--read-limit sets the limit")
}

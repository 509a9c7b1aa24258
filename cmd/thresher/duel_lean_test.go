package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A judge command that always answers the same place is told once, while it runs; one that knows the better text
// is not.
func TestLeanTold(t *testing.T) {
	dir := t.TempDir()
	for command, want := range map[string]string{
		"echo 1": "the judge leans to the text shown first: it won ",
		"echo 2": "the judge leans to the text shown second: it won ",
		shorter:  "",
	} {
		r := duelRun(t, "", "--texts", textsFile(t, dir), "--delta", ".1", "--horizon", "40", "--overwrite", "--judge-command", command, "--state", filepath.Join(dir, "s"))
		r.wantCode(t, exitOK)
		if n := strings.Count(r.err, "the judge leans"); want == "" && n > 0 || want != "" && (n != 1 || !strings.Contains(r.err, want)) {
			t.Errorf("%s: %s", command, r.err)
		}
		if want != "" && !strings.Contains(r.err, "answers the same whatever it is shown") {
			t.Errorf("%s: %s", command, r.err)
		}
	}
}

package command

import (
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
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
		r.WantCode(t, cli.ExitOK)
		if n := strings.Count(r.Err, "the judge leans"); want == "" && n > 0 || want != "" && (n != 1 || !strings.Contains(r.Err, want)) {
			t.Errorf("%s: %s", command, r.Err)
		}
		if want != "" && !strings.Contains(r.Err, "answers the same whatever it is shown") {
			t.Errorf("%s: %s", command, r.Err)
		}
	}
}

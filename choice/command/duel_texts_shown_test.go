package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// A run that continues a tournament shows the texts that were judged: names in their place are refused, and
// texts that have changed, until the file that says so is removed.
func TestTextsShown(t *testing.T) {
	dir := t.TempDir()
	texts, state := textsFile(t, dir), filepath.Join(dir, "s")
	begin := []string{"--texts", texts, "--delta", ".1", "--horizon", "40", "--judge-command", shorter, "--state", state}
	duelRun(t, "1\nq\n", "--texts", texts, "--delta", ".1", "--horizon", "40", "--state", state).WantCode(t, cli.ExitOK)
	before := restored(t, state).State().Duels
	duelRun(t, "", "--judge-command", "echo 1", "--state", state).WantError(t, "--texts: missing")
	duelRun(t, "1\n", "--state", state).WantError(t, "not names")

	content, err := os.ReadFile(texts)
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte(nil), content...)
	copy(changed[len(changed)-len("brief\"}\n"):], "short")
	clitest.WriteFile(t, dir, "texts.jsonl", changed)
	duelRun(t, "", begin...).WantError(t, `the text of arm "arm-short" is not the one that was judged before`)
	if s := restored(t, state).State(); s.Duels != before {
		t.Errorf("%d duels after runs that were refused, %d before", s.Duels, before)
	}

	// One more text is of no arm, which is said.
	clitest.WriteFile(t, dir, "texts.jsonl", append(append([]byte(nil), content...), `{"arm":"late","text":"more"}`+"\n"...))
	r := duelRun(t, "q\n", "--texts", texts, "--state", state)
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Err, `1 texts are of no arm of this tournament, among them that of "late"`) {
		t.Error(r.Err)
	}
	clitest.WriteFile(t, dir, "texts.jsonl", content)
	duelRun(t, "", begin...).WantCode(t, cli.ExitOK)
	clitest.WriteFile(t, dir, "texts.jsonl", changed)
	duelRun(t, "q\n", append(begin, "--overwrite")...).WantCode(t, cli.ExitOK) // another tournament, of the new texts
}

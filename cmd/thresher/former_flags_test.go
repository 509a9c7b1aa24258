package main

import (
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// TestFormerFlags: a flag's former name is taken as its present one, is told once, and not beside it.
func TestFormerFlags(t *testing.T) {
	dir := t.TempDir()
	vectors := vectorFile(t, dir, "v.npy", 1, 30, 4)
	out := filepath.Join(dir, "out.jsonl")
	for former, now := range formerFlags() {
		if _, ok := formerFlags()[now]; ok {
			t.Errorf("--%s is called --%s, which is a former name itself", former, now)
		}
	}
	search := func(flags ...string) []string {
		return append([]string{"search", "--metric", "ip", "--queries", vectors, "-k2", "--out", out}, flags...)
	}
	thresher(t, search("--vectors", vectors)...).WantCode(t, cli.ExitOK)
	r := thresher(t, search("--atoms="+vectors, "--force", "--force")...)
	r.WantCode(t, cli.ExitOK)
	for _, note := range []string{
		"thresher: note: --atoms is called --vectors now; the former name is still taken\n",
		"thresher: note: --force is called --overwrite now; the former name is still taken\n",
	} {
		if strings.Count(r.Err, note) != 1 {
			t.Errorf("stderr has %q %d times:\n%s", note, strings.Count(r.Err, note), r.Err)
		}
	}
	if r := thresher(t, search("--vectors", vectors, "--overwrite")...); strings.Contains(r.Err, "note:") {
		t.Errorf("present names are noted:\n%s", r.Err)
	}
	thresher(t, search("--atoms", vectors, "--vectors", vectors, "--overwrite")...).WantError(t, "--atoms", "--vectors", "one flag")
	thresher(t, search("--vectors", vectors, "--overwrite", "--force")...).WantError(t, "--force", "--overwrite", "one flag")
}

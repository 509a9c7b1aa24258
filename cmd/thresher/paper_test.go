package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/papers/figures"
)

// TestPaperList: every figure is listed, as text and as JSON.
func TestPaperList(t *testing.T) {
	text := thresher(t, "paper", "list")
	text.WantCode(t, cli.ExitOK)
	asJSON := thresher(t, "paper", "list", "--json")
	asJSON.WantCode(t, cli.ExitOK)
	var list struct {
		Figures []struct {
			ID, Paper, Shows string
			Algorithms       []string
		}
	}
	if err := json.Unmarshal([]byte(asJSON.Out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Figures) != len(figures.All()) {
		t.Errorf("%d figures, want %d", len(list.Figures), len(figures.All()))
	}
	for i, f := range figures.All() {
		if got := list.Figures[i]; got.ID != f.ID || got.Paper != f.Paper || got.Shows != f.Shows || len(got.Algorithms) == 0 {
			t.Errorf("%+v, want %s", got, f.ID)
		}
		if !strings.Contains(text.Out, "\n"+f.ID+" ") || !strings.Contains(text.Out, f.Title) {
			t.Errorf("the list has no %s, or not its title", f.ID)
		}
	}
}

// TestPaperRun: a figure is computed, done again only if that is wanted, and what is wrong is refused before anything is made.
func TestPaperRun(t *testing.T) {
	out := t.TempDir()
	run := func(code int, want string, args ...string) string {
		t.Helper()
		r := thresher(t, append([]string{"paper", "run"}, args...)...)
		r.WantCode(t, code)
		if !strings.Contains(r.Out+r.Err, want) {
			t.Errorf("%q: %q has no %q", args, r.Out+r.Err, want)
		}
		return r.Out
	}
	run(cli.ExitInput, "did you mean banditmips-9?", "banditmip-9", "--out", out)
	run(cli.ExitInput, "no figure named", "--out", out)
	run(cli.ExitInput, "--out names the folder", "banditmips-9")
	run(cli.ExitInput, "--quick and --smoke exclude", "banditmips-9", "--out", out, "--quick", "--smoke")
	run(cli.ExitInput, "--resume and --overwrite exclude", "banditmips-9", "--out", out, "--resume", "--overwrite")
	run(cli.ExitInput, "--data: open", "banditmips-9", "--out", out, "--data", filepath.Join(out, "none"))
	if found, err := os.ReadDir(out); err != nil || len(found) > 0 {
		t.Errorf("%v, %v after refusals", found, err)
	}
	smoke := []string{"banditmips-9", "--smoke", "--out", out}
	run(cli.ExitOK, "banditmips-9: ", smoke...)
	run(cli.ExitInput, "--resume continues a stopped run, --overwrite overwrites", smoke...)
	run(cli.ExitInput, "seed: 9", append(smoke, "--resume", "--seed", "9")...)
	var summary struct {
		Size    figures.Size
		Figures []figures.Result
	}
	if err := json.Unmarshal([]byte(run(cli.ExitOK, "", append(smoke, "--resume", "--json")...)), &summary); err != nil {
		t.Fatal(err)
	}
	if f := summary.Figures; summary.Size != figures.Smoke || len(f) != 1 || f[0].ID != "banditmips-9" || f[0].Points == 0 || f[0].Resumed != f[0].Points {
		t.Errorf("%+v", summary)
	}
	run(cli.ExitOK, "banditmips-9: ", append(smoke, "--overwrite")...)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := thresherWith(t, ctx, "", "paper", "run", "banditmips-9", "--smoke", "--out", filepath.Join(out, "stopped"))
	r.WantCode(t, cli.ExitInterrupted)
	if !strings.Contains(r.Err, "--resume goes on") {
		t.Errorf("interrupted: %s", r.Err)
	}
}

// TestPaperCompletion: ids are completed, those that are given already are not.
func TestPaperCompletion(t *testing.T) {
	r := thresher(t, "__complete", "paper", "run", "banditmips-1", "banditmips-")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "banditmips-9\tBanditMIPS") || strings.Contains(r.Out, "banditmips-1\t") || strings.Contains(r.Out, "\nbeat-") {
		t.Errorf("completions: %s", r.Out)
	}
}

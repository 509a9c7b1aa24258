package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
	"thresher/internal/sniffers"
)

// chosen returns the flags by which a choice is made.
func chosen(c sniffers.Choice, column string) (args []string) {
	if c.Column != "" {
		args = append(args, column, c.Column)
	}
	if c.Header != "" {
		args = append(args, "--header", c.Header)
	}
	return args
}

// TestSniffers: info, build and search refuse what has two readings, name the flag that
// decides, and follow it.
func TestSniffers(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	for _, c := range sniffers.Cases() {
		t.Run(c.Decides+"/"+c.Name, func(t *testing.T) {
			dir := t.TempDir()
			path, out := clitest.WriteFile(t, dir, c.File, c.Data), filepath.Join(dir, "out.thresher")
			flags := map[sniffers.Word]string{sniffers.Column: "--vectors-column", sniffers.Header: "--header"}
			build := []string{"build", "--vectors", path, "--metric", "ip", "--overwrite", "--out", out}
			if c.Words != nil {
				words := append([]string{c.File}, c.Words...)
				thresher(t, build...).WantError(t, append(words, flags[c.Word])...)
				search := []string{"search", "--vectors", path, "--queries", path, "--metric", "ip", "-k", "1"}
				thresher(t, search...).WantError(t, c.File)
			}
			if c.Rows == 0 {
				return
			}
			if c.Choice.IDs != "" { // which build does not take
				r := thresher(t, "search", "--vectors", path, "--ids", c.Choice.IDs, "--queries", path, "--metric", "ip", "-k", "1", "--json", "--out", filepath.Join(dir, "out.jsonl"))
				r.WantCode(t, cli.ExitOK)
				var s summary
				if err := json.Unmarshal([]byte(r.Out), &s); err != nil || s.Atoms != c.Rows || s.Dimension != c.Dim {
					t.Errorf("%s (%v), want %d x %d", r.Out, err, c.Rows, c.Dim)
				}
				return
			}
			r := thresher(t, append(append(build, "--json"), chosen(c.Choice, "--vectors-column")...)...)
			r.WantCode(t, cli.ExitOK)
			var built struct{ Vectors, Dim int }
			if err := json.Unmarshal([]byte(r.Out), &built); err != nil || built.Vectors != c.Rows || built.Dim != c.Dim {
				t.Errorf("%s (%v), want %d x %d", r.Out, err, c.Rows, c.Dim)
			}
			r = thresher(t, append([]string{"info", path, "--json"}, chosen(c.Choice, "--column")...)...)
			r.WantCode(t, cli.ExitOK)
			var info vectorsInfo
			if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.Dim != c.Dim || info.VectorColumns == "" {
				t.Errorf("info says %s (%v), want dimension %d and the columns", r.Out, err, c.Dim)
			}
		})
	}
}

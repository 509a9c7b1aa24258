package figures

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/race"
)

var write = flag.Bool("write", false, "write docs/papers.md and the pictures in docs/papers")

// TestPage: docs/papers.md and its pictures are what the tables in docs/papers give. `go test ./papers/figures -run '^TestPage$'
// -write` writes them, and git shows what changed.
func TestPage(t *testing.T) {
	race.Skip(t, "one goroutine")
	const page, results = "../../docs/papers.md", "../../docs/papers"
	text, pictures, err := makePage(os.DirFS(results), "papers")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("No results are here yet.")) {
		t.Error("docs/papers lacks the results of a figure")
	}
	pictures["../papers.md"] = text
	for name, want := range pictures {
		path := filepath.Join(results, name)
		if *write {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the tables give (%v); go test ./papers/figures -run '^TestPage$' -write", path, err)
		}
	}
	drawn, err := filepath.Glob(filepath.Join(results, "*", "figure.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range drawn {
		name, err := filepath.Rel(results, path)
		if err != nil {
			t.Fatal(err)
		}
		if pictures[filepath.ToSlash(name)] == nil {
			t.Errorf("%s is a picture that the page does not show", path)
		}
	}
}

// TestPageOfResults: what a figure's section has, and which results are refused.
func TestPageOfResults(t *testing.T) {
	f := counted(map[string]int{}, never)
	o := RunOptions{Figures: []*Figure{f}, Out: t.TempDir(), Size: Smoke, Seed: 3, Threads: 1}
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	sectionText := func() string {
		s, err := newSection(os.DirFS(o.Out), f)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		writeOverview(&b, []*section{s})
		s.write(&b, "papers")
		return b.String()
	}
	text := sectionText()
	for _, want := range []string{"Of 1 figures and tables 0 are reproduced, 1 in kind, 0 not.", "| [banditmips-9](#banditmips-9) | a paper, figure 0 | smoke | in kind | 1 | 2 | Why. |",
		"Says. 8 rows. Why.", "`thresher paper run banditmips-9 --out out --smoke --seed 3`", "![counts](papers/banditmips-9/figure.svg)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	f.Charts = nil
	if text := sectionText(); !strings.Contains(text, "| algorithm | x | y |\n|---|---|---|\n| a | 0 | ") {
		t.Errorf("no table in\n%s", text)
	}
	table := filepath.Join(o.Out, f.ID, TableFile)
	rows := string(read(t, table))
	first, _, _ := strings.Cut(rows, "point 3")
	if err := os.WriteFile(table, []byte(first), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := sectionText(); !strings.Contains(text, "1 of 4 points were left out") {
		t.Errorf("it is not said that a point is missing:\n%s", text)
	}
	settings := filepath.Join(o.Out, f.ID, SettingsFile)
	for want, change := range map[string]func() (string, string){
		"points.csv has no rows": func() (string, string) { head, _, _ := strings.Cut(rows, "\n"); return table, head + "\n" },
		"was computed with":      func() (string, string) { return settings, strings.Replace(string(read(t, settings)), "20", "21", 1) },
		"size \"none\"":          func() (string, string) { return settings, "size: none\nseed: 1\n" },
	} {
		path, content := change()
		former := read(t, path)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := newSection(os.DirFS(o.Out), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := os.WriteFile(path, former, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// metricVerbs are the commands that compare vectors, with arguments for files of vectors.
func metricVerbs(dir, atoms, queries, answers string) map[string][]string {
	out := func(name string) string { return filepath.Join(dir, name) }
	three := []string{"--vectors", atoms, "--queries", queries, "--answers", answers}
	return map[string][]string{
		"search":  {"--vectors", atoms, "--queries", queries, "-k3"},
		"truth":   {"--vectors", atoms, "--queries", queries, "-k3", "--out", out("t.ibin"), "--overwrite"},
		"recall":  three,
		"certify": append([]string{"--out", out("c.npz"), "--overwrite"}, three...),
		"verify":  append([]string{"--guarantee", "exact"}, three...),
		"graph":   {"--vectors", atoms, "-k3", "--out", out("g.npz"), "--overwrite"},
		"pairs":   {"--vectors", atoms, "--min-score", "0.9", "--out", out("p.csv"), "--overwrite"},
	}
}

// TestMetricRequired: every command that is given vectors asks for the metric before it reads
// them, and says what each looks for; a variable and a configuration file give it, too.
func TestMetricRequired(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 40, 8), vectorFile(t, dir, "q.npy", 2, 5, 8)
	answers := filepath.Join(dir, "r.npz")
	thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "cosine", "-k3", "--method", "exact", "--out", answers).WantCode(t, cli.ExitOK)
	verbs := metricVerbs(dir, atoms, queries, answers)
	verbs["build"] = []string{"--vectors", atoms, "--out", filepath.Join(dir, "b.thresher"), "--overwrite"}
	verbs["bench"] = []string{"--vectors", atoms, "--queries", queries, "--pulls", "--ks", "2", "--count", "2"}
	file := clitest.WriteFile(t, dir, "c.yaml", []byte("metric: Cosine\n"))
	for verb, args := range verbs {
		t.Run(verb, func(t *testing.T) {
			without := append([]string{verb}, args...)
			thresher(t, without...).WantError(t, "--metric", "ip (largest inner product), cosine (largest cosine) or l2 (smallest squared Euclidean distance)")
			thresher(t, append(without, "--metric", "manhattan")...).WantError(t, `"manhattan" is none of ip (largest inner product)`, "--metric")
			thresher(t, append(without, "--metric", "")...).WantError(t, "no metric is given", "--metric")
			thresher(t, append(without, "--metric", "COSINE")...).WantCode(t, cli.ExitOK)
			thresher(t, append(without, "--config", file)...).WantCode(t, cli.ExitOK)
			t.Setenv("THRESHER_METRIC", "cosine-similarity")
			thresher(t, without...).WantCode(t, cli.ExitOK)
		})
	}
	shown := thresher(t, "config", "show", "--metric", "l2-squared")
	if shown.WantCode(t, cli.ExitOK); !strings.Contains(shown.Out, "l2 ") || !strings.Contains(shown.Out, "--metric") {
		t.Errorf("%s", shown.Out)
	}
}

// TestMetricOfCollection: a prepared collection has its metric in every command, and another one
// is refused with both named, by whatever it is given.
func TestMetricOfCollection(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 40, 8), vectorFile(t, dir, "q.npy", 2, 5, 8)
	prepared, answers := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "r.npz")
	thresher(t, "build", "--vectors", atoms, "--out", prepared, "--metric", "cos").WantCode(t, cli.ExitOK)
	if info, err := collection.Stat(prepared); err != nil || info.Metric != "cosine" {
		t.Fatalf("%+v, %v", info, err)
	}
	thresher(t, "search", "--vectors", prepared, "--queries", queries, "-k3", "--method", "exact", "--out", answers).WantCode(t, cli.ExitOK)
	for verb, args := range metricVerbs(dir, prepared, queries, answers) {
		t.Run(verb, func(t *testing.T) {
			without := append([]string{verb}, args...)
			thresher(t, without...).WantCode(t, cli.ExitOK)
			thresher(t, append(without, "--metric", "Cosine")...).WantCode(t, cli.ExitOK)
			thresher(t, append(without, "--metric", "dot")...).WantError(t, "a.thresher", "built with metric cosine", "--metric asks for ip")
			t.Setenv("THRESHER_METRIC", "euclidean")
			thresher(t, without...).WantError(t, "built with metric cosine", "THRESHER_METRIC asks for l2")
		})
	}
}

// TestLikenessInSummaries: graphs and pairs by inner products of vectors of different norms say so.
func TestLikenessInSummaries(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 40, 8) // of Gaussian numbers
	graph := []string{"graph", "--vectors", atoms, "-k3", "--out", filepath.Join(dir, "g.npz"), "--overwrite"}
	pairs := []string{"pairs", "--vectors", atoms, "--min-score", "1", "--out", filepath.Join(dir, "p.csv"), "--overwrite"}
	const says = "metric ip compares vectors of different norms"
	for _, verb := range [][]string{graph, pairs} {
		for metric, want := range map[string]bool{"ip": true, "cosine": false, "l2": false} {
			args := append(slices.Clone(verb), "--metric", metric)
			if metric == "l2" {
				for i, a := range args {
					if a == "--min-score" {
						args[i] = "--max-distance"
					}
				}
			}
			r := thresher(t, args...)
			r.WantCode(t, cli.ExitOK)
			told := thresher(t, append(args, "--json")...)
			told.WantCode(t, cli.ExitOK)
			if strings.Contains(r.Err, says) != want || strings.Contains(told.Out, says) != want || want && !strings.Contains(r.Err, "warning ") {
				t.Errorf("%s by %s:\n%s%s", verb[0], metric, r.Err, told.Out)
			}
		}
	}
}

// TestDocumentedCommandsNameTheMetric: no command of the README and of the page of uses that compares vectors is without one.
func TestDocumentedCommandsNameTheMetric(t *testing.T) {
	found := 0
	for _, page := range []string{"../../README.md", "../../docs/uses.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for verb := range metricVerbs("", "", "", "") {
				at := strings.Index(line, "thresher "+verb+" --vectors ")
				if at < 0 {
					continue
				}
				found++
				if command, _, _ := strings.Cut(line[at:], "`"); !strings.Contains(command, " --metric ") {
					t.Errorf("%s: %s", page, command)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d commands found", found)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/config"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestPublishedOptions: a search takes each option of the published methods from a flag, a variable or the
// configuration file, and its certificates name it.
func TestPublishedOptions(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 32), vectorFile(t, dir, "q.npy", 2, 3, 32)
	search := []string{"search", "--metric", "ip", "--vectors", atoms, "--queries", queries, "-k2"}
	for _, x := range []struct{ args, plan, promise string }{
		{"--method banditmips --sigma 0.5", ", sigma 0.5", "if the given sigma is true of the data"},
		{"--method banditmips --sigma bernstein --sampling with_replacement --warm 8", "banditmips, sigma bernstein, sampling with_replacement, warm 8", "probabilistic (published)"},
		{"--method banditmips --sigma data", ", sigma data", "no promise"},
		{"--method banditmips-beta --beta 0.5", "banditmips-beta, beta 0.5", "probabilistic (published)"},
		{"--method bucket-ae --bins 20", "bucket-ae, bins 20", "no promise"},
		{"--method boundedme --union published --epsilon 1", "boundedme, union published", "no promise"},
	} {
		r := thresher(t, append(search, strings.Fields(x.args)...)...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, x.plan+`"`) || !strings.Contains(r.Err, x.promise) {
			t.Errorf("%s: %s\n%s", x.args, r.Out, r.Err)
		}
	}
	t.Setenv("THRESHER_WARM", "4")
	settings := clitest.WriteFile(t, dir, "c.yaml", []byte("sigma: 2\nmethod: banditmips\n"))
	if r := thresher(t, append(search, "--config", settings)...); !strings.Contains(r.Out, `"banditmips, sigma 2, warm 4"`) {
		t.Errorf("by variable and file: %s\n%s", r.Out, r.Err)
	}
	out := filepath.Join(dir, "g.npz")
	graph := []string{"graph", "--metric", "ip", "--vectors", atoms, "-k2", "--out", out, "--certificates", filepath.Join(dir, "g.jsonl"), "--method", "banditmips", "--sigma", "3"}
	thresher(t, graph...).WantCode(t, cli.ExitOK)
	if text := string(clitest.ReadFile(t, filepath.Join(dir, "g.jsonl"))); !strings.Contains(text, "sigma 3, warm 4") {
		t.Errorf("certificates of the graph: %.400s", text)
	}
}

// TestPublishedOptionsResume: a run is not continued by other options.
func TestPublishedOptionsResume(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 32), vectorFile(t, dir, "q.npy", 2, 3, 32)
	search := []string{"search", "--metric", "ip", "--vectors", atoms, "--queries", queries, "-k2", "--out", filepath.Join(dir, "o.npz"), "--method", "banditmips", "--resume"}
	thresher(t, append(search, "--sigma", "1")...).WantCode(t, cli.ExitOK)
	thresher(t, append(search, "--sigma", "1")...).WantCode(t, cli.ExitOK)
	if r := thresher(t, append(search, "--sigma", "2")...); r.Code == cli.ExitOK {
		t.Errorf("continued by another sigma:\n%s", r.Err)
	}
}

// TestBadPublishedOptions: a wrong option is refused by the name of its flag.
func TestBadPublishedOptions(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 32), vectorFile(t, dir, "q.npy", 2, 3, 32)
	for _, x := range []struct{ args, says string }{
		{"--method banditmips --sigma 0", `sigma: 0 is not a number above 0, "range", "data" or "bernstein" (flag --sigma)`},
		{"--method banditmips --sampling both", `sampling: both is not "with_replacement" or "without_replacement" (flag --sampling)`},
		{"--method banditmips --warm 33", "--warm: 33 coordinates, there are 32"},
		{"--method banditmips --beta 1", "--beta: method banditmips has no such option, banditmips-beta has"},
		{"--method banditmips-beta --beta -1", "beta: -1 is not a number from 0 on (flag --beta)"},
		{"--method bucket-ae --bins 0", "bins: 0 is not a whole number of vectors a bin, at least 1 (flag --bins)"},
		{"--method boundedme --union mine", `union: mine is not "published" or "corrected" (flag --union)`},
		{"--method exact --sigma 1", "--sigma: method exact has no such option, banditmips, "},
	} {
		r := thresher(t, append([]string{"search", "--metric", "ip", "--vectors", atoms, "--queries", queries}, strings.Fields(x.args)...)...)
		if r.Code == cli.ExitOK || !strings.Contains(r.Err, x.says) {
			t.Errorf("%s: exit code %d: %s", x.args, r.Code, r.Err)
		}
	}
	for args, says := range map[string]string{
		"--sigma 1":                  "bench: --pulls runs banditmips, which sigma 1 is for",
		"--pulls --union published":  "bench: --union: method banditmips has no such option, boundedme has",
		"--plans --sampling as_told": "sampling: as_told is not",
	} {
		r := thresher(t, append([]string{"bench", "--metric", "ip", "--set", "gaussian:20x16"}, strings.Fields(args)...)...)
		if r.Code == cli.ExitOK || !strings.Contains(r.Err, says) {
			t.Errorf("bench %s: exit code %d: %s", args, r.Code, r.Err)
		}
	}
	r := thresher(t, "bench", "--metric", "ip", "--set", "gaussian:20x64", "--pulls", "-k1", "--count", "2", "--sigma", "0.01", "--json")
	r.WantCode(t, cli.ExitOK)
	if plain := thresher(t, "bench", "--metric", "ip", "--set", "gaussian:20x64", "--pulls", "-k1", "--count", "2", "--json"); plain.Out == r.Out || strings.Contains(r.Out, "refused") {
		t.Errorf("with a small sigma and without:\n%s%s", r.Out, plain.Out)
	}
}

// TestJobPublishedOptions: job submit sends the options that are given by any source.
func TestJobPublishedOptions(t *testing.T) {
	t.Setenv("THRESHER_SIGMA", "bernstein")
	t.Setenv("THRESHER_WARM", "3")
	c, err := config.Load(config.Sources{Choices: choices(), Names: settingChecks()})
	if err != nil {
		t.Fatal(err)
	}
	s := jobSubmit{collection: "films", outputFormat: "jsonl"}
	spec, err := s.spec(c, "q.npy", "")
	if want := `{"published":{"sigma":"bernstein","warm":3}}`; err != nil || string(spec.Search) != want {
		t.Errorf("%s, %v; want %s", spec.Search, err, want)
	}
}

// TestPublishedOptionsOfVerbs: every verb with a method takes each option of the published methods, or refuses method and
// option by flag, and by variable, saying which verbs take them. None is ignored.
func TestPublishedOptionsOfVerbs(t *testing.T) {
	dir := t.TempDir()
	vectors, queries := vectorFile(t, dir, "a.npy", 1, 60, 32), vectorFile(t, dir, "q.npy", 2, 3, 32)
	out := func(name string) string { return filepath.Join(dir, name) }
	answers := out("answers.npz")
	thresher(t, "search", "--vectors", vectors, "--queries", queries, "--metric", "ip", "-k2", "--out", answers).WantCode(t, cli.ExitOK)
	searched := []string{"--vectors", vectors, "--queries", queries, "--metric", "ip", "--overwrite"}
	verbs := []struct {
		name  string
		takes bool
		args  []string
	}{
		{"search", true, searched},
		{"recall", true, append(searched, "--answers", answers)},
		{"graph", true, []string{"--vectors", vectors, "--metric", "ip", "-k2", "--out", out("g.npz"), "--overwrite"}},
		{"pursuit", true, []string{"--vectors", vectors, "--signals", queries, "--terms", "2"}},
		{"certify", false, append(searched, "--answers", answers)},
		{"pairs", false, []string{"--vectors", vectors, "--metric", "ip", "--min-score", "10", "--out", out("p.csv"), "--overwrite"}},
		{"truth", false, append(searched, "--out", out("t.ibin"))},
	}
	options := []struct{ name, value, method string }{
		{"sigma", "2", "banditmips"}, {"beta", "0.5", "banditmips-beta"}, {"sampling", "without_replacement", "bucket-ae"},
		{"bins", "20", "bucket-ae"}, {"union", "corrected", "boundedme"}, {"warm", "4", "banditmips"},
	}
	if len(options) != len(batch.PublishedNames()) {
		t.Fatalf("options %v", batch.PublishedNames())
	}
	const others = "search, recall, graph and pursuit"
	for _, v := range verbs {
		run := func(more ...string) clitest.Result {
			return thresher(t, append(append([]string{v.name}, v.args...), more...)...)
		}
		for _, o := range options {
			if v.takes {
				run("--method", o.method, "--"+o.name, o.value).WantCode(t, cli.ExitOK)
				run("--method", "exact", "--"+o.name, o.value).WantError(t, "--"+o.name, "method exact has no such option")
				run("--method", o.method, "--"+o.name, "neither").WantError(t, o.name+": neither is not")
				continue
			}
			run("--"+o.name, o.value).WantError(t, v.name+": there is no --"+o.name+" here", others+" take")
			t.Setenv("THRESHER_"+strings.ToUpper(o.name), o.value)
			run().WantError(t, v.name+": --"+o.name+": "+v.name+" takes no "+o.name, others+" do")
			if err := os.Unsetenv("THRESHER_" + strings.ToUpper(o.name)); err != nil {
				t.Fatal(err)
			}
		}
		if !v.takes {
			run("--method", "bucket-ae").WantError(t, v.name+": --method", "bucket-ae")
		}
	}
}

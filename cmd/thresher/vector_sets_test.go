package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// sets writes vectors as one file and as a folder of three, and queries.
func sets(t *testing.T, dir string) (one, folder, queries string) {
	t.Helper()
	lines := []string{"a,1,2,0", "b,0,1,1", "c,3,0,1", "d,1,1,1", "e,0,0,4", "f,2,2,2", "g,1,0,0"}
	const header = "id,x,y,z\n"
	one = clitest.WriteFile(t, dir, "one.csv", []byte(header+strings.Join(lines, "\n")+"\n"))
	folder = filepath.Join(dir, "many")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string][]string{"p-1.csv": lines[:2], "p-2.csv": lines[2:6], "p-10.csv": lines[6:]} {
		clitest.WriteFile(t, folder, name, []byte(header+strings.Join(part, "\n")+"\n"))
	}
	clitest.WriteFile(t, folder, "_SUCCESS", nil)
	queries = clitest.WriteFile(t, dir, "q.csv", []byte("x,y,z\n1,0,0\n0,1,2\n"))
	return one, folder, queries
}

// TestVectorSets: a folder, a pattern and a list of files answer as one file that holds all rows, in every verb
// that reads vectors, and are refused by file and row.
func TestVectorSets(t *testing.T) {
	race.Skip(t, "which files are read; TestEveryMethodAnswers runs the same goroutines")
	dir := t.TempDir()
	one, folder, queries := sets(t, dir)
	pattern := filepath.Join(folder, "p-*.csv")
	list := filepath.Join(folder, "p-1.csv") + "," + filepath.Join(folder, "p-2.csv") + "," + filepath.Join(folder, "p-10.csv")
	answers, certificates := filepath.Join(dir, "answers.jsonl"), filepath.Join(dir, "answers.certificates.jsonl")
	thresher(t, "search", "--vectors", one, "--queries", queries, "--metric", "ip", "-k", "3", "--out", answers, "--certificates", certificates).WantCode(t, cli.ExitOK)
	verbs := map[string][]string{
		"search":  {"--queries", queries, "-k", "3"},
		"truth":   {"--queries", queries, "-k", "3"},
		"graph":   {"-k", "2"},
		"pairs":   {"--min-score", "3"},
		"certify": {"--queries", queries, "-k", "3", "--answers", answers},
		"queries": {"--vectors", one, "-k", "2"},
	}
	for verb, args := range verbs {
		var want []byte
		for i, vectors := range []string{one, folder, pattern, list} {
			out := filepath.Join(dir, verb+string(rune('0'+i))+".jsonl")
			call := append([]string{verb, "--vectors", vectors, "--metric", "ip", "--out", out}, args...)
			if verb == "queries" {
				call = append([]string{"search", "--queries", vectors, "--metric", "ip", "--out", out}, args...)
			}
			thresher(t, call...).WantCode(t, cli.ExitOK)
			got, err := os.ReadFile(out)
			if err != nil || len(got) == 0 {
				t.Fatalf("%s of %s: %q, %v", verb, vectors, got, err)
			}
			if want == nil {
				want = got
			} else if string(got) != string(want) {
				t.Errorf("%s of %s:\n%s\nand of one file:\n%s", verb, vectors, got, want)
			}
		}
	}
	for verb, flag := range map[string]string{"verify": "certificates", "recall": "answers"} {
		call := []string{verb, "--vectors", folder, "--queries", queries, "--metric", "ip", "--answers", answers, "--" + flag, map[string]string{"certificates": certificates, "answers": answers}[flag]}
		if verb == "recall" {
			call = append(call, "-k", "3")
		}
		thresher(t, call...).WantCode(t, cli.ExitOK)
	}
	built := filepath.Join(dir, "built.thresher")
	thresher(t, "build", "--vectors", folder, "--metric", "ip", "--out", built).WantCode(t, cli.ExitOK)
	out := filepath.Join(dir, "built.jsonl")
	thresher(t, "search", "--vectors", built, "--queries", queries, "-k", "3", "--out", out).WantCode(t, cli.ExitOK)
	if got, want := string(clitest.ReadFile(t, out)), string(clitest.ReadFile(t, answers)); got != want {
		t.Errorf("of what is built:\n%s\nand of one file:\n%s", got, want)
	}
}

func TestVectorSetInfo(t *testing.T) {
	_, folder, _ := sets(t, t.TempDir())
	r := thresher(t, "info", folder, "--json")
	r.WantCode(t, cli.ExitOK)
	var info vectorsInfo
	if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.Files != 3 || info.DType != "text" || info.Dim != 3 || info.Format != "csv" || info.IDs != "id" || info.FileBytes != 7*8+3*9 {
		t.Errorf("%s, %v", r.Out, err)
	}
}

func TestVectorSetsRefused(t *testing.T) {
	dir := t.TempDir()
	_, folder, queries := sets(t, dir)
	build := func(vectors string) clitest.Result {
		return thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(dir, "o.thresher"))
	}
	build(folder+","+filepath.Join(folder, "p-2.csv")).WantError(t, "p-2.csv", "named twice")
	build(filepath.Join(folder, "x*.csv")).WantError(t, "x*.csv", "no file matches")
	clitest.WriteFile(t, folder, "p-11.csv", []byte("id,x,y,z\nh,1,1,1\nd,1,2,3\n"))
	build(folder).WantError(t, "p-11.csv: row 1 (0-based)", `"d"`, "row 1 of", "p-2.csv")
	clitest.WriteFile(t, folder, "p-11.csv", []byte("id,x,y,z\nh,1,1,1\ni,1,,3\n"))
	build(folder).WantError(t, "p-11.csv: row 1, column 1 (0-based)", "empty")
	clitest.WriteFile(t, folder, "p-11.csv", nil)
	build(folder).WantError(t, "p-11.csv", "empty")
	thresher(t, "search", "--vectors", folder, "--queries", queries, "--metric", "ip", "-k", "1").WantError(t, "p-11.csv", "empty")
	clitest.WriteFile(t, folder, "p-11.csv", []byte("id,x,y\nh,1,1\n"))
	build(folder).WantError(t, "p-11.csv", "dimension 2", "p-1.csv of dimension 3")
}

// TestVectorSetResumes: a search goes on only with the files that it began with.
func TestVectorSetResumes(t *testing.T) {
	dir := t.TempDir()
	_, folder, queries := sets(t, dir)
	out := filepath.Join(dir, "out.jsonl")
	call := []string{"search", "--vectors", folder, "--queries", queries, "--metric", "ip", "-k", "1", "--out", out, "--resume"}
	thresher(t, call...).WantCode(t, cli.ExitOK)
	first := string(clitest.ReadFile(t, out))
	thresher(t, call...).WantCode(t, cli.ExitOK)
	if again := string(clitest.ReadFile(t, out)); again != first {
		t.Errorf("%s\nand again:\n%s", first, again)
	}
	if err := os.Rename(filepath.Join(folder, "p-1.csv"), filepath.Join(folder, "p-3.csv")); err != nil {
		t.Fatal(err)
	}
	thresher(t, call...).WantError(t, "other vectors or settings")
}

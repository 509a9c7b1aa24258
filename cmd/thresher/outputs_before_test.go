package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// before copies testdata/outputs-before, what searches wrote before answers had a version, to a new folder, with
// their inputs, and makes it the working directory.
func before(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/outputs-before")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, content := range map[string]string{
		"a.jsonl":   `{"id":"ash","vector":[2,0,1]}` + "\n" + `{"id":"birch","vector":[0,3,0]}` + "\n" + `{"id":"cedar","vector":[1,1,1]}` + "\n" + `{"id":"oak","vector":[0,0,2]}` + "\n" + `{"id":"yew","vector":[2,1,1]}` + "\n",
		"q.jsonl":   "[1,0,1]\n[0,1,0]\n[0,0,-1]\n",
		"cut.jsonl": "[1,0,1]\n[0,1,0]\n[0,0]\n",
		"a.npy":     string(npy([]float32{2, 0, 1, 0, 3, 0, 1, 1, 1, 0, 0, 2, 2, 1, 1}, 3)),
		"q.npy":     string(npy([]float32{1, 0, 1, 0, 1, 0, 0, 0, -1}, 3)),
	} {
		clitest.WriteFile(t, ".", name, []byte(content))
	}
}

// TestAnswersOfBefore: each verb that reads answers reads those that were written before they had a version, and
// finds in them what it finds in those that the same search writes now.
func TestAnswersOfBefore(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	before(t)
	for _, c := range []struct {
		file, search string
		named        bool
	}{
		{"search.jsonl", "--vectors a.jsonl --queries q.jsonl --metric ip -k 2", true},
		{"search.npz", "--vectors a.jsonl --queries q.jsonl --metric ip -k 2", true},
		{"search.parquet", "--vectors a.jsonl --queries q.jsonl --metric l2 -k 2", true},
		{"certified.npz", "--vectors a.jsonl --queries q.jsonl --metric ip -k 2", true},
		{"rows.jsonl", "--vectors a.npy --queries q.npy --metric l2 -k 3", false},
		{"rows.npz", "--vectors a.npy --queries q.npy --metric cosine -k 3", false},
		{"range.jsonl", "--vectors a.npy --queries q.npy --metric ip --min-score 2", false},
	} {
		files := strings.Fields(c.search)
		written := "now" + filepath.Ext(c.file)
		thresher(t, append([]string{"search", "--method", "exact", "--out", written, "--overwrite"}, files...)...).WantCode(t, cli.ExitOK)
		old, now := answersOf(t, c.file), answersOf(t, written)
		for j := range now {
			if (now[j].IDs != nil) != (c.named && len(now[j].Rows) > 0) || len(now[j].Scores64) != len(now[j].Rows) {
				t.Errorf("%s: now %+v", c.file, now[j])
			}
			now[j].Scores64, now[j].Pulls, old[j].Pulls = nil, 0, 0
			now[j].Certificate, old[j].Certificate, now[j].Covers = nil, nil, nil
		}
		if diff := cmp.Diff(old, now); diff != "" {
			t.Errorf("%s (-before +now):\n%s", c.file, diff)
		}
		for _, file := range []string{c.file, written} {
			given := append([]string{"--answers", file}, slices.DeleteFunc(slices.Clone(files), func(s string) bool {
				return s == "-k" || s == "2" && !slices.Contains(files, "--min-score") || s == "3"
			})...)
			ways := [][]string{nil}
			if c.named {
				ways = append(ways, []string{"--ids", "id"})
			}
			for _, way := range ways {
				args := append(slices.Clone(given), way...)
				thresher(t, append([]string{"verify"}, args...)...).WantCode(t, cli.ExitOK)
				if c.file == "range.jsonl" {
					continue // recall and certify compare the k best
				}
				if r := recallOf(t, args...); r.Recall != 1 {
					t.Errorf("%q: recall %+v", args, r.RecallReport)
				}
				if s := summaryOf(t, thresher(t, append([]string{"certify", "--out", "proven.jsonl", "--overwrite", "--json"}, args...)...)).Certified; s.Right != 3 {
					t.Errorf("%q: certify finds %+v", args, s)
				}
				candidates := append([]string{"search", "-k2", "--out", "with.jsonl", "--overwrite", "--candidates"}, args[1:]...)
				thresher(t, candidates...).WantCode(t, cli.ExitOK)
			}
			thresher(t, "info", file).WantError(t, file, "the answers of a search", "--vectors-column")
		}
	}
	thresher(t, strings.Fields("verify --vectors a.jsonl --queries q.jsonl --metric ip --answers search.npz --certificates search.certificates.jsonl")...).WantCode(t, cli.ExitOK)
}

// TestResumeOfBefore: a search that an earlier version finished is found to be done, and one that it began is refused
// with what to do.
func TestResumeOfBefore(t *testing.T) {
	before(t)
	done := strings.Fields("search --vectors a.jsonl --queries q.jsonl --metric ip -k 2 --method exact --resume --out done.jsonl")
	r := thresher(t, done...)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "3 of them by an earlier run") {
		t.Errorf("%s", r.Err)
	}
	content := clitest.ReadFile(t, "stopped.jsonl")
	begun := strings.Fields("search --vectors a.jsonl --queries cut.jsonl --metric ip -k 2 --method exact --chunk 1 --resume --out stopped.jsonl")
	thresher(t, begun...).WantError(t, "stopped.jsonl.progress", "an earlier version of thresher began this", "--overwrite starts over")
	if string(content) != string(clitest.ReadFile(t, "stopped.jsonl")) {
		t.Error("the answers of before were changed")
	}
	thresher(t, append(begun, "-k", "1")...).WantError(t, "other vectors or settings")
}

// TestScoresOfAnswersAreLimits: the last score of an answer, as the output has it in float64 or float32, given back as
// --min-score or in a column of least scores, finds the same answer, by every metric.
func TestScoresOfAnswersAreLimits(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 400, 9), gaussian(2, 12*9)
	plain := clitest.WriteFile(t, dir, "q.npy", npy(queries, 9))
	for _, metric := range []string{"ip", "cosine", "l2"} {
		for _, method := range []string{"exact", "certain"} {
			out := filepath.Join(dir, metric+method+".parquet")
			args := []string{"--vectors", atoms, "--metric", metric, "--method", method, "--overwrite"}
			thresher(t, append([]string{"search", "--queries", plain, "-k7", "--out", out}, args...)...).WantCode(t, cli.ExitOK)
			right := answersOf(t, out)
			for _, exact := range []bool{true, false} {
				limit := func(r *dataset.Result) string {
					if exact {
						return strconv.FormatFloat(r.Scores64[6], 'g', -1, 64)
					}
					return strconv.FormatFloat(float64(r.Scores[6]), 'g', -1, 32)
				}
				var lines strings.Builder
				for j := range right {
					fmt.Fprintf(&lines, "{\"vector\":%s,\"least\":%s}\n", strings.Join(strings.Fields(fmt.Sprint(queries[9*j:9*j+9])), ","), limit(&right[j]))
				}
				limited := clitest.WriteFile(t, dir, "limited.jsonl", []byte(lines.String()))
				again := filepath.Join(dir, "again.npz")
				thresher(t, append([]string{"search", "--queries", limited, "-k7", "--" + nearFlag(t, metric) + "-column", "least", "--out", again}, args...)...).WantCode(t, cli.ExitOK)
				got := answersOf(t, again)
				for j := range right {
					if !slices.Equal(got[j].Rows, right[j].Rows) || !slices.Equal(got[j].Scores64, right[j].Scores64) {
						t.Errorf("%s, %s, in float64 %v: query %d: %v, before %v", metric, method, exact, j, got[j], right[j])
					}
				}
				first := clitest.WriteFile(t, dir, "first.npy", npy(queries[:9], 9))
				thresher(t, append([]string{"search", "--queries", first, "--" + nearFlag(t, metric) + "=" + limit(&right[0]), "--out", filepath.Join(dir, "range.jsonl")}, args...)...).WantCode(t, cli.ExitOK)
				if got := answersOf(t, filepath.Join(dir, "range.jsonl"))[0].Rows; !slices.Equal(got, right[0].Rows) {
					t.Errorf("%s, %s, in float64 %v: %v, before %v", metric, method, exact, got, right[0].Rows)
				}
			}
		}
	}
}

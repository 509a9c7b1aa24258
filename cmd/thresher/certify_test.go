package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestCertify: wrong answers are replaced by those of a search and counted; right ones stay.
func TestCertify(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	worse := worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4) // 50 of 200 lack their best atom
	out := filepath.Join(dir, "proven.jsonl")
	r := thresher(t, "certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", worse, "--out", out, "--json")
	r.WantCode(t, cli.ExitOK)
	var s summary
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
		t.Fatal(err)
	}
	c := s.Certified
	if c.Compared != 200 || c.Right != 150 || c.Missed != 50 || s.K != 3 || s.Method != "certain" && s.Method != "exact" || s.Candidates.Given != 600 || s.Candidates.Right != 550 {
		t.Errorf("%+v", s)
	}
	want, got := answersOf(t, answers), answersOf(t, out)
	for j := range want {
		if diff := cmp.Diff(want[j].Rows, got[j].Rows); diff != "" {
			t.Errorf("query %d (-search +certify):\n%s", j, diff)
		}
		if !strings.Contains(string(got[j].Certificate), `"candidates":{"given":3,`) || !got[j].Exact {
			t.Errorf("query %d: certificate %s", j, got[j].Certificate)
		}
	}
	text := thresher(t, "certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", worse, "--out", out, "--overwrite", "-k2")
	text.WantCode(t, cli.ExitOK)
	for _, want := range []string{"recall 0.8750; 150 of 200 answers were right", "50 answers, which lacked 50 vectors"} {
		if !strings.Contains(text.Err, want) {
			t.Errorf("summary lacks %q:\n%s", want, text.Err)
		}
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out).WantCode(t, cli.ExitOK)
}

// TestCertifyUnwanted: an answer that lacks nothing is wrong if it holds atoms that the query
// excludes, or whose scores are out of its bounds. What it states as their scores is not compared.
func TestCertifyUnwanted(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	line := `{"v":[1],"least":4,"most":3,"negative":-1}` + "\n"
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte(line+line))
	answers := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[4,3],"scores":[4,3]}`+"\n"+`{"query":1,"ids":[4,3],"scores":[4,9]}`+"\n"))
	exclude := clitest.WriteFile(t, dir, "x.jsonl", []byte("[0,1,2,3,4]\n[0,1,2]\n"))
	out := filepath.Join(dir, "proven.jsonl")
	for _, c := range []struct {
		args                     []string
		right, missing, unwanted int64
		scores                   string
	}{
		{nil, 2, 0, 0, "1 of 4"},
		{[]string{"--exclude", exclude}, 1, 0, 2, "1 of 2"},
		{[]string{"--min-score-column", "least"}, 0, 0, 2, "0 of 2"},
		{[]string{"--max-score-column", "most"}, 0, 2, 2, "1 of 2"},
		{[]string{"--max-score-column", "negative"}, 0, 0, 4, ""},
	} {
		args := append([]string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "-k2", "--out", out, "--overwrite"}, c.args...)
		s := summaryOf(t, thresher(t, append(args, "--json")...)).Certified
		if s.Right != c.right || s.Missed != c.missing || s.Unwanted != c.unwanted {
			t.Errorf("%q: %+v", c.args, s)
		}
		text := thresher(t, args...).Err
		if says := "; " + c.scores + " are not the vectors'"; strings.Contains(text, "not the vectors'") != (c.scores != "") || c.scores != "" && !strings.Contains(text, says) {
			t.Errorf("%q: the summary lacks %q:\n%s", c.args, says, text)
		}
		held := strings.Contains(text, "may not be returned")
		if held != (c.unwanted > 0) {
			t.Errorf("%q: the summary says %t", c.args, held)
		}
	}
}

// TestSearchWithCandidates: candidates do not change answers, whatever they are.
func TestSearchWithCandidates(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	out := filepath.Join(dir, "with.jsonl")
	odd := rewrite(t, answers, filepath.Join(dir, "odd.jsonl"), func(j int, r *dataset.Result) {
		r.Scores64 = nil
		switch j % 3 {
		case 0:
			r.Rows, r.Scores = nil, []float32{}
		case 1:
			r.Rows, r.Scores = []int64{7, 7, 7, 7, 7}, []float32{1, 1, 1, 1, 1}
		}
	})
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--method", "exact", "--candidates", odd, "--out", out)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "given") {
		t.Errorf("summary without candidates:\n%s", r.Err)
	}
	want, got := answersOf(t, answers), answersOf(t, out)
	for j := range want {
		if diff := cmp.Diff(want[j].Rows, got[j].Rows); diff != "" {
			t.Errorf("query %d (-without +with candidates):\n%s", j, diff)
		}
	}
}

// TestCertifyResumes: a run that was killed goes on with the answers of the queries left, and
// with its counts.
func TestCertifyResumes(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	worse := worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4)
	worse = rewrite(t, worse, filepath.Join(dir, "wrong.jsonl"), func(j int, r *dataset.Result) {
		if j == 0 || j == 199 { // before the run is killed, and after
			r.Scores[1] += 3
		}
	})
	args := func(out string) []string {
		return []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", worse, "--out", out}
	}
	whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "out.jsonl")
	undisturbed := thresher(t, append(args(whole), "--chunk", "1", "--json")...)
	undisturbed.WantCode(t, cli.ExitOK)
	child(t, func(p *os.Process) { p.Kill() }, args(out)...)
	thresher(t, append(args(out), "--resume", "--answers", answers)...).WantError(t, "other vectors or settings")
	resumed := thresher(t, append(args(out), "--resume", "--chunk", "1", "--json")...)
	resumed.WantCode(t, cli.ExitOK)
	if diff := cmp.Diff(string(clitest.ReadFile(t, whole)), string(clitest.ReadFile(t, out))); diff != "" {
		t.Errorf("answers (-undisturbed +resumed):\n%.2000s", diff)
	}
	var a, b summary
	for _, x := range []struct {
		text string
		s    *summary
	}{{undisturbed.Out, &a}, {resumed.Out, &b}} {
		if err := json.Unmarshal([]byte(x.text), x.s); err != nil {
			t.Fatal(err)
		}
	}
	if a.Certified.Scores == nil || a.Certified.Scores.Stated != 600 || a.Certified.Scores.Wrong != 2 {
		t.Errorf("stated scores: %+v", a.Certified.Scores)
	}
	if diff := cmp.Diff(a.Certified, b.Certified); diff != "" || a.Candidates != b.Candidates || b.Resumed == 0 {
		t.Errorf("%d resumed; candidates %+v and %+v; (-undisturbed +resumed):\n%s", b.Resumed, a.Candidates, b.Candidates, diff)
	}
}

// TestCertifyChecksScores: certify finds of the stated scores what recall finds, with goals and
// without, and says it in the same words.
func TestCertifyChecksScores(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	wrong := rewrite(t, answers, filepath.Join(dir, "wrong.jsonl"), func(j int, r *dataset.Result) {
		if j == 3 || j == 150 {
			r.Scores[j%3] *= 1.01
		}
	})
	var ids []int64
	var excluded strings.Builder
	for _, a := range answersOf(t, answers) {
		ids = append(ids, a.Rows...)
		switch a.Query {
		case 3:
			fmt.Fprintf(&excluded, "[%d]\n", a.Rows[0]) // whose score is wrong
		case 9:
			fmt.Fprintf(&excluded, "[%d,%d,%d]\n", a.Rows[0], a.Rows[1], a.Rows[2])
		default:
			excluded.WriteString("[]\n")
		}
	}
	bare := clitest.WriteFile(t, dir, "bare.npy", bytes.Replace(npyInts(ids...), []byte(" (600,)"), []byte("(200,3)"), 1))
	exclude := clitest.WriteFile(t, dir, "exclude.jsonl", []byte(excluded.String()))
	for _, c := range []struct {
		name          string
		answers       string
		args          []string
		stated, wrong int64
	}{
		{"right", answers, nil, 600, 0},
		{"wrong", wrong, nil, 600, 2},
		{"the first two", wrong, []string{"-k2"}, 400, 2},
		{"excluded", wrong, []string{"--exclude", exclude}, 596, 1},
		{"none stated", bare, nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := append([]string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", c.answers}, c.args...)
			certified := append([]string{"certify", "--out", filepath.Join(dir, "proven.npz"), "--overwrite"}, files...)
			got := summaryOf(t, thresher(t, append(certified, "--json")...)).Certified.Scores
			recalled := thresher(t, append([]string{"recall", "--json"}, files...)...)
			recalled.WantCode(t, cli.ExitOK)
			var want recallSummary
			if err := json.Unmarshal([]byte(recalled.Out), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Scores, got); diff != "" {
				t.Errorf("scores (-recall +certify):\n%s", diff)
			}
			text := thresher(t, certified...)
			text.WantCode(t, cli.ExitOK)
			if c.stated == 0 {
				if got != nil || strings.Contains(text.Err, "scores ") {
					t.Errorf("nothing is stated, found %+v and\n%s", got, text.Err)
				}
				return
			}
			if got == nil || got.Stated != c.stated || got.Wrong != c.wrong || len(got.Sample) != int(c.wrong) {
				t.Errorf("found %+v, want %d wrong of %d", got, c.wrong, c.stated)
			}
			for _, line := range strings.Split(thresher(t, append([]string{"recall"}, files...)...).Out, "\n") {
				if _, said, ok := strings.Cut(line, "inner products"); ok && !strings.Contains(text.Err, said) {
					t.Errorf("summary lacks %q:\n%s", said, text.Err)
				}
			}
		})
	}
}

// TestCertifyRefusesScoresOfAnotherMetric does not search all queries first, and leaves nothing.
func TestCertifyRefusesScoresOfAnotherMetric(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	out := filepath.Join(dir, "proven.jsonl")
	says := []string{"r.jsonl", "scores are inner products, of metric ip; the metric is l2", "--metric"}
	args := []string{"--vectors", atoms, "--queries", queries, "--answers", answers, "--metric", "l2"}
	thresher(t, append([]string{"recall"}, args...)...).WantError(t, says...)
	thresher(t, append([]string{"certify", "--out", out, "--chunk", "1"}, args...)...).WantError(t, append(says, "3 of 3")...)
	if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	r := thresher(t, append([]string{"certify"}, args...)...)
	r.WantError(t, says...)
	if r.Out != "" {
		t.Errorf("wrote %.100q", r.Out)
	}
}

// TestHelpOfCertify names its own default of k, and no flag that it lacks.
func TestHelpOfCertify(t *testing.T) {
	for verb, limited := range map[string]bool{"certify": false, "recall": false, "search": true, "truth": true, "verify": true} {
		r := thresher(t, verb, "--help")
		r.WantCode(t, cli.ExitOK)
		if named := strings.Contains(r.Out, "null is --max-score") && strings.Contains(r.Out, "null is --min-score"); named != limited || strings.Contains(r.Out, "--max-score ") != limited {
			t.Errorf("help of %s: names limits of all queries: %t", verb, named)
		}
		for _, line := range strings.Split(r.Out, "\n") {
			if verb == "certify" && strings.Contains(line, "-k, --k") && (!strings.Contains(line, "as the longest answer has") || strings.Contains(line, "default")) {
				t.Error(line)
			}
		}
	}
}

func TestCertifyRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	outside := rewrite(t, answers, filepath.Join(dir, "outside.jsonl"), func(j int, r *dataset.Result) {
		if j == 17 {
			r.Rows[2] = 60
		}
	})
	fewer := vectorFile(t, dir, "fewer.npy", 2, 199, 12)
	limits := clitest.WriteFile(t, dir, "limits.jsonl", []byte(`{"v":[1,2,3,4,5,6,7,8,9,10,11,12],"most":3}`+"\n"))
	out := filepath.Join(dir, "out.npz")
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"no answers named", []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out}, []string{"certify", "--answers"}},
		{"a vector that does not exist", []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", outside, "--out", out}, []string{"outside.jsonl", "query 17", "vector 60 at rank 3", "0 to 59"}},
		{"answers of other queries", []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", fewer, "--answers", answers, "--out", out}, []string{"200 answers", "199 queries", "fewer.npy"}},
		{"candidates of other queries", []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", fewer, "--candidates", answers, "--out", out}, []string{"200 answers", "199 queries"}},
		{"the answers as output", []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--out", answers, "--overwrite"}, []string{"r.jsonl", "overwritten"}},
		{"a published method", []string{"certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--out", out, "--method", "bucket-ae"}, []string{"certify takes no bucket-ae: the answers to certify are candidates"}},
		{"a published method, as candidates", []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--candidates", answers, "--out", out, "--method", "bucket-ae"}, []string{"--candidates: bucket-ae takes no candidates"}},
		{"a published method, with a column", []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", limits, "--max-score-column", "most", "--out", out, "--method", "bucket-ae", "--basis", "raw"}, []string{"--max-score-column: bucket-ae finds the k best only"}},
		{"two from standard input", []string{"certify", "--vectors", "-", "--metric", "ip", "--queries", queries, "--answers", "-"}, []string{"certify", "only one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			thresher(t, c.args...).WantError(t, c.want...)
			if c.name != "the answers as output" && clitest.Exists(out) {
				t.Error("an output was written")
			}
		})
	}
}

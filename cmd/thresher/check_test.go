package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/tasks"
)

// partsFolder makes A.thresher and q.npy, of 23 queries with ties, and the working folder theirs.
func partsFolder(t *testing.T) {
	t.Helper()
	const n, dim = 300, 32
	t.Chdir(t.TempDir())
	r := draws.Rand(81)
	clitest.WriteFile(t, ".", "A.npy", npy(vectors.Ties(r, n, dim), dim))
	clitest.WriteFile(t, ".", "q.npy", npy(vectors.Ties(r, 23, dim), dim))
	thresher(t, "build", "--vectors", "A.npy", "--metric", "ip", "--out", "A.thresher").WantCode(t, cli.ExitOK)
}

// TestPartsAreOneSearch: the answers to all parts, joined, are the bytes of one search, whichever the format and
// method, and also where a part's search was repeated or had a small chunk.
func TestPartsAreOneSearch(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	partsFolder(t)
	for _, format := range []string{"jsonl", "npz", "parquet"} {
		for _, method := range []string{"exact", "adaptive", "certain"} {
			dir := method + "-" + format
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			out := func(name string) string { return filepath.Join(dir, name+"."+format) }
			for _, i := range []int{2, 0, 3, 1} {
				args := []string{"--method", method, "-k", "4", "--part", fmt.Sprintf("%d/4", i)}
				if i == 1 {
					args = append(args, "--chunk", "2")
				}
				searchTo(t, "A.thresher", out(fmt.Sprint("part-", i)), args...)
			}
			whole, joined := dir+"-whole."+format, dir+"-joined."+format
			searchTo(t, "A.thresher", whole, "--method", method, "-k", "4")
			thresher(t, "check", dir, "--out", joined).WantCode(t, cli.ExitOK)
			want, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(joined)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: the parts joined are not the file of one search", dir)
			}
		}
	}
}

// TestPartResumes: a part that is given again, with --resume, is done.
func TestPartResumes(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	partsFolder(t)
	again := []string{"search", "--vectors", "A.thresher", "--queries", "q.npy", "--part", "1/3", "--resume", "--json", "--out", "p.npz"}
	for _, want := range []int64{0, 8} {
		r := thresher(t, again...)
		r.WantCode(t, cli.ExitOK)
		var sum struct {
			Queries int64 `json:"queries"`
			Resumed int64 `json:"resumed"`
		}
		if err := json.Unmarshal([]byte(r.Out), &sum); err != nil || sum.Queries != 8 || sum.Resumed != want {
			t.Errorf("%s, %v", r.Out, err)
		}
	}
	r := thresher(t, append(again, "--part", "2/3")...)
	r.WantCode(t, cli.ExitInput)
}

// TestCheckSaysWhatIsMissing: missing parts, parts that are not finished, and files that are no parts.
func TestCheckSaysWhatIsMissing(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	partsFolder(t)
	if err := os.Mkdir("p", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 4, 5} {
		searchTo(t, "A.thresher", fmt.Sprintf("p/%d.npz", i), "--part", fmt.Sprintf("%d/8", i))
	}
	clitest.WriteFile(t, "p", "2.npz.progress", nil)
	r := thresher(t, "check", "p", "--json", "--out", "all.npz")
	r.WantCode(t, cli.ExitWrong)
	var sum tasks.PartsSummary
	if err := json.Unmarshal([]byte(r.Out), &sum); err != nil || !slices.Equal(sum.Missing, []int64{1, 2, 3, 6, 7}) || sum.Parts != 3 || sum.Of != 8 || sum.Count != 23 || sum.Queries != 8 {
		t.Errorf("%s, %v", r.Out, err)
	}
	if !strings.Contains(r.Err, "5 of 8 parts are missing: 1-3,6-7; not finished: "+filepath.Join("p", "2.npz")) {
		t.Error(r.Err)
	}
	if _, err := os.Stat("all.npz"); err == nil {
		t.Error("an output was written though parts are missing")
	}
	searchTo(t, "A.thresher", "whole.npz")
	for want, args := range map[string][]string{
		"whole.npz has the answers to all queries, and is no part":    {"check", "whole.npz"},
		"name the folder of the parts":                                {"check"},
		"both have part 4 of 8":                                       {"check", "p/4.npz", "p/0.npz", "p/4.npz"},
		"p is a folder; name it alone, or files":                      {"check", "p", "p/4.npz"},
		"p/4.npz is an input and would be overwritten":                {"check", "p/4.npz", "--out", "p/4.npz", "--overwrite"},
		"name ends in none of":                                        {"check", "p", "--out", "x.ivecs"},
		"has the answers to part 4 of 8 of the queries; join":         {"merge", "p/4.npz", "--out", "m.npz"},
		"p/4.npz has the answers to part 4 of 8 of the queries alone": {"verify", "--vectors", "A.thresher", "--queries", "q.npy", "--answers", "p/4.npz"},
		"23 queries are fewer than 24 parts":                          {"search", "--vectors", "A.thresher", "--queries", "q.npy", "--part", "0/24", "--out", "x.npz"},
		`--part "9/8": parts are numbered from 0 to 7`:                {"search", "--vectors", "A.thresher", "--queries", "q.npy", "--part", "9/8", "--out", "x.npz"},
		"ivecs cannot state to which queries its answers are":         {"search", "--vectors", "A.thresher", "--queries", "q.npy", "--part", "0/8", "--out", "x.ivecs"},
	} {
		r := thresher(t, args...)
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, want) {
			t.Errorf("%v:\n%s\nwant %s", args, r.Err, want)
		}
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	thresher(t, "check", "empty").WantCode(t, cli.ExitInput)
}

// TestPartOfExcludedSelves: a part asks for its own queries by their numbers among all.
func TestPartOfExcludedSelves(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	partsFolder(t)
	search := func(out string, args ...string) string {
		args = append([]string{"search", "--vectors", "A.npy", "--queries", "A.npy", "--metric", "ip", "-k", "3", "--method", "exact", "--exclude-self", "--out", out}, args...)
		thresher(t, args...).WantCode(t, cli.ExitOK)
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	search("p0.jsonl", "--part", "0/2")
	search("p1.jsonl", "--part", "1/2")
	whole := search("whole.jsonl")
	thresher(t, "check", "p0.jsonl", "p1.jsonl", "--out", "joined.jsonl").WantCode(t, cli.ExitOK)
	if joined, err := os.ReadFile("joined.jsonl"); err != nil || string(joined) != whole {
		t.Errorf("the parts joined are not the answers of one search: %v", err)
	}
}

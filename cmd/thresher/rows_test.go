package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// jsonRows are vectors as JSON lines, from an id on, of which some are replaced.
func jsonRows(from, to, version int) []byte {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "{\"id\":%d,\"vector\":[%d,%d,%d]}\n", i, i%7+1, (i+version)%5, i%3)
	}
	return []byte(b.String())
}

// TestRows writes to a folder, deletes from it and copies it; a search of the folder has the answers of one file of the
// same vectors.
func TestRows(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.jsonl", jsonRows(0, 60, 0))
	clitest.WriteFile(t, ".", "b.jsonl", jsonRows(40, 80, 1))
	clitest.WriteFile(t, ".", "gone.txt", []byte("3\n70\n\n900\n"))
	clitest.WriteFile(t, ".", "q.jsonl", jsonRows(5, 9, 2))
	var left strings.Builder
	for i, line := range strings.SplitAfter(string(jsonRows(0, 40, 0))+string(jsonRows(40, 80, 1)), "\n") {
		if i != 3 && i != 70 {
			left.WriteString(line)
		}
	}
	clitest.WriteFile(t, ".", "left.jsonl", []byte(left.String()))
	run := func(want string, args ...string) string {
		t.Helper()
		got := thresher(t, args...)
		got.WantCode(t, cli.ExitOK)
		if !strings.Contains(got.Out+got.Err, want) {
			t.Fatalf("%s: %s%s\nlacks %q", strings.Join(args, " "), got.Out, got.Err, want)
		}
		return got.Out
	}
	run("written  60 vectors, 0 of them in place", "build", "--vectors", "a.jsonl", "--metric", "l2", "--out", "f/")
	run("written  40 vectors, 20 of them in place", "rows", "put", "--collection", "f", "--vectors", "b.jsonl")
	run(`{"deleted":2,"unknown":1,"rows":78,"version":3}`, "rows", "delete", "--collection", "f", "--ids", "gone.txt", "--json")
	run("version  3", "rows", "snapshot", "--collection", "f", "--out", "copy/")
	run("vectors  77", "rows", "delete", "--collection", "f", "--ids", "5")
	run("vectors    78", "info", "copy")
	run(`"rows":77`, "info", "f", "--json")
	answers := func(vectors string) string {
		out := vectors + "-answers.jsonl"
		run("queries", "search", "--vectors", vectors, "--metric", "l2", "--queries", "q.jsonl", "-k", "5", "--out", out)
		var found []string // ids, rows and scores of each answer
		for line := range strings.Lines(string(clitest.ReadFile(t, out))) {
			answer, _, _ := strings.Cut(line, `,"pulls"`)
			found = append(found, answer)
		}
		if len(found) != 4 || !strings.Contains(found[0], `"scores64":[`) {
			t.Fatalf("%d answers: %s", len(found), found[0])
		}
		return strings.Join(found, "\n")
	}
	if got, want := answers("copy"), answers("left.jsonl"); got != want {
		t.Errorf("the folder's answers are\n%s\nthe file's\n%s", got, want)
	}
}

// TestRowsBadInput: what is wrong is named, and nothing is written.
func TestRowsBadInput(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.jsonl", jsonRows(0, 4, 0))
	clitest.WriteFile(t, ".", "twice.jsonl", append(jsonRows(8, 10, 0), jsonRows(9, 10, 1)...))
	clitest.WriteFile(t, ".", "short.jsonl", []byte(`{"id":9,"vector":[1,2]}`))
	clitest.WriteFile(t, ".", "texts.jsonl", []byte(`{"id":"x","vector":[1,2,3]}`))
	clitest.WriteFile(t, ".", "plain.jsonl", []byte(`{"vector":[1,2,3]}`))
	thresher(t, "build", "--vectors", "a.jsonl", "--metric", "ip", "--out", "f/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "texts.jsonl", "--metric", "ip", "--out", "t/").WantCode(t, cli.ExitOK)
	before, err := os.ReadFile(filepath.Join("f", "1.log"))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"rows put --vectors a.jsonl":                                     "--collection: no folder named",
		"rows put --collection none/ --vectors a.jsonl":                  "--collection none/: no such folder; build --out none/ makes one",
		"rows put --collection . --vectors a.jsonl":                      "not a folder of vectors",
		"rows put --collection f --vectors twice.jsonl":                  `row 2 (0-based): has the id "9", which row 1 has already`,
		"rows put --collection f --vectors short.jsonl":                  "short.jsonl has vectors of dimension 2, the folder's have 3",
		"rows put --collection f --vectors texts.jsonl":                  `texts.jsonl: row 0 (0-based): id "x" is a text`,
		"rows put --collection f --vectors plain.jsonl":                  "plain.jsonl has no column of ids",
		"rows delete --collection f --ids ,":                             "--ids: no ids",
		"rows delete --collection f --ids 1,x":                           `id "x" is a text`,
		"rows delete --collection t --ids nofile.txt":                    "there is no such file, and t has no vector of this id",
		"build --vectors twice.jsonl --metric ip --out h/":               `row 2 (0-based): has the id "9", which row 1 has already`,
		"rows snapshot --collection f":                                   "--out: no folder named",
		"rows snapshot --collection f --out f":                           "--out f: exists already; a snapshot makes a folder of its own",
		"build --vectors a.jsonl --metric ip --out f/":                   "is there already; rows put writes to it",
		"build --vectors a.jsonl --metric ip --out x.thresher/":          "ends in .thresher, or in / for a folder",
		"build --vectors a.jsonl --metric ip --basis raw --out g/":       "--basis raw",
		"search --vectors f --queries plain.jsonl -k 1 --metric cosine":  "f has metric ip",
		"search --vectors f --queries plain.jsonl -k 1 --filter a>1":     `there is no column "a"; the columns are none`,
		"search --vectors f --queries plain.jsonl -k 1 --ids name":       "has no columns to choose from, such as name",
		"search --vectors f --queries plain.jsonl -k 1 --method strict2": "strict2",
	} {
		got := thresher(t, strings.Fields(args)...)
		if got.Code != cli.ExitInput || !strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %q lacks %q", args, got.Code, got.Err, want)
		}
	}
	after, err := os.ReadFile(filepath.Join("f", "1.log"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the log was written: %v", err)
	}
	if _, err := os.Stat("h"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a write is left: %v", err)
	}
	thresher(t, "rows", "delete", "--collection", "t", "--ids", "none").WantCode(t, cli.ExitOK) // which is not there
}

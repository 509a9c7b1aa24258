package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

func TestBuildAndInfo(t *testing.T) {
	dir := t.TempDir()
	atoms, out := vectorFile(t, dir, "a.npy", 1, 120, 50), filepath.Join(dir, "a.thresher")
	args := []string{"build", "--vectors", atoms, "--metric", "cosine", "--seed", "11", "--out", out}
	r := thresher(t, args...)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "120 x 50, cosine") || r.Out != "" {
		t.Errorf("stderr %s, stdout %s", r.Err, r.Out)
	}
	first := clitest.ReadFile(t, out)

	thresher(t, args...).WantError(t, "a.thresher", "--overwrite")
	r = thresher(t, append(args, "--overwrite", "--threads", "3", "--json")...)
	r.WantCode(t, cli.ExitOK)
	var built struct {
		Vectors, Dim int
		Metric       string
		BuildSeconds float64 `json:"build_seconds"`
	}
	if err := json.Unmarshal([]byte(r.Out), &built); err != nil || built.Vectors != 120 || built.Dim != 50 || built.Metric != "cosine" || built.BuildSeconds <= 0 {
		t.Errorf("%s (%v)", r.Out, err)
	}
	if !bytes.Equal(first, clitest.ReadFile(t, out)) {
		t.Error("the same vectors and seed make another file with other threads")
	}

	r = thresher(t, "info", out)
	r.WantCode(t, cli.ExitOK)
	for _, part := range []string{"120", "50", "cosine", "rotated", "11"} {
		if !strings.Contains(r.Out, part) {
			t.Errorf("info lacks %q:\n%s", part, r.Out)
		}
	}
	r = thresher(t, "info", "--json", out)
	r.WantCode(t, cli.ExitOK)
	var info struct {
		Vectors int
		Seed    uint64
	}
	if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.Vectors != 120 || info.Seed != 11 {
		t.Errorf("%s (%v)", r.Out, err)
	}
}

func TestBuildFromStdin(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 120, 50)
	a, b := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "b.thresher")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", a).WantCode(t, cli.ExitOK)
	thresherWith(t, context.Background(), string(clitest.ReadFile(t, atoms)), "build", "--vectors", "-", "--metric", "ip", "--out", b).WantCode(t, cli.ExitOK)
	if !bytes.Equal(clitest.ReadFile(t, a), clitest.ReadFile(t, b)) {
		t.Error("standard input makes another collection than the file")
	}
}

func TestBuildBadInput(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a.thresher")
	for _, c := range []struct{ name, content, want string }{
		{"nan.jsonl", "[1,2]\n[1,NaN]\n", "row 1"},
		{"ragged.jsonl", "[1,2]\n[1]\n", "row 1"},
		{"empty.npy", "", "empty"},
		{"huge.jsonl", "[1,2]\n[3e38,3e38]\n", "row 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			thresher(t, "build", "--vectors", clitest.WriteFile(t, dir, c.name, []byte(c.content)), "--metric", "ip", "--out", out).WantError(t, c.name, c.want)
			if clitest.Exists(out) {
				t.Error("a collection was left behind")
			}
		})
	}
	thresher(t, "build", "--vectors", out, "--metric", "ip", "--out", filepath.Join(dir, "b.thresher")).WantError(t, "already a collection")
}

func TestInfoOnAnswers(t *testing.T) {
	dir := t.TempDir()
	hits := clitest.WriteFile(t, dir, "a.json", []byte(`{"result":[[{"id":"x","score":2},{"id":"y","score":1}],[]]}`))
	r := thresher(t, "info", "--answers", "--json", hits)
	r.WantCode(t, cli.ExitOK)
	var got answersInfo
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
		t.Fatal(err)
	}
	want := answersInfo{Path: hits, Queries: 2, Longest: 2, IDs: "texts", Scores: true, FileBytes: got.FileBytes}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r = thresher(t, "info", "--answers", clitest.WriteFile(t, dir, "gt.bin", []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x06\x00\x00\x00")))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "2 to 2 an answer, row numbers") || !strings.Contains(r.Out, "none") {
		t.Error(r.Out)
	}
	thresher(t, "info", "--answers", clitest.WriteFile(t, dir, "b.json", []byte(`{"result":[]}`))).WantError(t, "b.json", "[[]]")
}

func TestInfoOnVectors(t *testing.T) {
	dir := t.TempDir()
	r := thresher(t, "info", "--json", vectorFile(t, dir, "a.npy", 1, 7, 3))
	r.WantCode(t, cli.ExitOK)
	var v vectorsInfo
	if err := json.Unmarshal([]byte(r.Out), &v); err != nil || v.Rows != 7 || v.Dim != 3 || v.Format != "npy" || v.FileBytes < 84 {
		t.Errorf("%s (%v)", r.Out, err)
	}
	r = thresher(t, "info", clitest.WriteFile(t, dir, "a.jsonl", []byte("[1,2]\n")))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "known once read") {
		t.Error(r.Out)
	}
	thresher(t, "info", filepath.Join(dir, "none.npy")).WantError(t, "none.npy")
	thresher(t, "info", clitest.WriteFile(t, dir, "b.thresher", []byte("not a collection"))).WantError(t, "b.thresher")
}

// TestBuildKeepsIDs: answers over a collection have the ids of the file that it was built of, of every kind; rebuilding
// without ids leaves none behind.
func TestBuildKeepsIDs(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a.thresher")
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,0]\n[0,1]\n"))
	for name, rows := range map[string]string{
		"text":  `{"id":"ash","vector":[3,0]}` + "\n" + `{"id":"elm","vector":[0,2]}` + "\n",
		"whole": `{"id":18446744073709551614,"vector":[3,0]}` + "\n" + `{"id":5,"vector":[0,2]}` + "\n",
		"none":  "[3,0]\n[0,2]\n",
	} {
		atoms := clitest.WriteFile(t, dir, name+".jsonl", []byte(rows))
		thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", out, "--overwrite").WantCode(t, cli.ExitOK)
		if clitest.Exists(out+".ids.npz") != (name != "none") {
			t.Errorf("%s: a file of ids: %v", name, clitest.Exists(out+".ids.npz"))
		}
		of := func(vectors string) string {
			r := thresher(t, "search", "--vectors", vectors, "--queries", queries, "--metric", "ip", "-k", "1", "--method", "exact", "--out", "-")
			r.WantCode(t, cli.ExitOK)
			answers, _, _ := strings.Cut(r.Out, `"scores"`)
			return answers
		}
		if got, want := of(out), of(atoms); got != want {
			t.Errorf("%s: built %s, as given %s", name, got, want)
		}
	}
	atoms := clitest.WriteFile(t, dir, "columns.csv", []byte("sku,id,x,y\nA,1,3,0\nB,2,0,2\n"))
	thresher(t, "build", "--vectors", atoms, "--ids", "sku", "--vectors-column", "x,y", "--metric", "ip", "--out", out, "--overwrite").WantCode(t, cli.ExitOK)
	r := thresher(t, "search", "--vectors", out, "--queries", queries, "--metric", "ip", "-k", "1", "--out", "-")
	if !strings.Contains(r.Out, `"ids":["A"]`) {
		t.Errorf("ids of the column sku: %s", r.Out)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--vectors-column", "x,y", "--out", out).WantError(t, "a.thresher.ids.npz", "--overwrite")

	twice := clitest.WriteFile(t, dir, "twice.csv", []byte("id,x,y\n1,3,0\n1,0,2\n"))
	thresher(t, "build", "--vectors", twice, "--metric", "ip", "--out", out, "--overwrite").WantError(t, "twice.csv", "row 1")
	if clitest.Exists(out) {
		t.Error("a collection whose ids occur twice")
	}
}

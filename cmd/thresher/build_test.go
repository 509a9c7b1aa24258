package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildAndInfo(t *testing.T) {
	dir := t.TempDir()
	atoms, out := vectorFile(t, dir, "a.npy", 1, 120, 50), filepath.Join(dir, "a.thresher")
	args := []string{"build", "--vectors", atoms, "--metric", "cosine", "--seed", "11", "--out", out}
	r := thresher(t, args...)
	r.wantCode(t, exitOK)
	if !strings.Contains(r.err, "120 x 50, cosine") || r.out != "" {
		t.Errorf("stderr %s, stdout %s", r.err, r.out)
	}
	first := readFile(t, out)

	thresher(t, args...).wantError(t, "a.thresher", "--overwrite")
	r = thresher(t, append(args, "--overwrite", "--threads", "3", "--json")...)
	r.wantCode(t, exitOK)
	var built struct {
		Atoms, Dimension int
		Metric           string
		BuildSeconds     float64 `json:"build_seconds"`
	}
	if err := json.Unmarshal([]byte(r.out), &built); err != nil || built.Atoms != 120 || built.Dimension != 50 || built.Metric != "cosine" || built.BuildSeconds <= 0 {
		t.Errorf("%s (%v)", r.out, err)
	}
	if !bytes.Equal(first, readFile(t, out)) {
		t.Error("the same vectors and seed make another file with other threads")
	}

	r = thresher(t, "info", out)
	r.wantCode(t, exitOK)
	for _, part := range []string{"120", "50", "cosine", "rotated", "11"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("info lacks %q:\n%s", part, r.out)
		}
	}
	r = thresher(t, "info", "--json", out)
	r.wantCode(t, exitOK)
	var info struct {
		Atoms int
		Seed  uint64
	}
	if err := json.Unmarshal([]byte(r.out), &info); err != nil || info.Atoms != 120 || info.Seed != 11 {
		t.Errorf("%s (%v)", r.out, err)
	}
}

func TestBuildFromStdin(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 120, 50)
	a, b := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "b.thresher")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", a).wantCode(t, exitOK)
	thresherWith(t, context.Background(), string(readFile(t, atoms)), "build", "--vectors", "-", "--metric", "ip", "--out", b).wantCode(t, exitOK)
	if !bytes.Equal(readFile(t, a), readFile(t, b)) {
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
			thresher(t, "build", "--vectors", writeFile(t, dir, c.name, []byte(c.content)), "--metric", "ip", "--out", out).wantError(t, c.name, c.want)
			if exists(out) {
				t.Error("a collection was left behind")
			}
		})
	}
	thresher(t, "build", "--vectors", out, "--metric", "ip", "--out", filepath.Join(dir, "b.thresher")).wantError(t, "already a collection")
}

func TestInfoOnAnswers(t *testing.T) {
	dir := t.TempDir()
	hits := writeFile(t, dir, "a.json", []byte(`{"result":[[{"id":"x","score":2},{"id":"y","score":1}],[]]}`))
	r := thresher(t, "info", "--answers", "--json", hits)
	r.wantCode(t, exitOK)
	var got answersInfo
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	want := answersInfo{Path: hits, Queries: 2, Longest: 2, IDs: "texts", Scores: true, FileBytes: got.FileBytes}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r = thresher(t, "info", "--answers", writeFile(t, dir, "gt.bin", []byte("\x01\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x06\x00\x00\x00")))
	r.wantCode(t, exitOK)
	if !strings.Contains(r.out, "2 to 2 an answer, row numbers") || !strings.Contains(r.out, "none") {
		t.Error(r.out)
	}
	thresher(t, "info", "--answers", writeFile(t, dir, "b.json", []byte(`{"result":[]}`))).wantError(t, "b.json", "[[]]")
}

func TestInfoOnVectors(t *testing.T) {
	dir := t.TempDir()
	r := thresher(t, "info", "--json", vectorFile(t, dir, "a.npy", 1, 7, 3))
	r.wantCode(t, exitOK)
	var v vectorsInfo
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v.Rows != 7 || v.Dim != 3 || v.Format != "npy" || v.FileBytes < 84 {
		t.Errorf("%s (%v)", r.out, err)
	}
	r = thresher(t, "info", writeFile(t, dir, "a.jsonl", []byte("[1,2]\n")))
	r.wantCode(t, exitOK)
	if !strings.Contains(r.out, "known once read") {
		t.Error(r.out)
	}
	thresher(t, "info", filepath.Join(dir, "none.npy")).wantError(t, "none.npy")
	thresher(t, "info", writeFile(t, dir, "b.thresher", []byte("not a collection"))).wantError(t, "b.thresher")
}

// TestBuildKeepsIDs: answers over a collection have the ids of the file that it was built of, of every kind; rebuilding
// without ids leaves none behind.
func TestBuildKeepsIDs(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a.thresher")
	queries := writeFile(t, dir, "q.jsonl", []byte("[1,0]\n[0,1]\n"))
	for name, rows := range map[string]string{
		"text":  `{"id":"ash","vector":[3,0]}` + "\n" + `{"id":"elm","vector":[0,2]}` + "\n",
		"whole": `{"id":18446744073709551614,"vector":[3,0]}` + "\n" + `{"id":5,"vector":[0,2]}` + "\n",
		"none":  "[3,0]\n[0,2]\n",
	} {
		atoms := writeFile(t, dir, name+".jsonl", []byte(rows))
		thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", out, "--overwrite").wantCode(t, exitOK)
		if exists(out+".ids.npz") != (name != "none") {
			t.Errorf("%s: a file of ids: %v", name, exists(out+".ids.npz"))
		}
		of := func(vectors string) string {
			r := thresher(t, "search", "--vectors", vectors, "--queries", queries, "--metric", "ip", "-k", "1", "--method", "exact", "--out", "-")
			r.wantCode(t, exitOK)
			answers, _, _ := strings.Cut(r.out, `"scores"`)
			return answers
		}
		if got, want := of(out), of(atoms); got != want {
			t.Errorf("%s: built %s, as given %s", name, got, want)
		}
	}
	atoms := writeFile(t, dir, "columns.csv", []byte("sku,id,x,y\nA,1,3,0\nB,2,0,2\n"))
	thresher(t, "build", "--vectors", atoms, "--ids", "sku", "--vectors-column", "x,y", "--metric", "ip", "--out", out, "--overwrite").wantCode(t, exitOK)
	r := thresher(t, "search", "--vectors", out, "--queries", queries, "--metric", "ip", "-k", "1", "--out", "-")
	if !strings.Contains(r.out, `"ids":["A"]`) {
		t.Errorf("ids of the column sku: %s", r.out)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--vectors-column", "x,y", "--out", out).wantError(t, "a.thresher.ids.npz", "--overwrite")

	twice := writeFile(t, dir, "twice.csv", []byte("id,x,y\n1,3,0\n1,0,2\n"))
	thresher(t, "build", "--vectors", twice, "--metric", "ip", "--out", out, "--overwrite").wantError(t, "twice.csv", "row 1")
	if exists(out) {
		t.Error("a collection whose ids occur twice")
	}
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// npyText encodes one text as numpy does, an array without dimensions.
func npyText(text string) []byte {
	head := "{'descr': '|S64', 'fortran_order': False, 'shape': ()}"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	return append(append(b, head...), text...)
}

// TestSavedIDs: the ids that Python's Index.save writes beside a prepared collection are its id column, and those of
// another collection are refused.
func TestSavedIDs(t *testing.T) {
	dir := t.TempDir()
	vectors := filepath.Join(dir, "v.csv")
	lines := "x,y\n0,1\n1,0\n2,0\n3,0\n0,4\n"
	if err := os.WriteFile(vectors, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	prepared := filepath.Join(dir, "s.thresher")
	thresher(t, "build", "--metric", "l2", "--vectors", vectors, "--out", prepared).WantCode(t, cli.ExitOK)
	content, err := os.ReadFile(prepared)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content[:min(len(content), 1<<14)])
	save := func(of string, ids ...int64) {
		npzFile(t, dir, "s.thresher.ids.npz", map[string][]byte{"ids": npyInts(ids...), "collection": npyText(of)})
	}
	save(hex.EncodeToString(sum[:]), 13, 14, 10, 11, 12)
	answers := filepath.Join(dir, "right.jsonl")
	right := ""
	for j, id := range []string{"13", "14", "10", "11", "12"} {
		right += `{"query":` + string(rune('0'+j)) + `,"ids":[` + id + "]}\n"
	}
	if err := os.WriteFile(answers, []byte(right), 0o600); err != nil {
		t.Fatal(err)
	}
	pair := []string{"--vectors", prepared, "--queries", vectors}
	r := thresher(t, append([]string{"search", "-k1", "--out", filepath.Join(dir, "out.jsonl")}, pair...)...)
	r.WantCode(t, cli.ExitOK)
	if out, err := os.ReadFile(filepath.Join(dir, "out.jsonl")); err != nil || !strings.Contains(string(out), `"ids":[14],"rows":[1]`) {
		t.Errorf("%s, %v", out, err)
	}
	for verb, says := range map[string]string{"verify": "wrong      0", "recall": "recall    1.0000", "certify": "5 of 5 answers were right"} {
		args := append([]string{verb, "--answers", answers}, pair...)
		if verb == "certify" {
			args = append(args, "--overwrite", "--out", filepath.Join(dir, "c.jsonl"))
		}
		for range 2 {
			r := thresher(t, args...)
			r.WantCode(t, cli.ExitOK)
			if !strings.Contains(r.Out+r.Err, says) {
				t.Errorf("%s: %s%s", verb, r.Out, r.Err)
			}
			args = append(args, "--ids", "ids")
		}
	}
	search := append([]string{"search", "-k1"}, pair...)
	thresher(t, append(search, "--ids", "keys")...).WantError(t, "s.thresher", "no columns to choose from")
	save(strings.Repeat("0", 64), 13, 14, 10, 11, 12)
	thresher(t, search...).WantError(t, "s.thresher.ids.npz", "another collection")
	save(hex.EncodeToString(sum[:]), 13, 14, 10, 11)
	thresher(t, search...).WantError(t, "s.thresher.ids.npz", "(5,)")
	save(hex.EncodeToString(sum[:]), 13, 14, 10, 11, 13)
	thresher(t, search...).WantError(t, "s.thresher.ids.npz", "row 4", `"13"`, "row 0 has already")
	thresher(t, append([]string{"verify", "--answers", answers}, pair...)...).WantError(t, "row 0 has already")
}

// TestResumeWithOtherSavedIDs: answers name atoms by the ids beside a prepared collection, so a run is not resumed
// with other ones.
func TestResumeWithOtherSavedIDs(t *testing.T) {
	dir := t.TempDir()
	vectors := vectorFile(t, dir, "v.npy", 1, 6, 3)
	prepared := filepath.Join(dir, "s.thresher")
	thresher(t, "build", "--metric", "l2", "--vectors", vectors, "--out", prepared).WantCode(t, cli.ExitOK)
	content := clitest.ReadFile(t, prepared)
	sum := sha256.Sum256(content[:min(len(content), 1<<14)])
	save := func(ids ...int64) string {
		return npzFile(t, dir, "s.thresher.ids.npz", map[string][]byte{"ids": npyInts(ids...), "collection": npyText(hex.EncodeToString(sum[:]))})
	}
	for verb, args := range map[string][]string{
		"search": {"--queries", vectors, "-k2"},
		"graph":  {"-k2"},
		"pairs":  {"--max-distance", "9"},
	} {
		out := filepath.Join(dir, verb+".jsonl")
		args = append([]string{verb, "--vectors", prepared, "--out", out, "--resume"}, args...)
		beside := save(20, 21, 22, 23, 24, 25)
		thresher(t, args...).WantCode(t, cli.ExitOK)
		if named := string(clitest.ReadFile(t, out)); !strings.Contains(named, `"ids":[20`) && !strings.Contains(named, `"20"`) {
			t.Fatalf("%s names no vector: %s", verb, named)
		}
		thresher(t, args...).WantCode(t, cli.ExitOK) // with the same ids all is done
		save(30, 31, 32, 33, 34, 35)
		thresher(t, args...).WantError(t, out+".progress", "other vectors or settings")
		if err := os.Remove(beside); err != nil {
			t.Fatal(err)
		}
		thresher(t, args...).WantError(t, out+".progress", "other vectors or settings")
	}
}

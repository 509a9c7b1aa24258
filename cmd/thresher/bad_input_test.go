package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string { return clitest.WriteFile(t, dir, name, []byte(content)) }
	good := vectorFile(t, dir, "good.npy", 1, 20, 4)
	other := vectorFile(t, dir, "other.npy", 2, 20, 4)
	wide := vectorFile(t, dir, "wide.npy", 1, 20, 5)
	empty := file("empty.npy", "")
	ragged := file("ragged.jsonl", "[1,2,3,4]\n[1,2,3]\n")
	nan := gaussian(1, 40)
	nan[4*3+2] = float32(math.NaN())
	holes := clitest.WriteFile(t, dir, "nan.npy", npy(nan, 4))
	noRows := clitest.WriteFile(t, dir, "norows.npy", npy(nil, 4))
	cut := clitest.WriteFile(t, dir, "cut.npy", clitest.ReadFile(t, good)[:200])
	foreign := file("foreign.thresher", "this is not a collection of vectors, whatever its name says")
	hidden := filepath.Join(dir, "none.npy")
	there := file("there.npz", "x")
	prepared := filepath.Join(dir, "prepared.thresher")
	thresher(t, "build", "--vectors", good, "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	folder, certificates, collection := filepath.Join(dir, "folder.npz"), filepath.Join(dir, "folder.jsonl"), filepath.Join(dir, "folder.thresher")
	for _, path := range []string{folder, certificates, collection} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := clitest.FolderOf(t, dir)

	search := func(atoms, queries string, more ...string) []string {
		return append([]string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"NaN among vectors", search(holes, good), []string{"nan.npy", "row 3", "column 2", "NaN"}},
		{"NaN among queries", search(good, holes), []string{"nan.npy", "row 3", "column 2", "NaN"}},
		{"ragged vectors", search(ragged, good), []string{"ragged.jsonl", "row 1"}},
		{"dimensions differ", search(good, wide), []string{"good.npy", "dimension 4", "wide.npy", "dimension 5"}},
		{"empty vectors", search(empty, good), []string{"empty.npy", "empty"}},
		{"empty queries", search(good, empty), []string{"empty.npy", "empty"}},
		{"no rows of vectors", search(noRows, good), []string{"norows.npy"}},
		{"no rows of queries", search(good, noRows), []string{"norows.npy"}},
		{"truncated vectors", search(cut, good), []string{"cut.npy"}},
		{"foreign collection", search(foreign, good), []string{"foreign.thresher"}},
		{"missing vectors", search(hidden, good), []string{"none.npy", "no such file"}},
		{"missing queries", search(good, hidden), []string{"none.npy", "no such file"}},
		{"a folder", search(dir, good), []string{"is a prepared collection", ".thresher"}},
		{"both from stdin", search("-", "-"), []string{"only one"}},
		{"k of 0", search(good, good, "-k0"), []string{"k: 0 is below 1"}},
		{"k of one and a half", search(good, good, "-k1.5"), []string{`k: "1.5" is not a whole number`}},
		{"threads of many", search(good, good, "--threads=many"), []string{`threads: "many" is not a whole number`}},
		{"no least score", search(good, good, "--min-score=nan"), []string{"--min-score: NaN"}},
		{"k below 0", search(good, good, "-k=-3"), []string{"k: -3 is below 1"}},
		{"delta of 0", search(good, good, "--delta=0"), []string{"delta: 0 is not in (0, 1)"}},
		{"delta of 1", search(good, good, "--delta=1"), []string{"delta: 1 is not in (0, 1)"}},
		{"epsilon below 0", search(good, good, "--epsilon=-1"), []string{"epsilon: -1"}},
		{"unknown method", search(good, good, "--method=faiss"), []string{"method", "faiss"}},
		{"unknown metric", search(good, good, "--metric=angular"), []string{"metric", "angular"}},
		{"adaptive on the raw basis", search(good, good, "--basis=raw", "--method=adaptive"), []string{"adaptive", "raw"}},
		{"prefix-f32 on the raw basis", search(good, good, "--basis=raw", "--method=prefix-f32"), []string{"prefix-f32", "--basis", "raw"}},
		{"prefix-f32 on a collection", search(prepared, good, "--method=prefix-f32"), []string{"prefix-f32", "prepared.thresher"}},
		{"raw method on a rotated collection", search(prepared, good, "--method=strict", "--out", filepath.Join(dir, "r.npz")), []string{"thresher: --method: strict", "raw"}},
		{"method without epsilon", search(good, good, "--method=bucket-ae", "--epsilon=1", "--out", filepath.Join(dir, "r.npz")), []string{"thresher: --epsilon: bucket-ae"}},
		{"queries are not the vectors", search(good, other, "--exclude-self", "--out", filepath.Join(dir, "r.npz")), []string{"thresher: --exclude-self: query 0", "other.npy"}},
		{"a collection of queries", search(good, prepared), []string{"--queries", "prepared.thresher", "--vectors"}},
		{"output of unknown form", search(good, good, "--out", filepath.Join(dir, "r.txt")), []string{"r.txt", ".npz"}},
		{"output compressed", search(good, good, "--out", filepath.Join(dir, "r.jsonl.gz")), []string{".gz"}},
		{"output exists", search(good, good, "--out", there), []string{"there.npz", "--overwrite"}},
		{"output is a folder", search(good, good, "--out", folder), []string{"folder.npz", "is a directory"}},
		{"output is a folder, forced", search(good, good, "--out", folder, "--overwrite"), []string{"folder.npz", "is a directory"}},
		{"certificates are a folder", search(good, good, "--out", filepath.Join(dir, "r.npz"), "--certificates", certificates, "--overwrite"), []string{"folder.jsonl", "is a directory"}},
		{"collection is a folder", []string{"build", "--vectors", good, "--metric", "ip", "--out", collection, "--overwrite"}, []string{"folder.thresher", "is a directory"}},
		{"output in no folder", search(good, good, "--out", filepath.Join(dir, "no", "r.npz")), []string{"no folder"}},
		{"resume of nothing over a file", search(good, good, "--out", there, "--resume"), []string{"there.npz", "nothing to resume"}},
		{"resume and force", search(good, good, "--out", there, "--resume", "--overwrite"), []string{"exclude each other"}},
		{"resume of stdout", search(good, good, "--resume"), []string{"--out"}},
		{"summary among answers", search(good, good, "--json"), []string{"--json", "--out"}},
		{"output is the input", search(ragged, good, "--out", ragged, "--overwrite"), []string{"ragged.jsonl", "would be overwritten"}},
		{"certificates of another form", search(good, good, "--out", filepath.Join(dir, "r.npz"), "--certificates", "c.txt"), []string{"c.txt"}},
		{"certificates without answers", search(good, good, "--certificates", "c.jsonl"), []string{"--out"}},
		{"deadline of 0", search(good, good, "--deadline=0"), []string{"--deadline 0", "leave it out for none"}},
		{"deadline of 0 of certify", []string{"certify", "--vectors", good, "--queries", good, "--metric", "ip", "--answers", good, "--deadline", "0s"}, []string{"--deadline 0", "leave it out for none"}},
		{"negative deadline of certify", []string{"certify", "--vectors", good, "--queries", good, "--metric", "ip", "--answers", good, "--deadline=-1s"}, []string{"-1s", "negative"}},
		{"negative deadline", search(good, good, "--deadline=-1s"), []string{"-1s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := thresher(t, c.args...)
			r.WantError(t, c.want...)
			for _, noise := range []string{"jobs:", "durable", "item"} {
				if strings.Contains(r.Err, noise) {
					t.Errorf("stderr speaks of %q: %s", noise, r.Err)
				}
			}
			if after := clitest.FolderOf(t, dir); !slices.Equal(after, before) {
				t.Errorf("the folder holds %v, before %v", after, before)
			}
		})
	}
	if b := clitest.ReadFile(t, there); string(b) != "x" {
		t.Errorf("a refused output was changed to %q", b)
	}
}

// TestBadQueryThenMended: a run that answered nothing does not prevent the next one.
func TestBadQueryThenMended(t *testing.T) {
	for _, name := range formats() {
		dir := t.TempDir()
		atoms := vectorFile(t, dir, "a.npy", 1, 40, 3)
		queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,2,NaN]\n"))
		args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", filepath.Join(dir, name), "--certificates", filepath.Join(dir, "c.jsonl")}
		r := thresher(t, args...)
		r.WantError(t, "q.jsonl: row 0, column 2", "NaN")
		if strings.Contains(r.Err, "resume") {
			t.Errorf("%s: nothing can be resumed: %s", name, r.Err)
		}
		clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,2,4]\n"))
		thresher(t, args...).WantCode(t, cli.ExitOK)
	}
}

// TestBadRowLeavesEarlierChunks: a fault in a later chunk keeps the earlier answers, and the
// corrected file cannot be resumed, because it is a different file.
func TestBadRowLeavesEarlierChunks(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 40, 3)
	queries := filepath.Join(dir, "q.jsonl")
	good := strings.Repeat("[1,2,3]\n", 20)
	clitest.WriteFile(t, dir, "q.jsonl", []byte(good+"[1,2,x]\n"))
	out := filepath.Join(dir, "r.jsonl")
	args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--chunk", "5", "--out", out}
	thresher(t, args...).WantError(t, "q.jsonl", "row 20", "20 queries are answered")
	if n := len(answersOf(t, out)); n != 20 {
		t.Errorf("%d answers are there, want 20", n)
	}
	thresher(t, args...).WantError(t, "--resume", "--overwrite")
	clitest.WriteFile(t, dir, "q.jsonl", []byte(good+"[1,2,4]\n"))
	thresher(t, append(args, "--resume")...).WantError(t, "other vectors or settings", "--overwrite")
	thresher(t, append(args, "--overwrite")...).WantCode(t, cli.ExitOK)
	if n := len(answersOf(t, out)); n != 21 {
		t.Errorf("%d answers, want 21", n)
	}
}

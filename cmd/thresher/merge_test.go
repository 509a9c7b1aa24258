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

	"github.com/google/go-cmp/cmp"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/tasks"
)

// mergeFolder is a folder with vectors all.jsonl, which have ids, their parts a.jsonl, b.jsonl and c.jsonl, and
// queries q.npy; and the same without ids, in .npy. The working folder is changed to it.
func mergeFolder(t *testing.T) {
	t.Helper()
	const n, dim = 120, 6
	t.Chdir(t.TempDir())
	r := draws.Rand(72)
	rows := vectors.Ties(r, n, dim)
	write := func(name string, from, to int) {
		var b bytes.Buffer
		for i := from; i < to; i++ {
			v, err := json.Marshal(rows[i*dim : (i+1)*dim])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, `{"id":%d,"vector":%s}`+"\n", 1000+i, v)
		}
		clitest.WriteFile(t, ".", name+".jsonl", b.Bytes())
		clitest.WriteFile(t, ".", name+".npy", npy(rows[from*dim:to*dim], dim))
	}
	write("all", 0, n)
	write("a", 0, 3)
	write("b", 3, 70)
	write("c", 70, n)
	clitest.WriteFile(t, ".", "q.npy", npy(slices.Concat(rows[:2*dim], vectors.Ties(r, 5, dim)), dim))
}

func searchTo(t *testing.T, atoms, out string, args ...string) {
	t.Helper()
	thresher(t, append([]string{"search", "--vectors", atoms, "--queries", "q.npy", "--out", out, "--kernels", "generic"}, args...)...).WantCode(t, cli.ExitOK)
}

// TestMergeCommand: answers over three parts, merged, are those of one search, by every metric and format,
// and merging in steps gives the same file.
func TestMergeCommand(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	mergeFolder(t)
	for _, metric := range []string{"ip", "cosine", "l2"} {
		for _, format := range []string{"jsonl", "npz", "parquet"} {
			t.Run(metric+" "+format, func(t *testing.T) {
				name := func(s string) string { return metric + "-" + s + "." + format }
				method := "exact"
				if format == "npz" {
					method = "certain"
				}
				for _, atoms := range []string{"all", "a", "b", "c"} {
					searchTo(t, atoms+".jsonl", name(atoms), "--metric", metric, "-k", "5", "--method", method)
				}
				r := thresher(t, "merge", name("b"), name("c"), name("a"), "--out", name("merged"), "--json")
				r.WantCode(t, cli.ExitOK)
				var sum tasks.MergeSummary
				if err := json.Unmarshal([]byte(r.Out), &sum); err != nil || sum.Files != 3 || sum.Shards != 3 || sum.Vectors != 120 || sum.Queries != 7 || sum.K != 5 || sum.Metric != metric {
					t.Errorf("%s, %v", r.Out, err)
				}
				got, want := answersOf(t, name("merged")), answersOf(t, name("all"))
				if len(got) != len(want) {
					t.Fatalf("%d answers, want %d", len(got), len(want))
				}
				for j := range want {
					g, w := &got[j], &want[j]
					if !slices.Equal(g.IDs, w.IDs) || !slices.Equal(g.Scores64, w.Scores64) || !slices.Equal(g.Scores, w.Scores) || len(g.IDs) != 5 || g.Guarantee != w.Guarantee {
						t.Errorf("query %d:\n%+v\n%+v", j, g, w)
					}
				}
				thresher(t, "merge", name("a"), name("b"), "--out", name("ab")).WantCode(t, cli.ExitOK)
				thresher(t, "merge", name("c"), name("ab"), "--out", name("steps")).WantCode(t, cli.ExitOK)
				if !bytes.Equal(clitest.ReadFile(t, name("steps")), clitest.ReadFile(t, name("merged"))) {
					t.Error("merged in steps, the file differs")
				}
				thresher(t, "verify", "--vectors", "all.jsonl", "--queries", "q.npy", "--metric", metric, "--ids", "id", "--answers", name("merged")).WantCode(t, cli.ExitOK)
			})
		}
	}
}

// bodyOf is the body of an answer of the service with the answers of a file of JSON lines.
func bodyOf(t *testing.T, name string) []byte {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(clitest.ReadFile(t, name)), []byte("\n"))
	var first struct {
		Covers json.RawMessage `json:"covers"`
	}
	if err := json.Unmarshal(lines[0], &first); err != nil || first.Covers == nil {
		t.Fatalf("%s: %v", lines[0], err)
	}
	return fmt.Appendf(nil, `{"answers_version":2,"version":1,"took_ms":1,"covers":%s,"results":[%s]}`, first.Covers, bytes.Join(lines, []byte(",")))
}

// TestMergeBodies: a saved answer of the service is merged with files of other formats, and one that is no answer is
// refused by its name.
func TestMergeBodies(t *testing.T) {
	mergeFolder(t)
	for atoms, ext := range map[string]string{"all": ".jsonl", "a": ".answers.jsonl", "b": ".npz", "c": ".parquet"} {
		searchTo(t, atoms+".jsonl", "of-"+atoms+ext, "--metric", "cosine", "-k", "5", "--method", "exact")
	}
	clitest.WriteFile(t, ".", "part.json", bodyOf(t, "of-a.answers.jsonl"))
	thresher(t, "merge", "of-b.npz", "part.json", "of-c.parquet", "--out", "merged.npz").WantCode(t, cli.ExitOK)
	got, want := answersOf(t, "merged.npz"), answersOf(t, "of-all.jsonl")
	for j := range want {
		if !slices.Equal(got[j].IDs, want[j].IDs) || !slices.Equal(got[j].Scores64, want[j].Scores64) || got[j].Guarantee != want[j].Guarantee {
			t.Errorf("query %d:\n%+v\n%+v", j, got[j], want[j])
		}
	}
	thresher(t, "merge", "part.json", "part.json").WantError(t, "part.json and part.json cannot be merged: both have answers over the same 3 vectors")
	clitest.WriteFile(t, ".", "bad.json", []byte(`{"title":"Not Found","status":404,"detail":"there is no collection b"}`))
	thresher(t, "merge", "of-b.npz", "bad.json").WantError(t, "bad.json", "a problem that the service stated: 404 Not Found: there is no collection b")
	clitest.WriteFile(t, ".", "cut.json", bodyOf(t, "of-a.answers.jsonl")[:900])
	thresher(t, "merge", "cut.json", "of-b.npz").WantError(t, "cut.json", "data is truncated")
}

// TestMergeOffsets: vectors without ids have their rows among all, and equal scores their order.
func TestMergeOffsets(t *testing.T) {
	mergeFolder(t)
	for _, atoms := range []string{"all", "a", "b", "c"} {
		searchTo(t, atoms+".npy", atoms+".npz", "--metric", "l2", "-k", "4", "--method", "exact")
	}
	thresher(t, "merge", "a.npz", "b.npz", "c.npz").WantError(t, "a.npz has row numbers alone", "b.npz", "offsets")
	thresher(t, "merge", "c.npz", "b.npz", "a.npz", "--offsets", "70,3,0", "--out", "merged.npz").WantCode(t, cli.ExitOK)
	got, want := answersOf(t, "merged.npz"), answersOf(t, "all.npz")
	for j := range want {
		got[j].Covers, want[j].Covers = nil, nil
		if d := cmp.Diff(want[j], got[j]); d != "" {
			t.Errorf("query %d: %s", j, d)
		}
	}
	r := thresher(t, "merge", "c.npz", "b.npz", "a.npz", "--offsets", "70,3,0", "-k", "2")
	r.WantCode(t, cli.ExitOK)
	clitest.WriteFile(t, ".", "two.jsonl", []byte(r.Out))
	for j, a := range answersOf(t, "two.jsonl") {
		if !slices.Equal(a.Rows, want[j].Rows[:2]) {
			t.Errorf("query %d: %v, want %v", j, a.Rows, want[j].Rows[:2])
		}
	}
}

// TestMergeNumbersAndTexts: ids that are whole numbers in one file stand before the texts of another.
func TestMergeNumbersAndTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.jsonl", []byte(`{"id":10,"vector":[1]}`+"\n"+`{"id":9,"vector":[1]}`+"\n"))
	clitest.WriteFile(t, ".", "b.jsonl", []byte(`{"id":"x","vector":[1]}`+"\n"+`{"id":"07","vector":[2]}`+"\n"))
	clitest.WriteFile(t, ".", "q.npy", npy([]float32{1}, 1))
	for _, atoms := range []string{"a", "b"} {
		searchTo(t, atoms+".jsonl", atoms+".npz", "--metric", "ip", "-k", "4")
	}
	thresher(t, "merge", "b.npz", "a.npz", "--out", "m.npz").WantCode(t, cli.ExitOK)
	if got := answersOf(t, "m.npz")[0]; !slices.Equal(got.IDs, []string{"07", "9", "10", "x"}) {
		t.Errorf("%+v", got)
	}
}

// TestMergeBadInput: what cannot be merged is refused with the names of the files, and nothing is written.
func TestMergeBadInput(t *testing.T) {
	mergeFolder(t)
	usual := []string{"--metric", "ip", "-k", "3"}
	searchTo(t, "a.jsonl", "a.npz", usual...)
	searchTo(t, "b.jsonl", "b.jsonl.npz", usual...)
	searchTo(t, "b.jsonl", "k.npz", "--metric", "ip", "-k", "4")
	searchTo(t, "b.jsonl", "l2.npz", "--metric", "l2", "-k", "3")
	searchTo(t, "b.jsonl", "floor.npz", append(usual, "--min-score", "0")...)
	searchTo(t, "b.npy", "rows.npz", usual...)
	searchTo(t, "all.jsonl", "all.npz", usual...)
	searchTo(t, "a.jsonl", "range.jsonl", "--metric", "ip", "--min-score", "0")
	thresher(t, "search", "--vectors", "b.jsonl", "--queries", "b.npy", "--metric", "ip", "-k", "3", "--out", "q.npz").WantCode(t, cli.ExitOK)
	clitest.WriteFile(t, ".", "theirs.jsonl", []byte(`{"query":0,"ids":[4,0],"scores":[3,3]}`+"\n"))
	clitest.WriteFile(t, ".", "garbled.npz", []byte("PK"))
	for _, x := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing", nil, []string{"merge: name the files"}},
		{"missing", []string{"a.npz", "none.npz"}, []string{"none.npz", "no such file"}},
		{"garbled", []string{"a.npz", "garbled.npz"}, []string{"garbled.npz"}},
		{"k", []string{"a.npz", "k.npz"}, []string{"a.npz and k.npz", "k differs, 3 and 4"}},
		{"metric", []string{"a.npz", "l2.npz"}, []string{"a.npz and l2.npz", "the metric differs, ip and l2"}},
		{"limits", []string{"a.npz", "floor.npz"}, []string{"a.npz and floor.npz", "least or greatest scores"}},
		{"queries", []string{"a.npz", "q.npz"}, []string{"a.npz and q.npz", "the number of queries differs, 7 and 67"}},
		{"one file twice", []string{"a.npz", "b.jsonl.npz", "a.npz"}, []string{"a.npz and a.npz", "both have answers over the same 3 vectors"}},
		{"overlap", []string{"a.npz", "all.npz"}, []string{"a.npz", "all.npz", "their vectors overlap"}},
		{"rows beside ids", []string{"a.npz", "rows.npz"}, []string{"rows.npz has row numbers alone", "a.npz"}},
		{"theirs", []string{"a.npz", "theirs.jsonl"}, []string{"theirs.jsonl does not state"}},
		{"greater k", []string{"a.npz", "b.jsonl.npz", "-k", "9"}, []string{"k = 9", "the 3 best"}},
		{"offsets", []string{"a.npz", "--offsets", "1,2"}, []string{"--offsets has 2 numbers for 1 files"}},
		{"stdin", []string{"-", "-"}, []string{"only one file can be standard input"}},
		{"folder", []string{"a.npz", "--out", "none/m.npz"}, []string{"there is no folder none"}},
		{"format", []string{"a.npz", "--out", "m.ivecs"}, []string{"name ends in none of"}},
		{"exists", []string{"a.npz", "--out", "b.jsonl.npz"}, []string{"b.jsonl.npz", "--overwrite overwrites it"}},
		{"input", []string{"a.npz", "--out", "a.npz", "--overwrite"}, []string{"a.npz is an input and would be overwritten"}},
		{"matrix", []string{"range.jsonl", "--out", "m.npz"}, []string{"answers of varying length do not fit a matrix"}},
		{"summary", []string{"a.npz", "--json"}, []string{"--json puts the summary on stdout"}},
		{"k", []string{"a.npz", "-k", "-1"}, []string{"-k -1 is negative"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			args := append([]string{"merge"}, x.args...)
			if !slices.Contains(args, "--out") && !slices.Contains(args, "--json") {
				args = append(args, "--out", "never.npz")
			}
			thresher(t, args...).WantError(t, x.want...)
			if left, _ := filepath.Glob("never*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			if left, _ := filepath.Glob(".thresher-merge-*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	thresher(t, "merge", "a.npz", "theirs.jsonl", "--unchecked").WantError(t, "theirs.jsonl")
}

// TestMergeUncheckedCommand: files of others are merged if that is wanted, and promise nothing.
func TestMergeUncheckedCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.csv", []byte("query,id,score\n0,ash,3\n0,yew,2\n"))
	clitest.WriteFile(t, ".", "b.csv", []byte("query,id,score\n0,oak,2.5\n"))
	r := thresher(t, "merge", "a.csv", "b.csv", "--unchecked", "--metric", "ip", "-k", "2")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, `"ids":["ash","oak"]`) || !strings.Contains(r.Out, `"guarantee":"heuristic"`) || !strings.Contains(r.Err, "was not checked") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	thresher(t, "merge", "a.csv", "b.csv", "--unchecked", "--metric", "ip").WantError(t, "do not state their k")
	thresher(t, "merge", "a.csv", "b.csv", "--unchecked", "-k", "2").WantError(t, "do not state their metric")
}

// TestCoverage: what a file covers does not depend on the container of its queries, nor on the origin that
// its vectors are taken relative to.
func TestCoverage(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.csv", []byte("id,x,y\n1,1000000.25,5\n2,1000000.5,6\n"))
	clitest.WriteFile(t, ".", "b.csv", []byte("id,x,y\n3,1.25,5\n4,2.5,6\n"))
	clitest.WriteFile(t, ".", "q.csv", []byte("x,y\n1000000.1,.5\n1,2\n"))
	clitest.WriteFile(t, ".", "q.jsonl", []byte("[1000000.1,0.5]\n[1,2]\n"))
	clitest.WriteFile(t, ".", "r.jsonl", []byte("[1000000.1,0.5000000001]\n[1,2]\n"))
	covers := func(atoms, queries string) *tasks.Coverage {
		r := thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "l2", "-k", "1")
		r.WantCode(t, cli.ExitOK)
		clitest.WriteFile(t, ".", "out.jsonl", []byte(r.Out))
		all := answersOf(t, "out.jsonl")
		if all[1].Covers != nil {
			t.Errorf("the second answer has covers, too: %s", all[1].Covers)
		}
		c, err := tasks.ReadCoverage(all[0].Covers)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove("out.jsonl")
		return c
	}
	a, b := covers("a.csv", "q.csv"), covers("b.csv", "q.jsonl")
	if a.Queries != b.Queries || a.Count != 2 || a.Shards[0].Digest == b.Shards[0].Digest {
		t.Errorf("%+v\n%+v", a, b)
	}
	if c := covers("a.csv", "r.jsonl"); c.Queries == a.Queries || c.Shards[0] != a.Shards[0] {
		t.Errorf("%+v\n%+v", a, c)
	}
}

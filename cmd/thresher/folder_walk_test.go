package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// drawnLines are vectors as JSON lines, with ids and a column, of which many are equal.
func drawnLines(seed uint64, dim int, ids []int, id func(int) string) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	row := make([]string, dim)
	for at, i := range ids {
		if at%7 != 3 { // else as the one before
			for j := range row {
				row[j] = fmt.Sprint(r.IntN(5) - 2)
			}
			row[at%dim] = "3"
		}
		fmt.Fprintf(&b, `{"id":%s,"year":%d,"vector":[%s]}`+"\n", id(i), 1990+i%40, strings.Join(row, ","))
	}
	return b.Bytes()
}

// far are vectors as JSON lines that are equal once they are rounded to float32, and are as far from each other as 2^-10 of those of lines.
func far(t *testing.T, lines []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for line := range strings.Lines(string(lines)) {
		before, values, _ := strings.Cut(strings.TrimSuffix(line, "]}\n"), `"vector":[`)
		var row []string
		for _, text := range strings.Split(values, ",") {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, fmt.Sprint(1e6+x/1024))
		}
		fmt.Fprintf(&b, "%s\"vector\":[%s]}\n", before, strings.Join(row, ","))
	}
	return b.Bytes()
}

// everyThird are n ids from first on.
func everyThird(first, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = first + 3*i
	}
	return ids
}

// foundIn returns what the answers of a file say but for the work done.
func foundIn(t *testing.T, path string) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(string(clitest.ReadFile(t, path))) {
		answer, _, _ := strings.Cut(line, `,"pulls"`)
		found = append(found, answer)
	}
	return strings.Join(found, "\n")
}

// TestFolderWalk: searches of a folder of several segments, with deletions and a tail, have the ids, rows and scores of a collection of the same
// vectors, whatever queries ask for; and the verbs that judge answers find the same.
func TestFolderWalk(t *testing.T) {
	race.Skip(t, "takes minutes")
	t.Chdir(t.TempDir())
	const dim = 32
	number := func(i int) string { return fmt.Sprint(i) }
	text := func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("doc-%d", i*7919%100_003)) }
	run := func(args ...string) string {
		t.Helper()
		got := thresher(t, args...)
		got.WantCode(t, cli.ExitOK)
		return got.Out + got.Err
	}
	gone := new(bytes.Buffer)
	for _, i := range everyThird(7, 4500)[100:160] {
		fmt.Fprintln(gone, i)
	}
	clitest.WriteFile(t, ".", "gone.txt", gone.Bytes())
	for at, dtype := range []string{"float32", "float32", "float32", "float64"} {
		metric := []string{"ip", "cosine", "l2", "l2"}[at]
		id := number
		if at == 1 {
			id = text
		}
		drawn := func(seed uint64, ids []int, id func(int) string) []byte {
			lines := drawnLines(seed, dim, ids, id)
			if dtype == "float64" {
				return far(t, lines)
			}
			return lines
		}
		folder, block, q := metric+"-"+dtype+"/", metric+"-"+dtype+".thresher", metric+"-q.jsonl"
		clitest.WriteFile(t, ".", "a.jsonl", drawn(1, everyThird(7, 4500), id))
		clitest.WriteFile(t, ".", "b.jsonl", drawn(2, everyThird(7+3*4200, 900), id))
		queries := strings.SplitAfter(string(drawn(3, everyThird(0, 12), number)), "\n")
		for j := range queries[:12] {
			queries[j] = strings.Replace(queries[j], `"vector"`, fmt.Sprintf(`"own":%d,"least":%d,"only":"year < %d","vector"`, 1+5*j, j-3, 1992+j/3*4), 1)
		}
		clitest.WriteFile(t, ".", q, []byte(strings.Join(queries, "")))
		clitest.WriteFile(t, ".", "seen.jsonl", []byte(strings.Repeat("[0,1,2,3,4000,4900]\n", 12)))
		run("build", "--vectors", "a.jsonl", "--metric", metric, "--vectors-column", "vector", "--columns", "year", "--dtype", dtype, "--out", folder)
		run("rows", "put", "--collection", folder, "--vectors", "b.jsonl")
		if at != 1 {
			run("rows", "delete", "--collection", folder, "--ids", "gone.txt")
		} else {
			run("rows", "delete", "--collection", folder, "--filter", "year = 1994")
		}
		if got := run("info", folder); !strings.Contains(got, "log") || !strings.Contains(got, ".thresher") {
			t.Fatalf("no segment, or no log: %s", got)
		}
		run("build", "--vectors", folder, "--metric", metric, "--columns", "all", "--out", block)
		answered := func(out string, args ...string) string {
			t.Helper()
			run(append(args, "--queries", q, "--queries-column", "vector", "--out", out, "--overwrite")...)
			return foundIn(t, out)
		}
		least := map[string]string{"ip": "--min-score=20", "cosine": "--min-score=.4", "l2": "--max-distance=60"}[metric]
		if dtype == "float64" {
			least = "--max-distance=5.7e-5"
		}
		for _, asked := range [][]string{
			{"search", "-k", "10"}, {"search", "-k", "3", "--filter", "year < 1993"}, {"search", "-k", "5", "--filter", "year in (1991, 2003)", "--exclude", "seen.jsonl", "--integers", "rows"},
			{"search", "--k-column", "own"}, {"search", "-k", "5", "--filter-column", "only"}, {"search", least}, {"search", "-k", "7", least, "--filter", "year >= 2000"}, {"search", "-k", "6000", "--filter", "year > 2027"}, {"truth", "-k", "20"},
		} {
			for _, method := range []string{"exact", "certain"} {
				args := append(slices.Clone(asked), "--method", method)
				if want, got := answered("block.jsonl", append(args, "--vectors", block)...), answered("walk.jsonl", append(args, "--vectors", folder)...); got != want || got == "" {
					t.Errorf("%s %v: the folder answers\n%.900s\nthe collection\n%.900s", metric, args, got, want)
				}
			}
		}
		if walked := string(read(t, "walk.jsonl")); !strings.Contains(walked, `"plan":"merged"`) {
			t.Errorf("%s is not walked: %.900s", folder, walked)
		}
		// what the judges find, of answers of which one lacks its best
		for _, vectors := range []string{folder, block} {
			in := []string{"--vectors", vectors, "--queries", q, "--queries-column", "vector", "--answers"}
			run(append([]string{"verify"}, append(in, "walk.jsonl")...)...)
			if got := run(append([]string{"recall"}, append(in, "walk.jsonl")...)...); !strings.Contains(got, "recall") || !strings.Contains(got, "1.0000") {
				t.Errorf("recall says %s", got)
			}
		}
		clitest.WriteFile(t, ".", "ids.jsonl", idLines(t, "walk.jsonl", 4))
		wrong := thresher(t, "verify", "--vectors", folder, "--queries", q, "--queries-column", "vector", "--answers", "ids.jsonl", "--integers", "rows")
		if wrong.Code != cli.ExitWrong || !strings.Contains(wrong.Out+wrong.Err, "1 of 12 answers are wrong") {
			t.Errorf("verify: code %d, %s%s", wrong.Code, wrong.Out, wrong.Err)
		}
		certified := func(vectors string) string {
			return answered(vectors[:2]+"-certified.jsonl", "certify", "--vectors", vectors, "--answers", "ids.jsonl", "--integers", "rows")
		}
		if got, want := certified(folder), certified(block); got != want {
			t.Errorf("certify: %.900s\nwant\n%.900s", got, want)
		}
		lacks := func(vectors string) string {
			run("recall", "--vectors", vectors, "--queries", q, "--queries-column", "vector", "--answers", "ids.jsonl", "--integers", "rows", "--missed", "missed.jsonl", "--overwrite")
			return string(read(t, "missed.jsonl"))
		}
		if got, want := lacks(folder), lacks(block); got != want || strings.Count(got, "\n") != 1 {
			t.Errorf("recall lacks %s, of the collection %s", got, want)
		}
		// parts, and the vectors as their own queries
		for _, part := range []string{"0/2", "1/2"} {
			got, want := answered("walk.jsonl", "search", "-k", "4", "--method", "certain", "--vectors", folder, "--part", part), answered("block.jsonl", "search", "-k", "4", "--method", "certain", "--vectors", block, "--part", part)
			if got != want || strings.Count(got, "\n") != 5 {
				t.Errorf("part %s: %s\nwant\n%s", part, got, want)
			}
		}
		for _, vectors := range []string{folder, block} {
			run("search", "--vectors", vectors, "--queries", folder, "--exclude-self", "-k", "1", "--method", "exact", "--out", vectors[:2]+".npz", "--overwrite")
			run("verify", "--vectors", vectors, "--queries", folder, "--exclude-self", "--sample", "9", "--answers", vectors[:2]+".npz")
		}
	}
}

// idLines are the rows of the answers of a file, of which that to query j lacks its best.
func idLines(t *testing.T, path string, j int) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, a := range answersOf(t, path) {
		rows := a.Rows
		if i == j {
			rows = append(slices.Clone(rows[1:]), 0)
		}
		fmt.Fprintf(&b, "{\"query\":%d,\"ids\":%s}\n", i, strings.ReplaceAll(fmt.Sprint(rows), " ", ","))
	}
	return b.Bytes()
}

// TestFolderWalkResumes: a run that was stopped goes on, of the same vectors alone.
func TestFolderWalkResumes(t *testing.T) {
	race.Skip(t, "one goroutine")
	t.Chdir(t.TempDir())
	number := func(i int) string { return fmt.Sprint(i) }
	clitest.WriteFile(t, ".", "a.jsonl", drawnLines(1, 32, everyThird(7, 4200), number))
	clitest.WriteFile(t, ".", "q.jsonl", drawnLines(3, 32, everyThird(0, 12), number))
	search := []string{"search", "--vectors", "f/", "--queries", "q.jsonl", "--queries-column", "vector", "-k", "3", "--chunk", "4", "--resume", "--out", "out.npz"}
	thresher(t, "build", "--vectors", "a.jsonl", "--vectors-column", "vector", "--metric", "ip", "--out", "f/").WantCode(t, cli.ExitOK)
	thresher(t, search...).WantCode(t, cli.ExitOK)
	if got := thresher(t, search...); got.Code != cli.ExitOK || !strings.Contains(got.Err, "12 of them by an earlier run") {
		t.Errorf("again: code %d, %s", got.Code, got.Err)
	}
	if _, err := os.Stat(filepath.Join("f", "verified.json")); err != nil {
		t.Error(err)
	}
	clitest.WriteFile(t, ".", "gone.txt", []byte("10\n"))
	thresher(t, "rows", "delete", "--collection", "f", "--ids", "gone.txt").WantCode(t, cli.ExitOK)
	if got := thresher(t, search...); got.Code == cli.ExitOK {
		t.Errorf("went on with other vectors: %s", got.Err)
	}
}

// TestFolderWalkMemory: searches of a folder, and the verbs that judge answers, allocate less than its vectors take, though those that wait to
// be sealed, a quarter here, are in memory. Vectors that are read as one block take more than themselves.
func TestFolderWalkMemory(t *testing.T) {
	race.Skip(t, "allocations")
	t.Chdir(t.TempDir())
	const n, dim = 16_000, 256
	clitest.WriteFile(t, ".", "a.npy", typedNPY(t, dataset.ElemFloat32, n, dim))
	clitest.WriteFile(t, ".", "q.npy", typedNPY(t, dataset.ElemFloat32, 8, dim))
	thresher(t, "build", "--vectors", "a.npy", "--metric", "l2", "--out", "f/").WantCode(t, cli.ExitOK)
	thresher(t, "search", "--vectors", "f/", "--queries", "q.npy", "-k", "1", "--out", "first.npz").WantCode(t, cli.ExitOK) // which verifies
	for _, args := range [][]string{
		{"search", "-k", "10", "--method", "exact", "--out", "a.npz"}, {"search", "-k", "10", "--out", "b.npz"}, {"truth", "-k", "10", "--out", "c.npz"},
		{"certify", "--answers", "c.npz", "--out", "d.npz"}, {"recall", "--answers", "c.npz"}, {"verify", "--answers", "c.npz"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		thresher(t, append(args, "--vectors", "f/", "--queries", "q.npy", "--threads", "2")...).WantCode(t, cli.ExitOK)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*n*dim {
			t.Errorf("%s allocates %d bytes, the vectors have %d", args[0], took, 4*n*dim)
		}
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// npyInts encodes integers as an npy of one dimension.
func npyInts(values ...int64) []byte {
	dict := fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d,)}", len(values))
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(dict)), 0)
	b = append(b, dict...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// npzFile writes arrays, which are npy, and returns the path.
func npzFile(t *testing.T, dir, name string, arrays map[string][]byte) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range arrays {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return clitest.WriteFile(t, dir, name, b.Bytes())
}

// csrFile writes lists as a sparse matrix of scipy with a number of columns.
func csrFile(t *testing.T, dir, name string, columns int64, lists [][]int64) string {
	indptr := []int64{0}
	for _, list := range lists {
		indptr = append(indptr, indptr[len(indptr)-1]+int64(len(list)))
	}
	return npzFile(t, dir, name, map[string][]byte{
		"indptr": npyInts(indptr...), "indices": npyInts(slices.Concat(lists...)...), "shape": npyInts(int64(len(lists)), columns),
	})
}

func jsonLists(t *testing.T, dir, name string, lists [][]int64) string {
	t.Helper()
	var b []byte
	for _, list := range lists {
		line, err := json.Marshal(append([]int64{}, list...))
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	return clitest.WriteFile(t, dir, name, b)
}

func ivecsLists(t *testing.T, dir, name string, lists [][]int64) string {
	t.Helper()
	var b []byte
	for _, list := range lists {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
		for _, id := range list {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
	}
	return clitest.WriteFile(t, dir, name, b)
}

// ranked returns the row numbers of the atoms by descending inner product with query j, in
// float64.
func ranked(atoms, queries []float32, dim, j int) []int64 {
	n := len(atoms) / dim
	scores := make([]float64, n)
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(i)
		for d := range dim {
			scores[i] += float64(atoms[i*dim+d]) * float64(queries[j*dim+d])
		}
	}
	slices.SortStableFunc(rows, func(a, b int64) int {
		if scores[a] > scores[b] {
			return -1
		}
		return 1
	})
	return rows
}

// TestExclude: each query has the best of the atoms that are not in its list, for lists of
// 10,000 atoms, of all, of none, with repeats and in any order, in every form.
func TestExclude(t *testing.T) {
	const n, m, dim, k = 12_000, 6, 16, 5
	dir := t.TempDir()
	atomRows, queryRows := gaussian(1, n*dim), gaussian(2, m*dim)
	atoms, queries := clitest.WriteFile(t, dir, "a.npy", npy(atomRows, dim)), clitest.WriteFile(t, dir, "q.npy", npy(queryRows, dim))
	r := rand.New(rand.NewPCG(1, 2))
	lists := make([][]int64, m)
	best := make([][]int64, m)
	for j := range lists {
		best[j] = ranked(atomRows, queryRows, dim, j)
	}
	lists[0] = slices.Clone(best[0][:10_000])
	lists[1] = slices.Concat(best[1][3:9_000], best[1][8:10], best[1][5:6])
	lists[2] = slices.Clone(best[2]) // all
	lists[4] = slices.Clone(best[4][:n-2])
	lists[5] = []int64{best[5][0], best[5][0], best[5][2]}
	for j, list := range lists {
		r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		excluded := make([]bool, n)
		for _, id := range list {
			excluded[id] = true
		}
		best[j] = slices.DeleteFunc(best[j], func(id int64) bool { return excluded[id] })
		best[j] = best[j][:min(k, len(best[j]))]
	}
	for _, exclude := range []string{
		csrFile(t, dir, "seen.npz", n, lists), jsonLists(t, dir, "seen.jsonl", lists), ivecsLists(t, dir, "seen.ivecs", lists),
	} {
		for _, method := range []string{"exact", "certain", "adaptive"} {
			out := filepath.Join(dir, method+filepath.Base(exclude)+".jsonl")
			args := []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "-k5", "--exclude", exclude}
			thresher(t, append([]string{"search", "--method", method, "--chunk", "4", "--out", out}, args...)...).WantCode(t, cli.ExitOK)
			for j, got := range answersOf(t, out) {
				if diff := cmp.Diff(best[j], got.Rows); len(got.Rows)+len(best[j]) > 0 && diff != "" {
					t.Errorf("%s, %s, query %d (-want +got):\n%s", filepath.Base(exclude), method, j, diff)
				}
			}
			thresher(t, append([]string{"verify", "--answers", out}, args...)...).WantCode(t, cli.ExitOK)
		}
	}
	out := filepath.Join(dir, "plain.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k5", "--out", out).WantCode(t, cli.ExitOK)
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k5", "--exclude", filepath.Join(dir, "seen.npz"), "--answers", out).WantCode(t, cli.ExitWrong)
}

// TestExcludeByID: the ids of lists are those of the column that --ids names, and texts those of
// the column id; a list can come from standard input.
func TestExcludeByID(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"id":"a","key":20,"v":[3,1]}`+"\n"+`{"id":"b","key":10,"v":[2,4]}`+"\n"+`{"id":"c","key":0,"v":[1,2]}`+"\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,0]\n[0,1]\n"))
	keys := csrFile(t, dir, "keys.npz", 21, [][]int64{{20}, {0, 10}})
	for _, c := range []struct {
		lists, stdin string
		args         []string
		want         [][]int64
	}{
		{"-", "[0]\n[2,1]\n", nil, [][]int64{{1, 2}, {0}}},
		{"-", `["a"]` + "\n" + `["c","b","c"]` + "\n", nil, [][]int64{{1, 2}, {0}}},
		{"-", `{"query":1,"ids":["b"]}`, nil, [][]int64{{0, 1, 2}, {2, 0}}},
		{keys, "", []string{"--ids", "key"}, [][]int64{{1, 2}, {0}}},
		{"-", "[20]\n[0,10]\n", []string{"--ids", "key"}, [][]int64{{1, 2}, {0}}},
	} {
		out := filepath.Join(dir, "r.jsonl")
		args := append([]string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--exclude", c.lists}, c.args...)
		thresherWith(t, t.Context(), c.stdin, append([]string{"search", "--out", out, "--overwrite"}, args...)...).WantCode(t, cli.ExitOK)
		var got [][]int64
		for _, r := range answersOf(t, out) {
			got = append(got, r.Rows)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.lists, c.stdin, diff)
		}
		thresherWith(t, t.Context(), c.stdin, append([]string{"verify", "--answers", out}, args...)...).WantCode(t, cli.ExitOK)
	}
}

func TestExcludeRefusesBadInput(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir) // 60 atoms, 200 queries
	lists := make([][]int64, 200)
	lists[17] = []int64{3, 4, 60}
	outside, outsideLines := csrFile(t, dir, "outside.npz", 60, lists), jsonLists(t, dir, "outside.jsonl", lists)
	lists[17] = nil
	foreign := csrFile(t, dir, "foreign.npz", 61, lists)
	narrow := csrFile(t, dir, "narrow.npz", 59, slices.Repeat([][]int64{{7, 5}}, 200))
	fewer, more := csrFile(t, dir, "fewer.npz", 60, lists[1:]), jsonLists(t, dir, "more.jsonl", append(lists, nil))
	moreOfLines := jsonLists(t, dir, "moreoflines.jsonl", [][]int64{{}, {}, {}})
	broken := npzFile(t, dir, "broken.npz", map[string][]byte{"indptr": npyInts(0, 2, 1), "indices": npyInts(1, 2)})
	lines := clitest.WriteFile(t, dir, "lines.jsonl", []byte("[1,2,3,4,5,6,7,8,9,0,1,2]\n[1,2,3,4,5,6,7,8,9,0,1,2]\n"))
	far := clitest.WriteFile(t, dir, "far.jsonl", []byte(`{"query":900000000000000,"ids":[1]}`+"\n"))
	named := clitest.WriteFile(t, dir, "named.jsonl", []byte(strings.Repeat("[\"a\"]\n", 200)))
	negative := clitest.WriteFile(t, dir, "negative.jsonl", []byte(strings.Repeat("[]\n", 199)+"[-1]\n"))
	out := filepath.Join(dir, "out.npz")
	before := clitest.FolderOf(t, dir)
	search := func(queries, exclude string, more ...string) []string {
		return append([]string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--exclude", exclude, "--out", out}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"a vector outside the matrix", search(queries, outside), []string{"outside.npz:indices", "row 2", "id 60 of row 17", "[0, 60)"}},
		{"a vector that does not exist", search(queries, outsideLines), []string{"outside.jsonl", "query 17", "entry 3", "vector 60", "0 to 59"}},
		{"a negative vector", search(queries, negative), []string{"negative.jsonl", "query 199", "entry 1", "vector -1"}},
		{"a matrix of another collection", search(queries, foreign), []string{"foreign.npz", "61 columns", "60 vectors", "another collection"}},
		{"a matrix of fewer vectors", search(queries, narrow), []string{"narrow.npz", "59 columns", "60 vectors", "another collection"}},
		{"fewer lists", search(queries, fewer), []string{"fewer.npz has 199 lists", "200 queries", "q.npy"}},
		{"more lists", search(queries, more), []string{"more.jsonl has more than 200 lists", "200 queries", "q.npy"}},
		{"a list of a query far beyond", search(queries, far), []string{"far.jsonl has more than 200 lists"}},
		{"fewer lines", search(queries, lines), []string{"lines.jsonl has 2 lists", "200 queries", `{"query":199,"ids":[]}`}},
		{"more lists than lines of queries", search(lines, moreOfLines), []string{"moreoflines.jsonl has more than 2 lists", "2 queries", "lines.jsonl"}},
		{"bad indptr", search(queries, broken), []string{"broken.npz:indptr", "row 2", "1 is below the 2"}},
		{"texts without ids", search(queries, named), []string{"named.jsonl", "query 0", "entry 1", `"a"`, "no column id"}},
		{"vectors", search(queries, atoms), []string{"a.npy", "does not hold lists of ids"}},
		{"none", search(queries, filepath.Join(dir, "none.npz")), []string{"none.npz", "no such file"}},
		{"the lists as output", search(queries, foreign, "--out", foreign, "--overwrite"), []string{"foreign.npz", "overwritten"}},
		{"two from standard input", search("-", "-"), []string{"search", "only one"}},
		{"two from standard input to verify", []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", "-", "--exclude", "-"}, []string{"verify", "only one"}},
		{"fewer lists to verify", []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--exclude", fewer}, []string{"fewer.npz has 199 lists"}},
		{"a vector that does not exist to verify", []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--exclude", outsideLines}, []string{"query 17", "vector 60"}},
		{"a published method", search(queries, jsonLists(t, dir, "ok.jsonl", lists), "--method", "bucket-ae", "--chunk", "1"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := thresher(t, c.args...)
			if c.want == nil { // answered, or refused with a reason
				if r.Code != cli.ExitOK && r.Code != cli.ExitInput {
					t.Errorf("exit code %d: %s", r.Code, r.Err)
				}
				os.Remove(out)
				os.Remove(filepath.Join(dir, "ok.jsonl"))
				return
			}
			r.WantError(t, c.want...)
			after := slices.DeleteFunc(clitest.FolderOf(t, dir), func(name string) bool { return name == "ok.jsonl" })
			if !slices.Equal(after, before) {
				t.Errorf("the folder holds %v, before %v", after, before)
			}
		})
	}
}

// TestExcludeResumes: a run that was killed goes on with the lists of the queries left.
func TestExcludeResumes(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 120, 40), vectorFile(t, dir, "q.npy", 2, 2000, 40)
	lists := make([][]int64, 2000)
	for j := range lists {
		lists[j] = []int64{int64(j % 120), int64(j * 7 % 120)}
	}
	exclude := csrFile(t, dir, "seen.npz", 120, lists)
	lists[1999] = nil
	other := csrFile(t, dir, "other.npz", 120, lists)
	args := func(out string) []string {
		return []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k4", "--exclude", exclude, "--out", out}
	}
	whole, out := filepath.Join(dir, "whole.npz"), filepath.Join(dir, "out.npz")
	thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
	child(t, func(p *os.Process) { p.Kill() }, args(out)...)
	thresher(t, append(args(out), "--resume", "--exclude", other)...).WantError(t, "other vectors or settings")
	r := thresher(t, append(args(out), "--resume")...)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "by an earlier run") || !bytes.Equal(clitest.ReadFile(t, whole), clitest.ReadFile(t, out)) {
		t.Errorf("the answers differ from those of an uninterrupted run:\n%s", r.Err)
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k4", "--exclude", exclude, "--answers", out).WantCode(t, cli.ExitOK)
}

// TestCertifyExcludes: answers with atoms that the query has seen are corrected.
func TestCertifyExcludes(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	lists := make([][]int64, 200)
	answered := answersOf(t, answers)
	for j := range lists {
		if j%4 == 0 {
			lists[j] = answered[j].Rows[1:2]
		}
	}
	exclude := ivecsLists(t, dir, "seen.ivecs", lists)
	out := filepath.Join(dir, "proven.jsonl")
	s := summaryOf(t, thresher(t, "certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--exclude", exclude, "--out", out, "--json"))
	if s.Certified.Right != 150 || s.Certified.Missed != 50 || s.Candidates.Given != 550 {
		t.Errorf("%+v", s)
	}
	for j, r := range answersOf(t, out) {
		if j%4 == 0 && slices.Contains(r.Rows, lists[j][0]) || len(r.Rows) != 3 {
			t.Errorf("query %d: %v", j, r.Rows)
		}
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--exclude", exclude, "--answers", out).WantCode(t, cli.ExitOK)
	var one dataset.Result
	rewrite(t, out, filepath.Join(dir, "tampered.jsonl"), func(j int, r *dataset.Result) {
		if j == 8 {
			r.Rows[0], one = lists[8][0], *r
		}
	})
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--exclude", exclude, "--ignore-scores", "--answers", filepath.Join(dir, "tampered.jsonl")).WantCode(t, cli.ExitWrong)
	if one.Rows == nil {
		t.Error("nothing was tampered with")
	}
}

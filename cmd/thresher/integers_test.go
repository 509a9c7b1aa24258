package main

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// idFile writes n vectors with a column of ids, a permutation of the row numbers where whole is nil.
func idFile(t *testing.T, dir, name, column string, n, dim int, id func(row int) string) string {
	t.Helper()
	var b bytes.Buffer
	rows := gaussian(31, n*dim)
	for i := range n {
		v := strings.ReplaceAll(fmt.Sprint(rows[i*dim:(i+1)*dim]), " ", ",")
		fmt.Fprintf(&b, `{%q:%s,"vector":%s}`+"\n", column, id(i), v)
	}
	return clitest.WriteFile(t, dir, name, b.Bytes())
}

func permuted(n int) func(int) string {
	return func(row int) string { return fmt.Sprint((row*7 + 3) % n) }
}

// TestAnswersByIDs: what search --ids writes, verify, recall and certify with --ids find right, in every format.
func TestAnswersByIDs(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, dim = 40, 6
	dir := t.TempDir()
	queries := vectorFile(t, dir, "q.npy", 32, 30, dim)
	for kind, id := range map[string]func(int) string{
		"integers": permuted(n),
		"texts":    func(row int) string { return fmt.Sprintf("%q", fmt.Sprintf("t%d", row)) },
		"padded":   func(row int) string { return fmt.Sprintf("%q", fmt.Sprintf("%03d", row)) },
		"wide":     func(row int) string { return fmt.Sprint(uint64(math.MaxUint64) - 2*uint64(row) - 2) },
	} {
		for _, column := range []string{"id", "movie"} {
			atoms := idFile(t, dir, kind+column+".jsonl", column, n, dim, id)
			for _, format := range []string{".npz", ".parquet", ".jsonl", ".ivecs", ".ibin"} {
				out := filepath.Join(dir, "out-"+kind+column+format)
				files := []string{"--vectors", atoms, "--queries", queries, "--ids", column, "--metric", "cosine"}
				r := thresher(t, append([]string{"search", "-k5", "--method", "exact", "--out", out}, files...)...)
				if (format == ".ivecs" || format == ".ibin") && kind != "integers" {
					r.WantError(t, "--out", "holds integers below 2^31", "without --ids")
					continue
				}
				r.WantCode(t, cli.ExitOK)
				files = append(files, "--answers", out)
				thresher(t, append([]string{"verify", "--guarantee", "exact"}, files...)...).WantCode(t, cli.ExitOK)
				if r := recallOf(t, files...); r.Recall != 1 || r.Queries != 30 {
					t.Errorf("%s %s: recall %+v", kind, format, r.RecallReport)
				}
				s := summaryOf(t, thresher(t, append([]string{"certify", "--out", filepath.Join(dir, "p.npz"), "--overwrite", "--json"}, files...)...)).Certified
				if s.Right != 30 {
					t.Errorf("%s %s: certify finds %+v", kind, format, s)
				}
			}
		}
	}
}

// TestIntegersOfAnswers: of atoms with a column id of integers, the stated scores say whether answers
// have row numbers or ids; without scores they are refused, and --ids and --integers decide.
func TestIntegersOfAnswers(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, dim, k = 40, 6, 5
	dir := t.TempDir()
	atoms, queries := idFile(t, dir, "a.jsonl", "id", n, dim, permuted(n)), vectorFile(t, dir, "q.npy", 32, 30, dim)
	files := []string{"--vectors", atoms, "--queries", queries, "--metric", "cosine"}
	found := filepath.Join(dir, "found.jsonl")
	thresher(t, append([]string{"search", "-k5", "--method", "exact", "--out", found}, files...)...).WantCode(t, cli.ExitOK)
	right := readAnswers(t, found)

	write := func(name string, byID, scored bool, shift int64) string {
		var b bytes.Buffer
		for _, r := range right {
			line := dataset.Result{Query: r.Query, Rows: slices.Clone(r.Rows)}
			if scored {
				line.Scores = r.Scores
			}
			for at, row := range line.Rows {
				if byID {
					line.Rows[at] = (row*7 + 3) % n
				}
				line.Rows[at] += shift
			}
			b.Write(dataset.AppendJSONL(nil, &line, true))
		}
		return clitest.WriteFile(t, dir, name, b.Bytes())
	}
	for _, byID := range []bool{false, true} {
		name := fmt.Sprintf("ids-%v", byID)
		scored, bare := write(name+"-scored.jsonl", byID, true, 0), write(name+".jsonl", byID, false, 0)
		word := []string{"--integers", "rows"}
		if byID {
			word = []string{"--integers", "ids"}
		}
		for _, args := range [][]string{{"--answers", scored}, append([]string{"--answers", scored}, word...), append([]string{"--answers", bare}, word...)} {
			args = append(args, files...)
			thresher(t, append([]string{"verify", "--guarantee", "exact"}, args...)...).WantCode(t, cli.ExitOK)
			if r := recallOf(t, args...); r.Recall != 1 {
				t.Errorf("%q: recall %+v", args, r.RecallReport)
			}
			s := summaryOf(t, thresher(t, append([]string{"certify", "--out", filepath.Join(dir, "p.npz"), "--overwrite", "--json"}, args...)...)).Certified
			if s.Right != 30 {
				t.Errorf("%q: certify finds %+v", args, s)
			}
		}
		for _, verb := range []string{"verify", "recall", "certify", "search"} {
			args := append([]string{verb, "--answers", bare}, files...)
			if verb == "search" {
				args[1] = "--candidates"
			}
			thresher(t, args...).WantError(t, name+".jsonl", "can be row numbers of", "or ids of its column id", "--ids id", "--integers rows")
		}
		thresher(t, append([]string{"search", "--exclude", bare}, files...)...).WantError(t, "can be row numbers of", "--integers rows")
		thresher(t, append(append([]string{"search", "-k3", "--exclude", bare}, word...), files...)...).WantCode(t, cli.ExitOK)
	}
	thresher(t, append([]string{"recall", "--answers", found, "--integers", "names"}, files...)...).WantError(t, "--integers", "none of rows, ids")

	// Ids that are no row numbers leave one reading.
	far := idFile(t, dir, "far.jsonl", "id", n, dim, func(row int) string { return fmt.Sprint((row*7+3)%n + 1000) })
	for answers, ok := range map[string]bool{write("far.jsonl.jsonl", true, false, 1000): true, write("rows.jsonl", false, false, 0): true} {
		r := recallOf(t, "--vectors", far, "--queries", queries, "--metric", "cosine", "--answers", answers)
		if (r.Recall == 1) != ok {
			t.Errorf("%s: %+v", answers, r.RecallReport)
		}
	}
}

// readAnswers reads a file of answers.
func readAnswers(t *testing.T, path string) []dataset.Result {
	t.Helper()
	var all []dataset.Result
	err := eachAnswer(t.Context(), input{path: path, name: path}, func(r *dataset.Result) (bool, error) {
		all = append(all, *r)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

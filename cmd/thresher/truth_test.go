package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestTruth: ground truth in every form is the ranking by float64 scores, where atoms of equal
// score are in the order of their ids.
func TestTruth(t *testing.T) {
	const n, m, dim = 500, 9, 24
	dir := t.TempDir()
	atomRows, queryRows := gaussian(1, n*dim), gaussian(2, m*dim)
	for i := n / 2; i < n; i++ { // twins
		copy(atomRows[i*dim:(i+1)*dim], atomRows[(i-n/2)*dim:])
	}
	atoms, queries := clitest.WriteFile(t, dir, "a.npy", npy(atomRows, dim)), clitest.WriteFile(t, dir, "q.npy", npy(queryRows, dim))
	want := make([][]int64, m)
	for j := range want {
		want[j] = ranked(atomRows, queryRows, dim, j)
	}
	for _, method := range []string{"", "exact"} {
		for _, name := range formats() {
			out, k := filepath.Join(dir, method+name), 100
			args := []string{"truth", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out, "--json", "--chunk", "4"}
			if method != "" {
				k = 99 // between twins
				args = append(args, "--method", method, "-k99")
			}
			s := summaryOf(t, thresher(t, args...))
			if s.K != k || s.Guarantee != "exact" && s.Guarantee != "certain" || s.Output != out {
				t.Errorf("%s: summary %+v", name, s)
			}
			for j, r := range answersOf(t, out) {
				if diff := cmp.Diff(want[j][:k], r.Rows); diff != "" {
					t.Errorf("%s, query %d (-want +got):\n%s", name, j, diff)
				}
			}
			thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--guarantee", "exact", "--answers", out).WantCode(t, cli.ExitOK)
		}
	}
}

// TestTruthForms compares the bytes of small files with their layouts.
func TestTruthForms(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1]\n[5]\n"))
	le := func(parts ...any) []byte {
		var b bytes.Buffer
		for _, p := range parts {
			if err := binary.Write(&b, binary.LittleEndian, p); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	ids, distances := []int32{1, 0, 2, 3, 2, 1}, []float32{0, 1, 1, 4, 9, 16}
	for _, c := range []struct {
		out, scores    string
		args           []string
		want, wantPart []byte
	}{
		{"gt.ibin", "", []string{"-k3"}, le(uint32(2), uint32(3), ids, distances), nil},
		{"gt.neighbors.ibin", "gt.distances.fbin", []string{"-k3"}, le(uint32(2), uint32(3), ids), le(uint32(2), uint32(3), distances)},
		{"gt.ivecs", "gt.fvecs", []string{"-k3"}, le(int32(3), ids[:3], int32(3), ids[3:]), le(int32(3), distances[:3], int32(3), distances[3:])},
		{"range.ibin", "", []string{"--max-distance", "4"}, le(uint32(2), uint32(5), []int32{4, 1}, []int32{1, 0, 2, 3, 3}, []float32{0, 1, 1, 4, 4}), nil},
		{"short.ivecs", "short.fvecs", []string{"-k2", "--max-distance", "4"}, le(int32(2), ids[:2], int32(2), []int32{3, -1}), le(int32(2), distances[:2], int32(2), []float32{4, float32(math.Inf(-1))})},
	} {
		out := filepath.Join(dir, c.out)
		args := append([]string{"truth", "--metric", "l2", "--vectors", atoms, "--queries", queries, "--out", out}, c.args...)
		if c.scores != "" {
			args = append(args, "--scores", filepath.Join(dir, c.scores))
		}
		thresher(t, args...).WantCode(t, cli.ExitOK)
		if diff := cmp.Diff(c.want, clitest.ReadFile(t, out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.out, diff)
		}
		if c.scores == "" {
			continue
		}
		if diff := cmp.Diff(c.wantPart, clitest.ReadFile(t, filepath.Join(dir, c.scores))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.scores, diff)
		}
	}
}

func TestTruthRefuses(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 20, 4)
	there := clitest.WriteFile(t, dir, "there.fvecs", []byte("x"))
	before := clitest.FolderOf(t, dir)
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"no output", nil, []string{"truth", "--out"}},
		{"a method that can be wrong", []string{"--out", "gt.ibin", "--method", "adaptive"}, []string{"truth", "--method adaptive", "certain and exact"}},
		{"the method auto", []string{"--out", "gt.ibin", "--method", "auto"}, []string{"--method auto", "certain and exact"}},
		{"a gap", []string{"--out", "gt.ibin", "--epsilon", ".1"}, []string{"--epsilon 0.1"}},
		{"HDF5", []string{"--out", "gt.hdf5"}, []string{"gt.hdf5", "HDF5 is not supported", ".npz", "truth --help"}},
		{"an unknown form", []string{"--out", "gt.bin"}, []string{"gt.bin", ".ibin"}},
		{"scores of an unknown form", []string{"--out", "gt.ivecs", "--scores", "gt.txt"}, []string{"gt.txt", ".fbin", ".fvecs"}},
		{"scores twice", []string{"--out", "gt.jsonl", "--scores", "gt.fvecs"}, []string{"gt.fvecs", "gt.jsonl"}},
		{"scores over a file", []string{"--out", "gt.ivecs", "--scores", there}, []string{"there.fvecs", "--overwrite"}},
		{"scores over the input", []string{"--out", "gt.ivecs", "--scores", atoms, "--overwrite"}, []string{"a.npy", "overwritten"}},
		{"scores without k", []string{"--out", "gt.ibin", "--scores", "gt.fbin", "--min-score", "1"}, []string{"gt.ibin", "varying length"}},
		{"ids alone without k", []string{"--out", "gt.neighbors.ibin", "--min-score", "1"}, []string{"gt.neighbors.ibin", "varying length"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"truth", "--vectors", atoms, "--metric", "ip", "--queries", atoms}, c.args...)
			for i, a := range args {
				if strings.HasPrefix(a, "gt.") {
					args[i] = filepath.Join(dir, a)
				}
			}
			thresher(t, args...).WantError(t, c.want...)
			if diff := cmp.Diff(before, clitest.FolderOf(t, dir)); diff != "" {
				t.Errorf("the folder (-before +after):\n%s", diff)
			}
		})
	}
	if string(clitest.ReadFile(t, there)) != "x" {
		t.Error("a refused output was changed")
	}
}

// TestTruthResumes: a run that was killed gives the same files; queries come from standard input.
func TestTruthResumes(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 120, 40), vectorFile(t, dir, "q.npy", 2, 2000, 40)
	args := func(out string) []string {
		out = filepath.Join(dir, out)
		return []string{"truth", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k7", "--out", out + ".ivecs", "--scores", out + ".fvecs"}
	}
	thresherWith(t, t.Context(), string(clitest.ReadFile(t, queries)), append(args("whole"), "--queries", "-")...).WantCode(t, cli.ExitOK)
	cmd := child(t, func(p *os.Process) { p.Kill() }, args("out")...)
	if cmd.ProcessState.Exited() {
		t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
	}
	thresher(t, args("out")...).WantError(t, "--resume", "--overwrite")
	thresher(t, append(args("out"), "--resume")...).WantCode(t, cli.ExitOK)
	for _, name := range []string{".ivecs", ".fvecs"} {
		if !bytes.Equal(clitest.ReadFile(t, filepath.Join(dir, "whole"+name)), clitest.ReadFile(t, filepath.Join(dir, "out"+name))) {
			t.Errorf("out%s differs from that of an uninterrupted run", name)
		}
	}
	m, err := dataset.ReadAll(t.Context(), filepath.Join(dir, "out.fvecs"), nil)
	if err != nil || m.Rows != 2000 || m.Dim != 7 {
		t.Errorf("scores: %+v, %v", m, err)
	}
}

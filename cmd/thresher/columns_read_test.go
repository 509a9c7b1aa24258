package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// firstIDs returns the best atom of each query in a file of answers.
func firstIDs(t *testing.T, path string) (ids []int64) {
	t.Helper()
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		a, err := r.Next()
		if err != nil {
			return ids
		}
		ids = append(ids, a.Rows[0])
	}
}

// TestQueriesByName: queries whose columns have another order than those of the atoms are compared
// coordinate by coordinate, by every verb, also with a collection built before; other names are
// refused.
func TestQueriesByName(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "atoms.csv", []byte("x,y,z\n1,0,0\n0,1,0\n0,0,1\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("z,film,x,y,year\n0.9,One,0.1,0,1999\n0,Two,0.9,0.1,2001\n"))
	other := clitest.WriteFile(t, dir, "other.csv", []byte("a,b,c\n0.9,0.1,0\n"))
	built, out := filepath.Join(dir, "atoms.thresher"), filepath.Join(dir, "out.jsonl")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", built).WantCode(t, cli.ExitOK)
	for _, vectors := range []string{atoms, built} {
		search := []string{"search", "--vectors", vectors, "--metric", "ip", "-k", "1", "--overwrite", "--out", out, "--queries"}
		r := thresher(t, append(search, queries, "--json")...)
		r.WantCode(t, cli.ExitOK)
		if ids := firstIDs(t, out); len(ids) != 2 || ids[0] != 2 || ids[1] != 0 {
			t.Errorf("%s: %v", vectors, ids)
		}
		var s summary
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil || s.QueryColumns != "x, y, z" || vectors == atoms && s.VectorColumns != "x, y, z" {
			t.Errorf("%s: %+v, %v", vectors, s.columnsRead, err)
		}
		files := []string{"--vectors", vectors, "--queries", queries, "--metric", "ip", "--answers", out}
		for _, verb := range []string{"verify", "recall"} {
			if r := thresher(t, append([]string{verb}, files...)...); r.Code != cli.ExitOK || !strings.Contains(r.Out+r.Err, "queries from x, y, z") {
				t.Errorf("%s: code %d, %s%s", verb, r.Code, r.Out, r.Err)
			}
		}
		thresher(t, append(search, other)...).WantError(t, "other.csv", "a, b, c", "x, y, z", "--queries-column")
		thresher(t, append(search, other, "--queries-column", "b,c,a")...).WantCode(t, cli.ExitOK)
		if ids := firstIDs(t, out); len(ids) != 1 || ids[0] != 2 {
			t.Errorf("%s, columns listed: %v", vectors, ids)
		}
	}
	thresher(t, "pairs", "--vectors", atoms, "--with", other, "--metric", "ip", "--min-score", "0.5", "--out", filepath.Join(dir, "p.csv")).WantError(t, "--with-column", "a, b, c")
}

// TestVectorsColumn: the newer name of the flag means the same.
func TestVectorsColumn(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "atoms.csv", []byte("movie_id,d0,d1\n7,1,0\n8,0,1\n"))
	thresher(t, "search", "--vectors", atoms, "--queries", atoms, "--metric", "ip", "-k", "1").WantError(t, "movie_id", "d0", "--vectors-column")
	for _, flag := range []string{"--vectors-column", "--vectors-column"} {
		r := thresher(t, "search", "--vectors", atoms, flag, "d*", "--queries", atoms, "--metric", "ip", "-k", "1")
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Err, "2 x 2") || !strings.Contains(r.Err, "vectors from d0, d1") {
			t.Errorf("%s: %s", flag, r.Err)
		}
	}
}

// TestZerosFlag: a zero that the matrix of --exclude stores is refused, and --zeros decides.
func TestZerosFlag(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "atoms.csv", []byte("x,y\n1,0\n0.9,0.1\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("x,y\n1,0\n"))
	exclude := clitest.WriteFile(t, dir, "seen.npz", zeroMatrix(t))
	out := filepath.Join(dir, "out.jsonl")
	search := []string{"search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k", "1", "--overwrite", "--out", out}
	thresher(t, append(search, "--exclude", exclude)...).WantError(t, "seen.npz", "--zeros", "keep", "drop")
	for zeros, best := range map[string]int64{"keep": 1, "drop": 0} {
		thresher(t, append(search, "--exclude", exclude, "--zeros", zeros)...).WantCode(t, cli.ExitOK)
		if ids := firstIDs(t, out); len(ids) != 1 || ids[0] != best {
			t.Errorf("--zeros %s: %v, want %d", zeros, ids, best)
		}
	}
	thresher(t, append(search, "--zeros", "keep")...).WantError(t, "--zeros", "--exclude")
}

// zeroMatrix is a sparse matrix of one row and two columns that stores a zero in column 0.
func zeroMatrix(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, array := range map[string]string{
		"indptr": "\x00\x00\x00\x00\x01\x00\x00\x00", "indices": "\x00\x00\x00\x00", "data": "\x00\x00\x00\x00",
	} {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		dict := fmt.Sprintf("{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", len(array)/4)
		fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s%s", len(dict), dict, array)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

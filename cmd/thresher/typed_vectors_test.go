package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// typedNPY is an npy file of n vectors of dim small integers, which every type holds.
func typedNPY(t *testing.T, elem dataset.Elem, n, dim int) []byte {
	t.Helper()
	descr := map[dataset.Elem]string{dataset.ElemFloat32: "<f4", dataset.ElemFloat16: "<f2", dataset.ElemBFloat16: "<V2", dataset.ElemInt8: "|i1", dataset.ElemUint8: "|u1"}[elem]
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d)}", descr, n, dim)
	header = fmt.Sprintf("%-117s\n", header)
	random := rand.New(rand.NewPCG(7, 7))
	values := make([]float32, n*dim)
	for i := range values {
		values[i] = float32(random.IntN(100))
	}
	data := make([]byte, len(values)*elem.Size())
	if bad := elem.Encode(data, values); bad >= 0 {
		t.Fatalf("%v does not hold %v", elem, values[bad])
	}
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		t.Skip("the file is written in the processor's byte order")
	}
	return append([]byte("\x93NUMPY\x01\x00\x76\x00"+header), data...)
}

// TestTypedVectors: vectors of each type are kept in it, from the file and in a collection, and all verbs answer as
// they do of float32 vectors of the same values.
func TestTypedVectors(t *testing.T) {
	race.Skip(t, "what is read and kept; TestEveryMethodAnswers runs the same goroutines")
	const n, dim = 400, 40
	var want map[string][]byte
	for _, elem := range []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat16, dataset.ElemBFloat16, dataset.ElemInt8, dataset.ElemUint8} {
		dir := t.TempDir()
		file := clitest.WriteFile(t, dir, "v.npy", typedNPY(t, elem, n, dim))
		queries := clitest.WriteFile(t, dir, "q.npy", typedNPY(t, dataset.ElemFloat32, 20, dim))
		built := filepath.Join(dir, "v.thresher")
		r := thresher(t, "build", "--vectors", file, "--metric", "cosine", "--json", "--out", built)
		r.WantCode(t, cli.ExitOK)
		var info struct {
			DType dataset.Elem `json:"dtype"`
			Bytes int64        `json:"file_bytes"`
		}
		if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.DType != elem {
			t.Errorf("build of %v: %s, %v", elem, r.Out, err)
		}
		for _, described := range []string{file, built} {
			r = thresher(t, "info", described, "--json")
			if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.DType != elem {
				t.Errorf("info of %v: %s, %v", elem, r.Out, err)
			}
		}
		got := map[string][]byte{}
		call := func(name string, args ...string) {
			out := filepath.Join(dir, name+".jsonl")
			thresher(t, append(args, "--out", out)...).WantCode(t, cli.ExitOK)
			got[name] = clitest.ReadFile(t, out)
		}
		for from, vectors := range map[string]string{"file": file, "collection": built} {
			call("search of a "+from, "search", "--vectors", vectors, "--queries", queries, "--metric", "cosine", "-k", "5", "--method", "certain")
			call("exact of a "+from, "search", "--vectors", vectors, "--queries", queries, "--metric", "cosine", "-k", "5", "--method", "exact")
			call("others of a "+from, "search", "--vectors", vectors, "--queries", file, "--metric", "cosine", "-k", "2", "--exclude-self")
			call("graph of a "+from, "graph", "--vectors", vectors, "--metric", "cosine", "-k", "3")
			call("pairs of a "+from, "pairs", "--vectors", vectors, "--metric", "cosine", "--min-score", "0.85")
			answers := filepath.Join(dir, "exact of a "+from+".jsonl")
			call("certify of a "+from, "certify", "--vectors", vectors, "--queries", queries, "--metric", "cosine", "-k", "5", "--answers", answers)
			thresher(t, "verify", "--vectors", vectors, "--queries", queries, "--metric", "cosine", "--answers", answers).WantCode(t, cli.ExitOK)
			thresher(t, "recall", "--vectors", vectors, "--queries", queries, "--metric", "cosine", "-k", "5", "--answers", answers).WantCode(t, cli.ExitOK)
		}
		if want == nil {
			want = got
		}
		for name := range want {
			if !bytes.Equal(got[name], want[name]) {
				t.Errorf("%s, %v:\n%.300s\nand float32:\n%.300s", name, elem, got[name], want[name])
			}
		}
	}
}

// TestTypedVectorsRefused: what no coordinate can be is refused with its place, while a collection is built.
func TestTypedVectorsRefused(t *testing.T) {
	data := typedNPY(t, dataset.ElemFloat16, 5, 40)
	at := len(data) - 2*(2*40-3)
	binary.LittleEndian.PutUint16(data[at:], 0x7e00)
	dir := t.TempDir()
	file := clitest.WriteFile(t, dir, "v.npy", data)
	thresher(t, "build", "--vectors", file, "--metric", "ip", "--out", filepath.Join(dir, "v.thresher")).WantError(t, "v.npy", "row 3, column 3 (0-based)", "value is NaN")
	thresher(t, "search", "--vectors", file, "--queries", file, "--metric", "ip", "-k", "1").WantError(t, "v.npy", "row 3, column 3 (0-based)", "value is NaN")
}

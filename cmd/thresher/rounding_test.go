package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// npyOf64 encodes a float64 matrix as npy.
func npyOf64(rows []float64, dim int) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", len(rows)/dim, dim)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	for _, x := range rows {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// jsonlOf64 encodes a matrix as lines.
func jsonlOf64(rows []float64, dim int) []byte {
	var b []byte
	for row := range slices.Chunk(rows, dim) {
		line, _ := json.Marshal(row)
		b = append(append(b, line...), '\n')
	}
	return b
}

// farVectors draws rows around offset, queries near some of them, and the k nearest rows of each query.
func farVectors(offset float64, n, m, dim, k int) (rows, queries []float64, nearest [][]int64) {
	r := rand.New(rand.NewPCG(3, 8))
	for range n * dim {
		rows = append(rows, r.NormFloat64()+offset)
	}
	for i := range m * dim {
		queries = append(queries, rows[i]+1e-3*r.NormFloat64())
	}
	for q := range slices.Chunk(queries, dim) {
		ids, far := make([]int64, n), make([]float64, n)
		for i := range ids {
			ids[i] = int64(i)
			for j, x := range q {
				far[i] += (x - rows[i*dim+j]) * (x - rows[i*dim+j])
			}
		}
		slices.SortFunc(ids, func(a, b int64) int { return int(math.Copysign(1, far[a]-far[b])) })
		nearest = append(nearest, slices.Sorted(slices.Values(ids[:k])))
	}
	return rows, queries, nearest
}

// wrongLists counts the answers in a file that are not the nearest rows.
func wrongLists(t *testing.T, path string, nearest [][]int64) int {
	t.Helper()
	wrong := 0
	for j, a := range answersOf(t, path) {
		if !slices.Equal(slices.Sorted(slices.Values(a.Rows)), nearest[j]) {
			wrong++
		}
	}
	return wrong
}

// TestNumbersFarFromZero searches float64 numbers around 1e7 by l2, in files of several formats and in
// a collection built of them: no list is wrong, and everything that speaks of the answers says what rounding
// to float32 changed.
func TestNumbersFarFromZero(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, m, dim, k = 600, 40, 16, 5
	rows, queries, nearest := farVectors(1e7, n, m, dim, k)
	dir := t.TempDir()
	built := filepath.Join(dir, "a.thresher")
	atoms := map[string]string{
		"npy": clitest.WriteFile(t, dir, "a.npy", npyOf64(rows, dim)), "jsonl": clitest.WriteFile(t, dir, "a.jsonl", jsonlOf64(rows, dim)), "built": built,
	}
	r := thresher(t, "build", "--vectors", atoms["npy"], "--metric", "l2", "--out", built)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "values to float32, largest change ") || !strings.Contains(r.Err, "relative to a point near") {
		t.Errorf("summary of build:\n%s", r.Err)
	}
	if r = thresher(t, "info", built); !strings.Contains(r.Out, "values to float32, largest change ") {
		t.Errorf("info:\n%s", r.Out)
	}
	asked := []string{clitest.WriteFile(t, dir, "q.npy", npyOf64(queries, dim)), clitest.WriteFile(t, dir, "q.csv", csvOf64(queries, dim))}
	for name, path := range atoms {
		for _, q := range asked {
			out := filepath.Join(dir, "out.jsonl")
			r := thresher(t, "search", "--metric", "l2", "--vectors", path, "--queries", q, "-k", fmt.Sprint(k), "--method", "exact", "--out", out, "--overwrite", "--json")
			r.WantCode(t, cli.ExitOK)
			var s summary
			if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
				t.Fatal(err)
			}
			if s.Rounded <= 0 || s.Rounded > 1e-6 || !strings.HasPrefix(s.Promise, "exact for float32, largest change ") {
				t.Errorf("%s, %s: rounded %g, %q", name, q, s.Rounded, s.Promise)
			}
			if wrong := wrongLists(t, out, nearest); wrong > 0 {
				t.Errorf("%s, %s: %d of %d lists are wrong", name, q, wrong, m)
			}
			var c struct {
				Vectors float64 `json:"vectors_change"`
				Query   float64 `json:"query_change"`
			}
			if err := json.Unmarshal(answersOf(t, out)[3].Certificate, &c); err != nil || c.Vectors <= 0 || c.Query <= 0 || max(c.Vectors, c.Query) > s.Rounded {
				t.Errorf("%s, %s: certificate %+v, %v", name, q, c, err)
			}
			r = thresher(t, "verify", "--metric", "l2", "--vectors", path, "--queries", q, "--answers", out)
			r.WantCode(t, cli.ExitOK)
			compared := "coordinates were compared as given; answers may differ by what float32 changes of one, at most "
			if path == built {
				compared = "coordinates were compared as float32 has them, largest change "
			}
			if !strings.Contains(r.Out, compared) {
				t.Errorf("%s, %s: verify says\n%s", name, q, r.Out)
			}
			r = thresher(t, "recall", "--metric", "l2", "--vectors", path, "--queries", q, "--answers", out)
			r.WantCode(t, cli.ExitOK)
			if !strings.Contains(r.Out, "1.0000") {
				t.Errorf("%s, %s: recall says\n%s", name, q, r.Out)
			}
			proven := filepath.Join(dir, "proven.jsonl")
			r = thresher(t, "certify", "--metric", "l2", "--vectors", path, "--queries", q, "--answers", out, "--out", proven, "--overwrite")
			r.WantCode(t, cli.ExitOK)
			if !strings.Contains(r.Err, "40 of 40 answers were right") || !strings.Contains(r.Err, " for float32, largest change ") {
				t.Errorf("%s, %s: certify says\n%s", name, q, r.Err)
			}
		}
		// Each row of a file is itself, and the rows of another table are near theirs.
		out := filepath.Join(dir, "pairs.csv")
		r := thresher(t, "pairs", "--metric", "l2", "--vectors", path, "--with", asked[0], "--max-distance", "1e-3", "--out", out, "--overwrite")
		r.WantCode(t, cli.ExitOK)
		if lines := strings.Count(string(clitest.ReadFile(t, out)), "\n"); lines != m+1 || !strings.Contains(r.Err, "exact for float32, largest change ") {
			t.Errorf("%s: %d lines of pairs\n%s", name, lines, r.Err)
		}
		r = thresher(t, "graph", "--metric", "l2", "--vectors", path, "-k", "3", "--out", filepath.Join(dir, "g.npz"), "--overwrite")
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Err, " for float32, largest change ") {
			t.Errorf("%s: graph says\n%s", name, r.Err)
		}
	}
	out := filepath.Join(dir, "self.jsonl")
	thresher(t, "search", "--metric", "l2", "--vectors", atoms["npy"], "--queries", atoms["npy"], "--exclude-self", "-k", "1", "--out", out).WantCode(t, cli.ExitOK)
}

func csvOf64(rows []float64, dim int) []byte {
	var b strings.Builder
	for row := range slices.Chunk(rows, dim) {
		text := strings.Trim(fmt.Sprint(row), "[]")
		b.WriteString(strings.ReplaceAll(text, " ", ",") + "\n")
	}
	return []byte(b.String())
}

// TestVerifyReadsWhatWasGiven: answers of a search of rounded numbers that say nothing of it are wrong by the
// numbers given, and right by those that were searched.
func TestVerifyReadsWhatWasGiven(t *testing.T) {
	const n, m, dim, k = 600, 40, 16, 5
	rows, queries, nearest := farVectors(1e6, n, m, dim, k)
	dir := t.TempDir()
	narrow := func(name string, values []float64) string {
		rounded := make([]float32, len(values))
		for i, x := range values {
			rounded[i] = float32(x)
		}
		return clitest.WriteFile(t, dir, name, npy(rounded, dim))
	}
	rough, asked := narrow("rough.npy", rows), narrow("asked.npy", queries)
	atoms, wide := clitest.WriteFile(t, dir, "a.npy", npyOf64(rows, dim)), clitest.WriteFile(t, dir, "q.npy", npyOf64(queries, dim))
	out := filepath.Join(dir, "out.jsonl")
	search := func(atoms, queries string) {
		t.Helper()
		thresher(t, "search", "--metric", "l2", "--vectors", atoms, "--queries", queries, "-k", fmt.Sprint(k), "--method", "exact", "--out", out, "--overwrite").WantCode(t, cli.ExitOK)
	}
	search(rough, asked)
	if wrongLists(t, out, nearest) == 0 {
		t.Fatal("no list of rounded numbers is wrong: this tests nothing")
	}
	thresher(t, "verify", "--metric", "l2", "--vectors", rough, "--queries", asked, "--answers", out).WantCode(t, cli.ExitOK)
	thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", wide, "--answers", out, "--ignore-scores").WantCode(t, cli.ExitWrong)
	search(atoms, wide)
	thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", wide, "--answers", out).WantCode(t, cli.ExitOK)
	ids := filepath.Join(dir, "out.npz") // has no certificates
	thresher(t, "search", "--metric", "l2", "--vectors", atoms, "--queries", wide, "-k", fmt.Sprint(k), "--method", "exact", "--out", ids).WantCode(t, cli.ExitOK)
	thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", wide, "--answers", ids).WantCode(t, cli.ExitOK)
}

// TestFloat32SaysNothingOfRounding: answers to float32 numbers are exact, without more.
func TestFloat32SaysNothingOfRounding(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 16), vectorFile(t, dir, "q.npy", 2, 20, 16)
	out := filepath.Join(dir, "out.jsonl")
	r := thresher(t, "search", "--metric", "l2", "--vectors", atoms, "--queries", queries, "-k3", "--method", "exact", "--out", out)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "exact: none wrong") || strings.Contains(string(clitest.ReadFile(t, out)), "_change") {
		t.Errorf("%s\n%.300s", r.Err, clitest.ReadFile(t, out))
	}
	if r = thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", queries, "--answers", out); strings.Contains(r.Out, "rounded") {
		t.Errorf("verify says\n%s", r.Out)
	}
}

// TestWholeNumbersAreRefused: integers that float32 does not hold are refused by place and by the word
// that rounds them.
func TestWholeNumbersAreRefused(t *testing.T) {
	dir := t.TempDir()
	whole := npyOf64([]float64{0, 0}, 1)
	at := len(whole) - 16
	binary.LittleEndian.PutUint64(whole[at:], 1<<24)
	binary.LittleEndian.PutUint64(whole[at+8:], 1<<24+1)
	whole = []byte(strings.Replace(string(whole), "<f8", "<i8", 1))
	atoms := clitest.WriteFile(t, dir, "a.npy", whole)
	thresher(t, "graph", "--metric", "ip", "--vectors", atoms, "-k", "1", "--out", filepath.Join(dir, "g.npz")).
		WantError(t, "row 1, column 0", "16777217 cannot be held by float32 exactly", "float64")
	thresher(t, "graph", "--metric", "l2", "--vectors", atoms, "-k", "1", "--out", filepath.Join(dir, "g.npz")).WantCode(t, cli.ExitOK)
}

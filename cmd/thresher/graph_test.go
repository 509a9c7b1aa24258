package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/draws"
	"thresher/internal/vectors"
	"thresher/tasks"
)

// csr is a sparse matrix as its npz holds it.
type csr struct {
	indices, indptr []int32
	data            []float32
}

func (m *csr) row(i int) ([]int32, []float32) {
	lo, hi := m.indptr[i], m.indptr[i+1]
	return m.indices[lo:hi], m.data[lo:hi]
}

func readCSR(t *testing.T, path string) *csr {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	array := func(name string, to any) {
		r, err := z.Open(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]
		switch to := to.(type) {
		case *[]int32:
			*to = make([]int32, len(b)/4)
		case *[]float32:
			*to = make([]float32, len(b)/4)
		}
		if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, to); err != nil {
			t.Fatal(err)
		}
	}
	m := &csr{}
	array("indices", &m.indices)
	array("indptr", &m.indptr)
	array("data", &m.data)
	return m
}

// TestGraph: the rows are the answers of search --exclude-self, for every metric.
func TestGraph(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 400, 40)
	for _, metric := range []string{"ip", "cosine", "l2"} {
		answers, out := filepath.Join(dir, metric+".jsonl"), filepath.Join(dir, metric+".npz")
		thresher(t, "search", "--vectors", atoms, "--queries", atoms, "--exclude-self", "-k7", "--method", "certain", "--metric", metric, "--out", answers).WantCode(t, cli.ExitOK)
		r := thresher(t, "graph", "--vectors", atoms, "-k7", "--metric", metric, "--out", out, "--certificates", out+".jsonl", "--chunk", "64")
		r.WantCode(t, cli.ExitOK)
		for _, want := range []string{"400 rows of 7 neighbours, directed: 2800 edges", ": none wrong", "rows/s"} {
			if !strings.Contains(r.Err, want) {
				t.Errorf("summary lacks %q:\n%s", want, r.Err)
			}
		}
		m := readCSR(t, out)
		for _, want := range answersOf(t, answers) {
			ids, scores := m.row(int(want.Query))
			wide := make([]int64, len(ids))
			for i, id := range ids {
				wide[i] = int64(id)
			}
			if !slices.Equal(want.Rows, wide) || !slices.Equal(want.Scores, scores) {
				t.Fatalf("%s: row %d: %v %v, search: %v %v", metric, want.Query, ids, scores, want.Rows, want.Scores)
			}
		}
		if n := bytes.Count(clitest.ReadFile(t, out+".jsonl"), []byte("\n")); n != 400 {
			t.Errorf("%d certificates", n)
		}
	}
}

// TestGraphWithoutDirections: --symmetric joins atoms of which one has the other, --mutual those
// that have each other, and --distances converts scores.
func TestGraphWithoutDirections(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 200, 24)
	for _, metric := range []string{"cosine", "l2"} {
		make := func(name string, flags ...string) *csr {
			out := filepath.Join(dir, metric+name+".npz")
			thresher(t, append([]string{"graph", "--vectors", atoms, "-k5", "--metric", metric, "--out", out}, flags...)...).WantCode(t, cli.ExitOK)
			return readCSR(t, out)
		}
		plain, symmetric, mutual, far := make("plain"), make("symmetric", "--symmetric"), make("mutual", "--mutual"), make("far", "--symmetric", "--distances")
		has := func(i, j int) bool { ids, _ := plain.row(i); return slices.Contains(ids, int32(j)) }
		for i := range 200 {
			var union, both []int32
			for j := range 200 {
				if has(i, j) || has(j, i) {
					union = append(union, int32(j))
				}
				if has(i, j) && has(j, i) {
					both = append(both, int32(j))
				}
			}
			for _, c := range []struct {
				m    *csr
				want []int32
			}{{symmetric, union}, {mutual, both}} {
				ids, scores := c.m.row(i)
				if !slices.IsSortedFunc(scores, func(a, b float32) int {
					if (a < b) == (metric == "l2") {
						return -1
					}
					return 1
				}) {
					t.Errorf("%s: row %d is not best first: %v", metric, i, scores)
				}
				if got := slices.Sorted(slices.Values(ids)); !slices.Equal(got, c.want) {
					t.Errorf("%s: row %d: %v, want %v", metric, i, got, c.want)
				}
			}
			ids, scores := symmetric.row(i)
			far, distances := far.row(i)
			for at, s := range scores {
				want := 1 - s
				if metric == "l2" {
					want = float32(math.Sqrt(float64(s)))
				}
				if far[at] != ids[at] || distances[at] != want {
					t.Errorf("%s: row %d: distance %g to %d of score %g to %d", metric, i, distances[at], far[at], s, ids[at])
				}
			}
		}
	}
}

// TestGraphTables: tables of edges name the atoms by their ids too.
func TestGraphTables(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.csv", []byte("id,x,y\nn,0,0\no,1,0\nfar,9,9\n"))
	out := filepath.Join(dir, "g.jsonl")
	r := thresher(t, "graph", "--vectors", atoms, "-k1", "--metric", "l2", "--out", out, "--json")
	r.WantCode(t, cli.ExitOK)
	want := `{"source":0,"target":1,"score":1,"source_id":"n","target_id":"o","score64":1}
{"source":1,"target":0,"score":1,"source_id":"o","target_id":"n","score64":1}
{"source":2,"target":1,"score":145,"source_id":"far","target_id":"o","score64":145}
`
	if diff := cmp.Diff(want, string(clitest.ReadFile(t, out))); diff != "" {
		t.Error(diff)
	}
	var s summary
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&tasks.GraphShape{Rows: 3, Edges: 3, Kind: "directed", Value: "score"}, s.Graph); diff != "" {
		t.Error(diff)
	}
	out = filepath.Join(dir, "g.csv")
	thresher(t, "graph", "--vectors", atoms, "-k1", "--metric", "l2", "--out", out).WantCode(t, cli.ExitOK)
	want = "source,target,score,source_id,target_id,score64\n0,1,1,n,o,1\n1,0,1,o,n,1\n2,1,145,far,o,145\n"
	if diff := cmp.Diff(want, string(clitest.ReadFile(t, out))); diff != "" {
		t.Error(diff)
	}
	thresher(t, "graph", "--vectors", atoms, "-k1", "--metric", "l2", "--out", filepath.Join(dir, "g.npy")).WantError(t, "g.npy: name ends in none of .npz, .csv, .parquet, .jsonl")
	r = thresher(t, "graph", "--vectors", atoms, "-k9", "--metric", "l2", "--out", filepath.Join(dir, "g.parquet"))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "k reduced from 9 to 2") || !strings.Contains(r.Err, "6 edges") {
		t.Errorf("k above the number of vectors:\n%s", r.Err)
	}
}

// TestGraphResumes: whenever a run is killed, the resumed one writes the same bytes.
func TestGraphResumes(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 2000, 40)
	random := draws.Rand(1)
	for i, flags := range [][]string{{}, {"--symmetric"}, {"--mutual", "--distances"}} {
		for _, name := range []string{"g.npz", "g.jsonl"} {
			whole, out := filepath.Join(dir, fmt.Sprint("whole-", i, name)), filepath.Join(dir, fmt.Sprint(i, name))
			args := func(out string) []string {
				return append([]string{"graph", "--vectors", atoms, "-k4", "--metric", "l2", "--out", out}, flags...)
			}
			chunks := 1 + random.IntN(40)
			t.Run(filepath.Base(out), func(t *testing.T) {
				t.Parallel()
				thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
				cmd := childFor(t, chunks, func(p *os.Process) { p.Kill() }, args(out)...)
				if cmd.ProcessState.Exited() || !clitest.Exists(out+".progress") || clitest.Exists(out) {
					t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
				}
				appendTo(t, out+".spool", []byte("torn")) // as a power failure may
				thresher(t, args(out)...).WantError(t, "--resume", "--overwrite")
				thresher(t, append(args(out), "--resume", "-k5")...).WantError(t, "other vectors or settings")
				r := thresher(t, append(args(out), "--resume")...)
				r.WantCode(t, cli.ExitOK)
				if !strings.Contains(r.Err, "by an earlier run") {
					t.Errorf("summary does not tell of the earlier run:\n%s", r.Err)
				}
				if !bytes.Equal(clitest.ReadFile(t, out), clitest.ReadFile(t, whole)) {
					t.Error("the graph differs from that of an uninterrupted run")
				}
				if clitest.Exists(out + ".spool") {
					t.Error("the spool was left behind")
				}
			})
		}
	}
}

// TestGraphOfPairsResumes is TestGraphResumes where each pair of atoms is searched once, which takes
// more of them.
func TestGraphOfPairsResumes(t *testing.T) {
	dir := t.TempDir()
	const n, dim = 4500, 64
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(vectors.PowerLaw(vectors.Rand(1), n, dim), dim))
	whole, out := filepath.Join(dir, "whole.npz"), filepath.Join(dir, "g.npz")
	args := func(out string) []string {
		return []string{"graph", "--vectors", atoms, "-k4", "--metric", "cosine", "--out", out, "--certificates", out + ".jsonl", "--way", "pairs"}
	}
	thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
	if first := bytes.SplitN(clitest.ReadFile(t, whole+".jsonl"), []byte(","), 2)[0]; string(first) == `{"query":0` {
		t.Error("the vectors were searched one by one")
	}
	random := draws.Rand(2)
	for range 3 {
		cmd := childFor(t, 1+random.IntN(40), func(p *os.Process) { p.Kill() }, append(args(out), "--resume")...)
		if cmd.ProcessState.Exited() || clitest.Exists(out) {
			t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
		}
		appendTo(t, out+".spool", []byte("torn"))
	}
	thresher(t, append(args(out), "--resume")...).WantCode(t, cli.ExitOK)
	if !bytes.Equal(clitest.ReadFile(t, out), clitest.ReadFile(t, whole)) {
		t.Error("the graph differs from that of an uninterrupted run")
	}
	if n := bytes.Count(clitest.ReadFile(t, out+".jsonl"), []byte("\n")); n != 4500 {
		t.Errorf("%d certificates", n)
	}
}

// TestGraphStopsCleanly: an interrupted run can be resumed and has written no graph.
func TestGraphStopsCleanly(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 2000, 40)
	out := filepath.Join(dir, "g.npz")
	args := []string{"graph", "--vectors", atoms, "--metric", "ip", "-k4", "--out", out}
	cmd := child(t, func(p *os.Process) { p.Signal(syscall.SIGINT) }, args...)
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted || clitest.Exists(out) || !clitest.Exists(out+".progress") {
		t.Fatalf("exit code %d", code)
	}
	thresher(t, append(args, "--resume")...).WantCode(t, cli.ExitOK)
}

func TestGraphBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 40, 3)
	one := vectorFile(t, dir, "one.npy", 1, 1, 3)
	out := filepath.Join(dir, "g.npz")
	there := clitest.WriteFile(t, dir, "there.npz", []byte("precious"))
	nan := clitest.WriteFile(t, dir, "nan.csv", []byte("5,2\n3,NaN\n"))
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"no vectors", []string{"--out", out}, []string{"graph", "--vectors"}},
		{"no output", []string{"--vectors", atoms, "--metric", "ip"}, []string{"graph", "--out", ".npz"}},
		{"standard output", []string{"--vectors", atoms, "--metric", "ip", "--out", "-"}, []string{"graph", "--out"}},
		{"k 0", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "-k0"}, []string{"k", "0"}},
		{"one vector", []string{"--vectors", one, "--metric", "ip", "--out", out}, []string{"one.npy", "1 row", "at least 2"}},
		{"not finite", []string{"--vectors", nan, "--metric", "ip", "--out", out}, []string{"nan.csv", "row 1"}},
		{"a missing file", []string{"--vectors", filepath.Join(dir, "none.npy"), "--metric", "ip", "--out", out}, []string{"none.npy"}},
		{"an existing output", []string{"--vectors", atoms, "--metric", "ip", "--out", there}, []string{"there.npz", "--overwrite"}},
		{"an existing output to resume", []string{"--vectors", atoms, "--metric", "ip", "--out", there, "--resume"}, []string{"there.npz", "nothing to resume"}},
		{"the vectors as output", []string{"--vectors", there, "--metric", "ip", "--out", there, "--overwrite"}, []string{"there.npz", "overwritten"}},
		{"queries", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--queries", atoms}, []string{"queries"}},
		{"another format", []string{"--vectors", atoms, "--metric", "ip", "--out", filepath.Join(dir, "g.ivecs")}, []string{"g.ivecs", ".npz, .csv, .parquet, .jsonl"}},
		{"both kinds", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--mutual", "--symmetric"}, []string{"--mutual", "--symmetric"}},
		{"pairs of few", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--way", "pairs"}, []string{"--way", "too small"}},
		{"another way", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--way", "triples"}, []string{"--way", "triples", "pairs"}},
		{"resume and force", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--resume", "--overwrite"}, []string{"exclude each other"}},
		{"distances of products", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--distances"}, []string{"--distances", "l2"}},
		{"a folder that is not there", []string{"--vectors", atoms, "--metric", "ip", "--out", filepath.Join(dir, "no", "g.npz")}, []string{"no folder"}},
		{"certificates of another name", []string{"--vectors", atoms, "--metric", "ip", "--out", out, "--certificates", "c.txt"}, []string{"c.txt", ".jsonl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			thresher(t, append([]string{"graph"}, c.args...)...).WantError(t, c.want...)
			if clitest.Exists(out) || clitest.Exists(out+".progress") || clitest.Exists(out+".spool") {
				t.Error("something was written")
			}
		})
	}
	if string(clitest.ReadFile(t, there)) != "precious" {
		t.Error("an existing output was changed")
	}
}

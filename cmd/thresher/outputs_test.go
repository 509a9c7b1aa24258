package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"thresher/internal/cli/clitest"
)

var writeOutputs = flag.Bool("write-outputs", false, "write testdata/outputs, what commands are to write")

// outputs are commands, and the files that they write beside what they print, which is kept as NAME.out. Their
// inputs are small whole numbers, so that files do not depend on the processor.
var outputs = []struct {
	name    string
	command string
	files   string
}{
	{"search", "search --vectors a.jsonl --queries q.jsonl --metric ip -k 2 --method exact --out search.jsonl --certificates search.certificates.jsonl --json", "search.jsonl search.certificates.jsonl"},
	{"search-text", "search --vectors a.jsonl --queries q.jsonl --metric ip -k 2 --method exact --out search.npz", "search.npz"},
	{"search-parquet", "search --vectors a.jsonl --queries q.jsonl --metric l2 -k 2 --method exact --out search.parquet --json", "search.parquet"},
	{"search-csv", "search --vectors a.jsonl --queries u.jsonl --metric l2 -k 2 --max-distance 3 --method exact --out search.csv --json", "search.csv"},
	{"search-csv-rows", "search --vectors a.npy --queries q.npy --metric ip -k 2 --method exact --out rows.csv", "rows.csv"},
	{"search-rows", "search --vectors a.npy --queries q.npy --metric l2 -k 3 --method exact --out rows.jsonl --json", "rows.jsonl"},
	{"search-npz", "search --vectors a.npy --queries q.npy --metric cosine -k 3 --method exact --out rows.npz", "rows.npz"},
	{"search-ivecs", "search --vectors a.npy --queries q.npy --metric ip -k 2 --method exact --out search.ivecs", "search.ivecs"},
	{"search-ibin", "search --vectors a.npy --queries q.npy --metric ip -k 2 --method exact --out search.ibin", "search.ibin"},
	{"search-range", "search --vectors a.npy --queries q.npy --metric ip --min-score 2 --method exact --out range.jsonl --json", "range.jsonl"},
	{"search-numbers", "search --vectors n.jsonl --queries u.jsonl --metric ip -k 2 --method exact --out numbers.jsonl", "numbers.jsonl"},
	{"search-numbers-npz", "search --vectors n.jsonl --queries u.jsonl --metric ip -k 4 --min-score 1 --method exact --out numbers.npz", "numbers.npz"},
	{"search-numbers-parquet", "search --vectors n.jsonl --queries u.jsonl --metric ip -k 4 --min-score 1 --method exact --out numbers.parquet", "numbers.parquet"},
	{"search-other", "search --vectors n.jsonl --queries q.jsonl --metric ip -k 2 --method exact --out other.jsonl", "other.jsonl"},
	{"merge", "merge search.jsonl other.jsonl --out merged.jsonl --json", "merged.jsonl"},
	{"merge-csv", "merge search.npz other.jsonl --out merged.csv", "merged.csv"},
	{"verify-csv", "verify --vectors a.jsonl --queries u.jsonl --metric l2 --answers search.csv --guarantee exact", ""},
	{"merge-npz", "merge search.npz other.jsonl --out merged.npz", "merged.npz"},
	{"merge-parquet", "merge other.jsonl search.npz -k 1 --out merged.parquet", "merged.parquet"},
	{"truth-ibin", "truth --vectors a.npy --queries q.npy --metric l2 -k 2 --method exact --out truth.ibin --json", "truth.ibin"},
	{"truth-neighbors", "truth --vectors a.npy --queries q.npy --metric l2 -k 2 --method exact --out t.neighbors.ibin --scores t.distances.fbin", "t.neighbors.ibin t.distances.fbin"},
	{"truth-ivecs", "truth --vectors a.npy --queries q.npy --metric l2 -k 2 --method exact --out truth.ivecs --scores truth.fvecs", "truth.ivecs truth.fvecs"},
	{"recall", "recall --vectors a.npy --queries q.npy --metric ip --answers theirs.jsonl --method exact --missed misses.jsonl --json", "misses.jsonl"},
	{"recall-text", "recall --vectors a.jsonl --queries q.jsonl --metric ip --answers names.csv --ids id --method exact", ""},
	{"certify", "certify --vectors a.npy --queries q.npy --metric ip --answers theirs.jsonl --method exact --out certified.jsonl --json", "certified.jsonl"},
	{"certify-text", "certify --vectors a.jsonl --queries q.jsonl --metric ip --answers names.csv --ids id --method exact --out certified.npz", "certified.npz"},
	{"verify", "verify --vectors a.npy --queries q.npy --metric ip --answers theirs.jsonl --guarantee exact --json", ""},
	{"verify-text", "verify --vectors a.jsonl --queries q.jsonl --metric ip --answers search.jsonl --certificates search.certificates.jsonl", ""},
	{"graph", "graph --vectors a.npy --metric l2 -k 2 --method exact --out graph.npz --json", "graph.npz"},
	{"graph-jsonl", "graph --vectors a.jsonl --metric l2 -k 1 --symmetric --method exact --out graph.jsonl", "graph.jsonl"},
	{"graph-parquet", "graph --vectors a.jsonl --metric l2 -k 1 --method exact --out graph.parquet", "graph.parquet"},
	{"pairs", "pairs --vectors a.npy --metric l2 --max-distance 3 --method exact --out pairs.csv --components components.csv --json", "pairs.csv components.csv"},
	{"pairs-names", "pairs --vectors a.jsonl --metric l2 --max-distance 3 --method exact --out pairs.jsonl", "pairs.jsonl"},
	{"pairs-parquet", "pairs --vectors a.jsonl --metric l2 --max-distance 3 --method exact --out pairs.parquet", "pairs.parquet"},
	{"pairs-npz", "pairs --vectors a.npy --metric l2 --max-distance 3 --method exact --out pairs.npz", "pairs.npz"},
	{"build", "build --vectors a.jsonl --metric ip --out a.thresher --json", ""},
	{"info", "info a.thresher --json", ""},
	{"search-built", "search --vectors a.thresher --queries q.npy -k 2 --method exact --out built.jsonl --json", "built.jsonl"},
}

// varying is what differs between two runs or machines.
var varying = regexp.MustCompile(`"(took_ms|queries_per_second|[a-z_]+_seconds|[a-z_]*(path|bytes)|threads|backend|version)": ?("[^"]*"|[0-9.e+-]+)|` +
	`\btime=\S+|\b[0-9.]+(e-[0-9]+)? ?(ns|us|µs|ms|s|min|h|(queries|rows)/s on cpu, [0-9]+ threads?)\b`)

// TestOutputs compares what commands print and write with testdata/outputs, byte by byte, so that no change of
// an output goes unnoticed. After a change that is meant, `go test ./cmd/thresher -run TestOutputs
// -write-outputs` writes them, and git shows what changed.
func TestOutputs(t *testing.T) {
	golden, err := filepath.Abs("testdata/outputs")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"a.jsonl":      `{"id":"ash","vector":[2,0,1]}` + "\n" + `{"id":"birch","vector":[0,3,0]}` + "\n" + `{"id":"cedar","vector":[1,1,1]}` + "\n" + `{"id":"oak","vector":[0,0,2]}` + "\n" + `{"id":"yew","vector":[2,1,1]}` + "\n",
		"q.jsonl":      "[1,0,1]\n[0,1,0]\n[0,0,-1]\n",
		"n.jsonl":      `{"id":70,"vector":[2,0,1]}` + "\n" + `{"id":18446744073709551615,"vector":[0,3,0]}` + "\n" + `{"id":0,"vector":[1,1,1]}` + "\n",
		"u.jsonl":      `{"id":"q1","vector":[1,0,1]}` + "\n" + `{"id":"22","vector":[0,1,0]}` + "\n",
		"theirs.jsonl": `{"query":0,"ids":[4,0],"scores":[3,3]}` + "\n" + `{"query":1,"ids":[1,3],"scores":[3,0]}` + "\n" + `{"query":2,"ids":[1,2],"scores":[0,-1]}` + "\n",
		"names.csv":    "query,id\n0,ash\n0,yew\n1,birch\n1,cedar\n2,ash\n2,birch\n",
		"a.npy":        string(npy([]float32{2, 0, 1, 0, 3, 0, 1, 1, 1, 0, 0, 2, 2, 1, 1}, 3)),
		"q.npy":        string(npy([]float32{1, 0, 1, 0, 1, 0, 0, 0, -1}, 3)),
	} {
		clitest.WriteFile(t, ".", name, []byte(content))
	}
	for _, o := range outputs {
		args := strings.Fields(o.command)
		if args[0] != "verify" && args[0] != "info" && args[0] != "build" && args[0] != "merge" {
			args = append(args, "--kernels", "generic") // whose costs certificates tell
		}
		r := thresher(t, args...)
		said := varying.ReplaceAllStringFunc(r.Out+r.Err, func(s string) string {
			if key, _, ok := strings.Cut(s, `":`); ok {
				return key + `":..`
			}
			return ".."
		})
		got := map[string][]byte{o.name + ".out": []byte(said)}
		for _, name := range strings.Fields(o.files) {
			if got[name], err = os.ReadFile(name); err != nil {
				t.Errorf("%s: %v\n%s%s", o.command, err, r.Out, r.Err)
			}
		}
		for name, content := range got {
			path := filepath.Join(golden, name)
			if *writeOutputs {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(content, want) {
				t.Errorf("%s: %s differs\n got %.2000q\nwant %.2000q", o.command, name, content, want)
			}
		}
	}
}

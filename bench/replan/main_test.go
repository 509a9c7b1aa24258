package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// TestRun: a dense scan is always the choice for half of the atoms of a small set. Its regret is that of
// the recorded times.
func TestRun(t *testing.T) {
	const n, dim = 200, 32
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "few"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "few", "atoms.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := dataset.WriteNPY(f, n, dim, vectors.Gaussian(vectors.Rand(1), n, dim)); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "few.jsonl")
	for _, x := range []struct {
		name, records string
		want          []string // parts of what is printed
		err           string
	}{
		{"a worse choice and the best", `{"kind": "set", "set": "few"}
{"kind": "cores", "us": [1, 2]}
{"kind": "regret", "set": "few", "m": 1, "k": 100, "chosen": "whole,rescore", "us": {"dense": 3, "whole,rescore": 2}}
{"kind": "regret", "set": "few", "m": 16, "k": 100, "chosen": "dense", "us": {"dense": 3, "whole,rescore": 4}}
`, []string{"few m=1 k=100: 1.50 by dense, best whole,rescore\n", "k = 100: 2 cells, regret 1.000 then, 1.225 now\n", "all: regret 1.000 then, 1.225 now; 0 choices were not timed\n"}, ""},
		{"a choice without a time", `{"kind": "regret", "set": "few", "m": 1, "k": 100, "chosen": "whole,rescore", "us": {"whole,rescore": 2}}
{"kind": "regret", "set": "few", "m": 1, "k": 120, "chosen": "dense", "us": {"dense": 2}}
`, []string{"few m=1 k=100: dense was not timed; best of those that were whole,rescore\n", "all: regret 1.000 then, 1.000 now; 1 choices were not timed\n"}, ""},
		{"cells of two metrics", `{"kind": "regret", "set": "few", "metric": "l2", "m": 1, "k": 100, "chosen": "dense", "us": {"dense": 3, "whole,rescore": 2}}
{"kind": "regret", "set": "few", "m": 1, "k": 100, "chosen": "dense", "us": {"dense": 3, "whole,rescore": 3}}
`, []string{"few:metric=l2 m=1 k=100: 1.50 by dense, best whole,rescore\n", "k = 100: 2 cells, regret 1.225 then, 1.225 now\n"}, ""},
		{"an unknown metric", `{"kind": "regret", "set": "few", "metric": "l3", "m": 1, "k": 1, "chosen": "dense", "us": {"dense": 2}}`, nil, "l3"},
		{"no cells", `{"kind": "set"}`, nil, "no cell of the kind regret in 1 files"},
		{"no time", `{"kind": "regret", "chosen": "dense", "us": {}}`, nil, `few.jsonl, line 1: no time of the chosen plan "dense"`},
		{"no JSON", `{"kind"`, nil, "few.jsonl, line 1: unexpected end of JSON input"},
		{"no set", `{"kind": "regret", "set": "many", "m": 1, "k": 1, "chosen": "dense", "us": {"dense": 2}}`, nil, "many"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if err := os.WriteFile(results, []byte(x.records), 0o666); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := run(t.Context(), &out, dir, 1.2, []string{results})
			if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Fatalf("error %v, want %q", err, x.err)
			}
			for _, part := range x.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("%q misses %q", out.String(), part)
				}
			}
		})
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// TestRun profiles searches of a small set by a forced plan, and refuses more queries than there are.
func TestRun(t *testing.T) {
	const n, dim, queries = 300, 64, 5
	dir := t.TempDir()
	write := func(name string, n int) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := dataset.WriteNPY(f, n, dim, vectors.Gaussian(vectors.Rand(1), n, dim)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o := options{atoms: write("atoms.npy", n), queries: write("queries.npy", queries), out: filepath.Join(dir, "cpu.prof"),
		m: queries, k: 3, threads: 1, metric: "l2", method: "exact", plan: "dense", allowed: 1, lasting: time.Microsecond}
	var out bytes.Buffer
	if err := run(t.Context(), &out, o); err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`^exact: 300 x 64, 1 allowed, m = 5, k = 3: plan dense, \S+ a query, [0-9]+ rows of it scored in float64\n$`); !want.MatchString(out.String()) {
		t.Errorf("printed %q, want %s", out.String(), want)
	}
	if info, err := os.Stat(o.out); err != nil || info.Size() == 0 {
		t.Errorf("profile: %v, %v", info, err)
	}
	out.Reset()
	o.plan, o.allowed = "gather", .5
	if err := run(t.Context(), &out, o); err != nil || !strings.Contains(out.String(), ".5 allowed, m = 5, k = 3: plan gather") {
		t.Errorf("half allowed: %v, %q", err, out.String())
	}
	o.allowed = 0
	if err := run(t.Context(), &out, o); err == nil || !strings.Contains(err.Error(), "-allowed 0") {
		t.Errorf("nothing allowed: %v", err)
	}
	o.allowed = 1
	o.m = queries + 1
	if err := run(t.Context(), &out, o); err == nil || !strings.Contains(err.Error(), "-m 6: "+o.queries+" has 5 queries") {
		t.Errorf("more queries than there are: %v", err)
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/cmd/thresher/internal/demo"
	"thresher/internal/cli"
)

func TestDemoAnswersAQuestion(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: weighs all texts")
	}
	vectors := filepath.Join(t.TempDir(), "comments.npy")
	got := thresher(t, "demo", "--embedded", "--json", "--save", vectors, "--query", "wait until all goroutines have finished")
	got.WantCode(t, cli.ExitOK)
	var r demo.Report
	if err := json.Unmarshal([]byte(got.Out), &r); err != nil {
		t.Fatalf("%v in %s", err, got.Out)
	}
	if r.Source != "embedded extract" || r.Dimension != demo.Dim || r.Batch != nil || len(r.Questions) != 1 {
		t.Fatalf("report %+v", r)
	}
	var found bool
	for _, h := range r.Questions[0].Hits {
		found = found || strings.HasPrefix(h.Symbol, "sync.WaitGroup")
	}
	if !found || len(r.Questions[0].Hits) != r.K {
		t.Errorf("hits %+v, want sync.WaitGroup among %d", r.Questions[0].Hits, r.K)
	}
	info, err := os.Stat(vectors)
	if err != nil {
		t.Fatal(err)
	}
	if data := int64(r.Atoms) * int64(r.Dimension) * 4; info.Size() < data || info.Size() > data+1024 {
		t.Errorf("%d bytes saved for %d x %d", info.Size(), r.Atoms, r.Dimension)
	}
	if got.Err != "" {
		t.Errorf("stderr is no terminal and yet says %q", got.Err)
	}
}

func TestDemoRefuses(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there.npy")
	if err := os.WriteFile(there, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	thresher(t, "demo", "--save", there).WantError(t, there, "--overwrite")
	thresher(t, "demo", "--delta", "2").WantError(t, "delta")
	thresher(t, "demo", "more").WantError(t, "more")
	thresher(t, "demo", "--save", "x.txt").WantError(t, "x.txt", ".npy")
	thresher(t, "demo", "--sample", "-2").WantError(t, "--sample -2")
	thresher(t, "demo", "--query", " ").WantError(t, "--query")
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("the file that was there holds %q, %v", b, err)
	}
}

func TestDemoLicense(t *testing.T) {
	got := thresher(t, "demo", "--license")
	got.WantCode(t, cli.ExitOK)
	if !strings.Contains(got.Out, "Redistributions in binary form") {
		t.Errorf("no licence in %q", got.Out)
	}
}

func TestSaveVectorsLeavesNothingHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.npy")
	if err := saveVectors(path, 2, 3, make([]float32, 5)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("5 numbers for 2 x 3: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file is left: %v", err)
	}
}

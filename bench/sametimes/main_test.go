package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRun lets a racer take turns with itself at the smallest set, twice: the second time its files are there.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	racer := filepath.Join(dir, "racer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", racer, "../racer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := options{before: racer, after: racer, data: filepath.Join(dir, "sets"), only: "1000x64 m=1", starts: 2, turns: 1, seconds: 1e-9, worst: 1e9}
	row := regexp.MustCompile(`^\| 1000x64 \| m = 1, k = \d+ \| [\d.]+, [\d.]+ \| [\d.]+, [\d.]+ \| [\d.]+, [\d.]+ \|$`)
	for range 2 {
		var out strings.Builder
		slower, err := run(t.Context(), &out, o)
		if err != nil || slower != 0 {
			t.Fatalf("%d slower, %v", slower, err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 6 || !row.MatchString(lines[2]) || !row.MatchString(lines[3]) || lines[5] != "2 cells, 0 beyond 1e+09" {
			t.Errorf("output\n%s", out.String())
		}
	}
	o.worst = 0
	if slower, err := run(t.Context(), new(strings.Builder), o); slower != 2 || err != nil {
		t.Errorf("%d cells beyond ratio 0, %v", slower, err)
	}
	o.only = "m=3"
	if _, err := run(t.Context(), new(strings.Builder), o); err == nil || !strings.Contains(err.Error(), `-only "m=3"`) {
		t.Errorf("error %v for cells that there are none of", err)
	}
	o.only, o.after = "1000x64 m=1", "false"
	if _, err := run(t.Context(), new(strings.Builder), o); err == nil || !strings.Contains(err.Error(), "did not prepare") {
		t.Errorf("error %v of a program that is no racer", err)
	}
}

func TestCompare(t *testing.T) {
	least, middle := compare([]float64{4, 2, 8}, []float64{4, 3, 4})
	if least != 1.5 || middle != 1 {
		t.Errorf("ratios %v and %v, want 1.5 of the least and a median of 1", least, middle)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median %v, want 2.5", got)
	}
}

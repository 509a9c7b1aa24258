package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const table = `figure,panel,setting,axis,k,gamma,algorithm,trials,right,regret,regret_sd,duels
2,0,chain,K,20,1.3,beat-the-mean,3,3,300,10,4000
2,0,chain,K,20,1.3,interleaved-filter-2,3,3,100,50,900
2,1,chain,gamma,50,1,beat-the-mean,3,3,700,20,9000
2,1,chain,gamma,50,1.5,beat-the-mean,3,3,800,20,9000
`

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "figure.csv")
	if err := os.WriteFile(in, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]string{"figure.png": "\x89PNG", "figure.svg": "<?xml"} {
		out := ""
		if name == "figure.svg" {
			out = filepath.Join(dir, name)
		}
		if err := run(in, out); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(b, []byte(begin)) {
			t.Errorf("%s: %v, %.20q", name, err, b)
		}
		if name == "figure.svg" && (!bytes.Contains(b, []byte(">interleaved-filter-2<")) || !bytes.Contains(b, []byte(">gamma<"))) {
			t.Errorf("no legend or axis in %.3000s", b)
		}
	}
	if err := run(in, filepath.Join(dir, "figure.gif")); err == nil {
		t.Error("a .gif was drawn")
	}
}

func TestRead(t *testing.T) {
	points, err := read(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := points[3], (point{"1", "gamma", "beat-the-mean", 1.5, 800, 20}); len(points) != 4 || got != want {
		t.Errorf("%d points, the last %+v; want %+v", len(points), got, want)
	}
	for in, want := range map[string]string{
		"": "no points", "a,b\n1,2\n": "column panel is missing",
		strings.Replace(table, "100,50", "100,x", 1): "row 3, column regret_sd",
		strings.Replace(table, ",3,300", ",300", 1):  "wrong number of fields",
	} {
		if _, err := read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/vectors"
)

// farLines are vectors as JSON lines, of ids from from on, that float32 does not tell apart.
func farLines(from, n, dim, seed int) string {
	var b strings.Builder
	for i, row := range rowsOf64(n, dim, seed) {
		text, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "{\"id\":%d,\"vector\":%s}\n", from+i, text)
	}
	return b.String()
}

func rowsOf64(n, dim, seed int) (rows [][]float64) {
	r := vectors.Rand(uint64(seed))
	for range n {
		row := make([]float64, dim)
		for j := range row {
			row[j] = 1e6 + 1e-3*r.NormFloat64()
		}
		rows = append(rows, row)
	}
	return rows
}

// TestFolderFloat64: a folder of float64 keeps what is written as it was given, and every command answers by it what it answers by one file of
// the same vectors.
func TestFolderFloat64(t *testing.T) {
	t.Chdir(t.TempDir())
	const dim = 20
	first, second := farLines(0, 90, dim, 1), farLines(60, 60, dim, 2)
	clitest.WriteFile(t, ".", "a.jsonl", []byte(first))
	clitest.WriteFile(t, ".", "b.jsonl", []byte(second))
	clitest.WriteFile(t, ".", "q.jsonl", []byte(farLines(500, 7, dim, 3)))
	var given []float64
	var left strings.Builder
	for i, line := range strings.SplitAfter(strings.Join(strings.SplitAfter(first, "\n")[:60], "")+second, "\n") {
		if line == "" || i == 5 {
			continue
		}
		left.WriteString(line)
		var row struct{ Vector []float64 }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		given = append(given, row.Vector...)
	}
	clitest.WriteFile(t, ".", "left.jsonl", []byte(left.String()))
	clitest.WriteFile(t, ".", "left.npy", npyOf64(given, dim))
	run := func(args string) string {
		t.Helper()
		r := thresher(t, strings.Fields(args)...)
		r.WantCode(t, cli.ExitOK)
		return r.Out + r.Err
	}
	put := run("build --vectors a.jsonl --metric l2 --dtype float64 --out f/") + run("rows put --collection f --vectors b.jsonl")
	run("rows delete --collection f --ids 5")
	run("rows snapshot --collection f --out copy/")
	run("build --vectors copy/ --metric l2 --out again/")
	run("build --vectors copy/ --metric l2 --out copy.thresher")
	run("build --vectors left.npy --metric l2 --dtype float64 --out left.thresher")
	if strings.Contains(put, "rounded") {
		t.Errorf("something was rounded: %s", put)
	}
	for _, name := range []string{"f", "copy", "again", "copy.thresher"} {
		if out := run("info --json " + name); !strings.Contains(out, `"dtype":"float64"`) {
			t.Errorf("%s: %s", name, out)
		}
	}
	answers := func(name string) (found []string) {
		t.Helper()
		said := run("search --metric l2 --vectors " + name + " --queries q.jsonl -k 6 --method exact --out out.jsonl --overwrite")
		if strings.Contains(said, "float32") {
			t.Errorf("%s: %s", name, said)
		}
		for _, a := range answersOf(t, "out.jsonl") {
			found = append(found, fmt.Sprint(a.Rows, a.Scores64))
		}
		run("verify --metric l2 --vectors " + name + " --queries q.jsonl --answers out.jsonl")
		return found
	}
	want := answers("left.thresher")
	for _, name := range []string{"f", "copy", "again", "copy.thresher"} {
		if got := answers(name); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s answers\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if out := run("recall --metric l2 --queries q.jsonl -k 6 --answers out.jsonl --json --vectors copy"); !strings.Contains(out, `"recall":1`) {
		t.Errorf("recall: %s", out)
	}
	rowsOf := func(args string) (found []string) { // and scores
		t.Helper()
		run(args)
		for _, a := range answersOf(t, "o.jsonl") {
			found = append(found, fmt.Sprint(a.Rows, a.Scores64))
		}
		return found
	}
	pairsOf := func(verb, name string) (found []string) {
		t.Helper()
		run(verb + " --metric l2 --overwrite --out o.csv --vectors " + name)
		for line := range strings.Lines(string(clitest.ReadFile(t, "o.csv"))) {
			found = append(found, strings.Join(strings.Split(strings.TrimSpace(line), ",")[:3], ","))
		}
		return found
	}
	for _, verb := range []string{"truth --queries q.jsonl -k 6", "certify --queries q.jsonl --answers out.jsonl -k 6"} {
		args := verb + " --metric l2 --overwrite --out o.jsonl --vectors "
		if got, want := rowsOf(args+"copy"), rowsOf(args+"left.thresher"); len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", verb, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, verb := range []string{"pairs --max-distance 2e-5", "graph -k 3"} { // by row numbers, and the score in float32
		if got, want := pairsOf(verb, "copy"), pairsOf(verb, "left.thresher"); len(want) < 2 || strings.Join(got[1:], "\n") != strings.Join(want[1:], "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", verb, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestFolderFloat64BadInput: what a folder of float64 does not take is named by row and column.
func TestFolderFloat64BadInput(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.npy", npyOf64([]float64{1, .1, .2, 1}, 2))
	clitest.WriteFile(t, ".", "far.jsonl", []byte("{\"id\":7,\"vector\":[1,2]}\n{\"id\":8,\"vector\":[1e300,2]}\n"))
	clitest.WriteFile(t, ".", "far.npy", npyOf64([]float64{1, 1e300}, 2))
	clitest.WriteFile(t, ".", "nan.npy", npyOf64([]float64{1, math.NaN()}, 2))
	thresher(t, "build", "--vectors", "a.npy", "--metric", "l2", "--dtype", "float64", "--out", "f/").WantCode(t, cli.ExitOK)
	before := read(t, "f/1.log")
	for args, want := range map[string]string{
		"rows put --collection f --vectors far.jsonl":                             "far.jsonl: row 1, column 0 (0-based): line 2: value 1e300 is beyond the range of float32",
		"build --vectors far.npy --metric l2 --dtype float64 --out k/":            "far.npy: row 0, column 1: value 1e+300 is not finite as float32",
		"build --vectors nan.npy --metric l2 --dtype float64 --out g/":            "nan.npy: row 0, column 1 (0-based): value is NaN",
		"search --vectors f --queries a.npy -k 1 --method banditmips --basis raw": "float64",
		"build --vectors a.npy --metric l2 --dtype float16 --out h/":              "value 0.1 is no float16",
	} {
		got := thresher(t, strings.Fields(args)...)
		if got.Code != cli.ExitInput || !strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %q lacks %q", args, got.Code, got.Err, want)
		}
	}
	if string(read(t, "f/1.log")) != string(before) {
		t.Error("the log was written")
	}
}

// TestAskedForFloat64: --dtype float64 keeps so what a file has in float32 or as text, but not narrower types; answers to queries of float64
// are then those of the values given.
func TestAskedForFloat64(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.npy", npy([]float32{1, 0, 0, 1}, 2))
	clitest.WriteFile(t, ".", "a.csv", []byte("x,y\n1,0\n0,1\n"))
	clitest.WriteFile(t, ".", "a.i8bin", []byte{2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1})
	clitest.WriteFile(t, ".", "q.npy", npyOf64([]float64{1, 1 + 1e-12}, 2)) // equal, once rounded
	for file, kept := range map[string]string{"a.npy": "float64", "a.csv": "float64", "a.i8bin": "int8"} {
		name := file[2:] + ".thresher"
		thresher(t, "build", "--vectors", file, "--metric", "ip", "--dtype", "float64", "--out", name).WantCode(t, cli.ExitOK)
		if r := thresher(t, "info", "--json", name); !strings.Contains(r.Out, `"dtype":"`+kept+`"`) {
			t.Errorf("%s: %s%s", file, r.Out, r.Err)
		}
		if kept != "float64" {
			continue
		}
		for _, vectors := range []string{file, name} {
			args := []string{"--metric", "ip", "--vectors", vectors, "--queries", "q.npy"}
			if vectors == file {
				args = append(args, "--dtype", "float64")
			}
			thresher(t, append([]string{"search", "-k", "1", "--method", "exact", "--out", "o.jsonl", "--overwrite"}, args...)...).WantCode(t, cli.ExitOK)
			if a := answersOf(t, "o.jsonl"); len(a) != 1 || fmt.Sprint(a[0].Rows) != "[1]" {
				t.Errorf("%s: %+v", vectors, a)
			}
			thresher(t, append([]string{"verify", "--answers", "o.jsonl"}, args...)...).WantCode(t, cli.ExitOK)
		}
	}
}

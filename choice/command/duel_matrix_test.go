package command

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// chances of three arms: b is best, and rows and columns have different orders.
const (
	chancesCSV  = "wins,a, b,c\nc,.4,0.05,0.5\na,0.5,.1,.6\n b,.9,.5,.95\n"
	chancesJSON = `{"arms":["a","b","c"],"wins":[[0.5,0.1,0.6],[0.9,0.5,0.95],[0.4,0.05,0.5]]}`
)

func TestDuelMatrix(t *testing.T) {
	dir := t.TempDir()
	file := clitest.WriteFile(t, dir, "wins.csv", []byte(chancesCSV))
	args := []string{"--matrix", file, "--horizon=2000"}
	r := duelRun(t, "", args...)
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{"winner     b\n", "one arm left", "b is best, and wins against every other with 0.9 or more; closest is a"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	if !clitest.Exists(file + ".duel") {
		t.Error("no state beside the matrix")
	}
	again := duelRun(t, "", "--matrix", clitest.WriteFile(t, dir, "wins.json", []byte(chancesJSON)), "--horizon=2000")
	again.WantCode(t, cli.ExitOK)
	if again.Out != r.Out {
		t.Errorf("as JSON\n%s\nas CSV\n%s", again.Out, r.Out)
	}
	// An interrupted run that is resumed ends like an uninterrupted one.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args = append(args, "--state", filepath.Join(dir, "interrupted.duel"))
	thresherWith(t, ctx, "", append([]string{"duel", "run"}, args...)...).WantCode(t, cli.ExitInterrupted)
	if r2 := duelRun(t, "", args...); r2.Out != r.Out {
		t.Errorf("interrupted\n%s\nwas\n%s", r2.Out, r.Out)
	}
	for _, algorithm := range duel.Algorithms() {
		goal := []string{"--horizon=300"}
		if algorithm == duel.Knockout {
			goal = []string{"--epsilon=.3", "--delta=.5"}
		}
		r := duelRun(t, "", append(goal, "--matrix", file, "--algorithm", string(algorithm), "--state", filepath.Join(dir, string(algorithm)))...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "winner     b\n") {
			t.Errorf("%s:\n%s", algorithm, r.Out)
		}
	}
}

// --arms selects some of the arms; a winner that is not the best is reported.
func TestDuelMatrixOfSomeArms(t *testing.T) {
	dir := t.TempDir()
	file := clitest.WriteFile(t, dir, "wins.csv", []byte(chancesCSV))
	r := duelRun(t, "", "--matrix", file, "--arms", armsFile(t, dir, "c", "a"), "--horizon=3", "--seed=2", "--algorithm=beat-the-mean")
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{"a is best, and wins against every other with 0.6 or more; closest is c", "winner     c\n", "loses to a with 0.6\n"} {
		if !strings.Contains(r.Out, want) { // three duels, with seed 2
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	duelRun(t, "", "--matrix", file, "--arms", armsFile(t, t.TempDir(), "a", "d"), "--horizon=100").WantError(t, `--matrix: no row "d"`)
	cycle := clitest.WriteFile(t, dir, "cycle.csv", []byte(",a,b,c\na,.5,.6,.4\nb,.4,.5,.6\nc,.6,.4,.5\n"))
	r = duelRun(t, "", "--matrix", cycle, "--horizon=50", "--algorithm=double-thompson")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "no arm wins against every other") {
		t.Errorf("%s", r.Out)
	}
}

// Duels are won at the expected rate: a deviation of 6 standard deviations occurs once in
// 10^9 seeds.
func TestDiceAreFair(t *testing.T) {
	m, err := readMatrixCSV(strings.NewReader(chancesCSV))
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.jury(duel.Config{Arms: []string{"c", "b", "a"}, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	const duels = 20000
	wins := 0
	for id := range uint64(duels) {
		if j.judge(duel.Duel{ID: id, A: 1, B: 2}).AWon {
			wins++
		}
	}
	const p = .9
	if off := (float64(wins) - duels*p) / math.Sqrt(duels*p*(1-p)); math.Abs(off) > 6 {
		t.Errorf("%d of %d, %.1f standard deviations off", wins, duels, off)
	}
}

func TestDuelBadMatrix(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"empty.csv":      {"", "no header line"},
		"one.csv":        {",a\na,.5\n", "1 columns; a tournament has 2 to 2048 arms"},
		"bare.csv":       {"a,b\n.5,.6\n.4,.5\n", `line 1, after its first field, "a": 1 columns`},
		"long.csv":       {",a,b\na,.5,.6\nb,.4,.5,.1\n", `line 3: row "b" has 3 chances for 2 columns`},
		"short.csv":      {",a,b\na,.5\nb,.4,.5\n", `line 2: row "a" has 1 chances for 2 columns`},
		"missing.csv":    {",a,b\na,.5,.6\n", `column "b" has no row of its name`},
		"strange.csv":    {",a,b\na,.5,.6\nc,.4,.5\n", `line 3: row "c" has no column of its name`},
		"rows.csv":       {",a,b\na,.5,.6\na,.5,.6\n", `line 3: row "a" is listed twice`},
		"columns.csv":    {",a,b,a\na,.5,.6\n", `column 3: "a" is listed twice; first in column 1`},
		"nameless.csv":   {",a,\na,.5,.6\n", "column 2 has no name"},
		"latin.csv":      {",a,Am\xe9lie\na,.5,.6\n", `column 2: "Am\xe9lie" is not UTF-8`},
		"text.csv":       {",a,b\na,.5,x\nb,.4,.5\n", `line 2: row "a", column "b": "x" is not a number`},
		"nan.csv":        {",a,b\na,.5,NaN\nb,.4,.5\n", `row "a", column "b": NaN is not in [0, 1]`},
		"above.csv":      {",a,b\na,.5,1.2\nb,-.2,.5\n", `row "a", column "b": 1.2 is not in [0, 1]`},
		"diagonal.csv":   {",a,b\na,.5,.6\nb,.4,.6\n", `row "b", column "b": 0.6 is not 0.5, the chance of an arm against itself`},
		"sum.csv":        {",a,b\na,.5,.6\nb,.5,.5\n", `row "b", column "a": 0.5, and the reverse 0.6: together 1.1, which is not 1 within 1e-09`},
		"quote.csv":      {",a,b\n\"a,.5,.6\n", "quote.csv: "},
		"matrix.txt":     {chancesCSV, "name ends in none of .csv, .json"},
		"syntax.json":    {`{"arms":`, "a matrix is {"},
		"unknown.json":   {`{"names":["a"]}`, "unknown field"},
		"behind.json":    {chancesJSON + "x", "extra data after the matrix"},
		"null.json":      {`{"arms":["a","b"],"wins":[[0.5,null],[1,0.5]]}`, `row "a", column "b": null is not a number`},
		"fewer.json":     {`{"arms":["a","b"],"wins":[[0.5,0.6]]}`, `column "b" has no row`},
		"more.json":      {`{"arms":["a","b"],"wins":[[0.5,0.6],[0.4,0.5],[]]}`, "3 rows for 2 columns"},
		"notsquare.json": {`{"arms":["a","b"],"wins":[[0.5,0.6],[0.4]]}`, `row "b" has 1 chances for 2 columns`},
	} {
		file := clitest.WriteFile(t, dir, name, []byte(c.text))
		duelRun(t, "", "--matrix", file, "--horizon=100").WantError(t, name+": ", c.want)
		if clitest.Exists(file + ".duel") {
			t.Errorf("%s: a refused matrix left a state", name)
		}
	}
	file := clitest.WriteFile(t, dir, "wins.csv", []byte(chancesCSV))
	for args, want := range map[string]string{
		"--jsonl":                       "--matrix and --jsonl",
		"--ratings " + dir:              "exclude each other",
		"--most 3":                      "--most needs --ratings",
		"--matrix " + dir + "/none.csv": "none.csv: no such file",
	} {
		duelRun(t, "", slices.Concat([]string{"--matrix", file, "--horizon=100"}, strings.Fields(args))...).WantError(t, want)
	}
}

// FuzzMatrix: a matrix that is accepted gives preferences of as many arms.
func FuzzMatrix(f *testing.F) {
	for _, text := range []string{
		chancesCSV, chancesJSON, "", "\n", ",\n", ",a,b\n", "\xef\xbb\xbf,a,b\na,.5,1e-9\nb,0.999999999,0x1p-1\n", ",a,b\na,.5000000004,.6\nb,.4,.4999999996\n",
		`{"arms":[],"wins":[]}`, `{"arms":["a","a"],"wins":[[]]}`, `{"arms":null}`, `null`, `{"arms":["a","b"],"wins":[[0.5,1e999]]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func() (*matrix, error){
			func() (*matrix, error) { return readMatrixCSV(strings.NewReader(string(text))) },
			func() (*matrix, error) { return readMatrixJSON(strings.NewReader(string(text))) },
		} {
			m, err := read()
			if err != nil || m.check() != nil {
				continue
			}
			j, err := m.jury(duel.Config{Arms: m.names})
			if err != nil {
				t.Fatalf("%v: %q", err, text)
			}
			if got := j.(*dice).Arms(); got != len(m.names) {
				t.Errorf("%d arms of %d", got, len(m.names))
			}
		}
	})
}

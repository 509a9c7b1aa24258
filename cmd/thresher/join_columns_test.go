package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// joinIn runs a join in a folder and returns what it says.
func joinIn(t *testing.T, dir, args string) clitest.Result {
	t.Helper()
	t.Chdir(dir)
	return thresher(t, append([]string{"join", "--overwrite"}, strings.Fields(args)...)...)
}

// TestJoinWithoutIDs: a column called id is one as others are, whatever it holds, but no coordinate.
func TestJoinWithoutIDs(t *testing.T) {
	dir := t.TempDir()
	clitest.WriteFile(t, dir, "null.jsonl", []byte(`{"id":null,"v":[1,0]}`+"\n"+`{"id":7,"v":[0,1]}`+"\n"))
	clitest.WriteFile(t, dir, "float.csv", []byte("id,d0,d1\n.5,2,0\n,0,3\n"))
	for _, lang := range []string{"de", "fr"} {
		if err := os.MkdirAll(filepath.Join(dir, "parts", "lang="+lang), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	clitest.WriteFile(t, dir, "parts/lang=de/a.jsonl", []byte(`{"id":1,"v":[1,0]}`+"\n"))
	clitest.WriteFile(t, dir, "parts/lang=fr/a.jsonl", []byte(`{"id":1,"v":[0,1]}`+"\n"))
	for args, want := range map[string]string{
		"--left null.jsonl --right float.csv --left-on v":  "id,id_right,rank,score\n,0.5,1,2\n7,,1,3\n",
		"--left float.csv --right null.jsonl --right-on v": "id,id_right,rank,score\n0.5,,1,2\n,7,1,3\n",
		"--left null.jsonl --right parts/ --on v":          "id,id_right,lang,rank,score\n,1,de,1,1\n7,1,fr,1,1\n",
	} {
		joinIn(t, dir, args+" --metric ip -k 1 --out o.csv").WantCode(t, cli.ExitOK)
		if got := string(clitest.ReadFile(t, filepath.Join(dir, "o.csv"))); got != want {
			t.Errorf("%s writes\n%s\nwant\n%s", args, got, want)
		}
	}
}

// writeParquet writes rows as Parquet.
func writeParquet[T any](t *testing.T, dir, name string, rows ...T) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, dir, name, b.Bytes())
}

// TestJoinFineTimes: times finer than microseconds are no keys, by row, and are counted where they are written.
func TestJoinFineTimes(t *testing.T) {
	type row struct {
		T int64     `parquet:"t,timestamp(nanosecond)"`
		V []float32 `parquet:"v,list"`
	}
	dir := t.TempDir()
	writeParquet(t, dir, "fine.parquet", row{2000, []float32{1, 0}}, row{1, []float32{1, 0}}, row{-2, []float32{0, 1}})
	writeParquet(t, dir, "micros.parquet", row{2000, []float32{1, 0}}, row{1000, []float32{1, 0}})
	clitest.WriteFile(t, dir, "fine.jsonl", []byte(`{"t":"2024-01-02T00:00:00Z","v":[1,0]}`+"\n"+`{"t":"2024-01-02T00:00:00.0000001Z","v":[1,0]}`+"\n"))
	for args, says := range map[string]string{
		"--left fine.parquet --right micros.parquet --by t": `--by: fine.parquet: column "t": row 1 (0-based) has a time finer than microseconds`,
		"--left micros.parquet --right fine.parquet --by t": `--by: fine.parquet: column "t": row 1 (0-based) has a time finer than microseconds`,
		"--left fine.jsonl --right fine.jsonl --by t":       `--by: fine.jsonl: column "t": row 1 (0-based) has a time finer than microseconds`,
	} {
		joinIn(t, dir, args+" --on v --metric ip --out o.csv").WantError(t, says)
	}
	same := joinIn(t, dir, "--left micros.parquet --right micros.parquet --by t --on v --metric ip --out o.csv")
	if same.WantCode(t, cli.ExitOK); strings.Contains(same.Err, "are cut") {
		t.Errorf("times of microseconds: %s", same.Err)
	}
	cut := joinIn(t, dir, "--left fine.parquet --right fine.jsonl --right-columns t --on v --metric ip --out o.csv")
	cut.WantCode(t, cli.ExitOK)
	for _, says := range []string{"fine.parquet column=t rows=2 first_row=1", "fine.jsonl column=t rows=1 first_row=1"} {
		if !strings.Contains(cut.Err, says) {
			t.Errorf("%s\nlacks %s", cut.Err, says)
		}
	}
}

// TestJoinLeavesOut: of all columns those that cannot be written are left out, and a warning says why; named, they are errors.
func TestJoinLeavesOut(t *testing.T) {
	type row struct {
		Name  string    `parquet:"name"`
		Bytes []byte    `parquet:"bytes"`
		Big   uint64    `parquet:"big"`
		Tags  []string  `parquet:"tags,list"`
		V     []float32 `parquet:"v,list"`
	}
	dir := t.TempDir()
	writeParquet(t, dir, "odd.parquet", row{"a", []byte("x"), 1, []string{"p"}, []float32{1, 0}}, row{"b", []byte("\xff\x01"), 1 << 63, nil, []float32{0, 1}})
	clitest.WriteFile(t, dir, "null.jsonl", []byte(`{"big":18446744073709551615,"z":null,"v":[1,0]}`+"\n"))
	clitest.WriteFile(t, dir, "bare.jsonl", []byte(`{"v":[1,0]}`+"\n"))
	const rest = " --on v --metric ip -k 1 --out o.csv"
	for _, c := range []struct {
		args, csv string
		says      []string
	}{
		{"--left odd.parquet --right bare.jsonl", "name,rank,score\na,1,1\nb,1,0\n", []string{
			`column=bytes why="odd.parquet: row 1 (0-based): column \"bytes\": \"\\xff\\x01\" is bytes that are not UTF-8"`,
			`9223372036854775808 does not fit int64`, "which csv does not hold",
		}},
		{"--left null.jsonl --right odd.parquet --right-columns name", "name,rank,score\na,1,1\n", []string{`column=z why="it has no values"`, "columns=big"}},
		{"--left bare.jsonl --right bare.jsonl", "rank,score\n1,1\n", nil},
	} {
		got := joinIn(t, dir, c.args+rest)
		got.WantCode(t, cli.ExitOK)
		if csv := string(clitest.ReadFile(t, filepath.Join(dir, "o.csv"))); csv != c.csv {
			t.Errorf("%s writes\n%s\nwant\n%s", c.args, csv, c.csv)
		}
		for _, says := range c.says {
			if !strings.Contains(got.Err, says) {
				t.Errorf("%s says\n%s\nand not %s", c.args, got.Err, says)
			}
		}
	}
	for args, says := range map[string]string{
		"--left odd.parquet --right bare.jsonl --left-columns bytes":     `--left: odd.parquet: row 1 (0-based): column "bytes": "\xff\x01" is bytes that are not UTF-8`,
		"--left odd.parquet --right bare.jsonl --left-columns big":       "does not fit int64",
		"--left odd.parquet --right bare.jsonl --left-columns tags":      `column "tags" has lists, which csv does not hold`,
		"--left null.jsonl --right bare.jsonl --left-columns z":          `no row has a value of "z"`,
		"--left odd.parquet --right odd.parquet --by bytes":              "--by: column \"bytes\" of odd.parquet: odd.parquet: row 1",
		"--left odd.parquet --right odd.parquet --by v":                  `--by: column "v" makes the vectors of odd.parquet`,
		"--left odd.parquet --right odd.parquet --by tags":               "is list of texts; keys are",
		"--left odd.parquet --right null.jsonl --by big":                 "--by: column \"big\" of odd.parquet: odd.parquet: row 1",
		"--left odd.parquet --right bare.jsonl --left-on v --right-on w": "--right-on w: bare.jsonl: row 0",
	} {
		if strings.Contains(args, "-on ") {
			args += " --metric ip --out o.csv"
		} else {
			args += rest
		}
		got := joinIn(t, dir, args) // warnings may stand before the error
		if got.WantCode(t, cli.ExitInput); !strings.Contains(got.Err, says) {
			t.Errorf("%s\nsays %s\nand not %s", args, got.Err, says)
		}
	}
}

// TestJoinInfinity: JSON has no infinities, which is found before the search; NaN is no value there.
func TestJoinInfinity(t *testing.T) {
	type row struct {
		F float64   `parquet:"f"`
		V []float32 `parquet:"v,list"`
	}
	dir := t.TempDir()
	writeParquet(t, dir, "inf.parquet", row{1, []float32{1, 0}}, row{math.Inf(1), []float32{1, 0}})
	writeParquet(t, dir, "nan.parquet", row{math.NaN(), []float32{1, 0}})
	got := joinIn(t, dir, "--left nan.parquet --right inf.parquet --on v --metric ip --out o.jsonl")
	got.WantError(t, `--out: inf.parquet: row 1 (0-based): column "f": +Inf is no number of JSON`, "--right-columns")
	if strings.Contains(got.Err, "--resume") {
		t.Errorf("%s", got.Err)
	}
	joinIn(t, dir, "--left nan.parquet --right inf.parquet --right-columns v --on v --metric ip --out o.jsonl").WantCode(t, cli.ExitInput)
	joinIn(t, dir, "--left nan.parquet --right nan.parquet --on v --metric ip --out o.jsonl").WantCode(t, cli.ExitOK)
	if lines := string(clitest.ReadFile(t, filepath.Join(dir, "o.jsonl"))); lines != `{"rank":1,"score":1}`+"\n" {
		t.Errorf("NaN is written as %s", lines)
	}
	joinIn(t, dir, "--left inf.parquet --right nan.parquet --on v --metric ip --out o.csv").WantCode(t, cli.ExitOK)
	if csv := string(clitest.ReadFile(t, filepath.Join(dir, "o.csv"))); csv != "f,f_right,rank,score\n1,NaN,1,1\n+Inf,NaN,1,1\n" {
		t.Errorf("CSV is %s", csv)
	}
}

// TestJoinDistances: of distances, limits and what is said of them are distances.
func TestJoinDistances(t *testing.T) {
	dir := t.TempDir()
	clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"lang":"x","v":[1,0]}`+"\n"))
	const rest = "--left a.jsonl --right a.jsonl --on v --metric l2 --out o.parquet "
	got := joinIn(t, dir, rest+"--max-distance 20")
	got.WantCode(t, cli.ExitOK)
	if !strings.Contains(got.Err, "1, all within the greatest distance of each row") {
		t.Errorf("the summary says\n%s", got.Err)
	}
	if facts := string(clitest.ReadFile(t, filepath.Join(dir, "o.parquet"))); !strings.Contains(facts, `"max_distance":20`) || strings.Contains(facts, "min_score") {
		t.Error("the metadata speak of scores")
	}
	joinIn(t, dir, rest+"--max-distance -1").WantError(t, "--max-distance -1: squared distances are at least 0")
	joinIn(t, dir, rest+"--method banditmips").WantError(t, "auto, exact, certain, adaptive")
	if help := thresher(t, "join", "--help").Out; !strings.Contains(help, "(auto, exact, certain, adaptive)") {
		t.Errorf("the help says\n%s", help)
	}
	t.Chdir(dir)
	thresher(t, "join", "--left", "a.jsonl", "--right", "a.jsonl", "--on", "v", "--metric", "l2", "--by", " lang", "--out", "p.csv").WantCode(t, cli.ExitOK)
}

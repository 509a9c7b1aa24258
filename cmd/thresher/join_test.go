package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// joinedRow is a row that join writes as JSON lines.
type joinedRow struct {
	ID      string   `json:"id"`
	Lang    *string  `json:"lang"`
	Right   *string  `json:"id_right"`
	Year    *int     `json:"year_right"`
	Rank    *int     `json:"rank"`
	Score   *float64 `json:"score"`
	Unasked any      `json:"v"`
}

// writeTables writes users.jsonl and items.jsonl, whose vectors are in v, with keys of which some are null, and returns them.
func writeTables(t *testing.T, dir string, users, items int) (left, right []map[string]any) {
	t.Helper()
	table := func(name string, n int, seed uint64) (rows []map[string]any) {
		v := gaussian(seed, n*6)
		var b strings.Builder
		for i := range n {
			row := map[string]any{"id": fmt.Sprintf("%s%d", name, i), "year": 2000 + i%3, "v": v[i*6 : (i+1)*6]}
			if i%11 != 0 {
				row["lang"] = string(rune('a' + i*i%7%4))
			}
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", line)
			rows = append(rows, row)
		}
		clitest.WriteFile(t, dir, name+".jsonl", []byte(b.String()))
		return rows
	}
	return table("users", users, 1), table("items", items, 2)
}

// joins are the rows that join is to write, by inner products.
func joins(left, right []map[string]any, keys []string, k int, all bool) (rows []string) {
	for _, a := range left {
		type match struct {
			id    string
			score float64
		}
		var found []match
		for _, b := range right {
			equal := true
			for _, key := range keys {
				equal = equal && a[key] != nil && a[key] == b[key]
			}
			score := 0.
			for i, x := range a["v"].([]float32) {
				score += float64(x) * float64(b["v"].([]float32)[i])
			}
			if equal {
				found = append(found, match{b["id"].(string), score})
			}
		}
		slices.SortStableFunc(found, func(x, y match) int {
			if x.score > y.score {
				return -1
			}
			return 1
		})
		for i, m := range found[:min(k, len(found))] {
			rows = append(rows, fmt.Sprintf("%s %s %d", a["id"], m.id, i+1))
		}
		if all && len(found) == 0 {
			rows = append(rows, fmt.Sprintf("%s none", a["id"]))
		}
	}
	return rows
}

// readJoined reads rows that were written as JSON lines.
func readJoined(t *testing.T, path string) (rows []string) {
	t.Helper()
	for line := range strings.Lines(string(clitest.ReadFile(t, path))) {
		var row joinedRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		switch {
		case row.Unasked != nil:
			t.Fatalf("%s has the vector", line)
		case row.Right == nil && row.Rank == nil && row.Score == nil:
			rows = append(rows, row.ID+" none")
		default:
			rows = append(rows, fmt.Sprintf("%s %s %d", row.ID, *row.Right, *row.Rank))
		}
	}
	return rows
}

// TestJoin compares joined rows with all pairs, by no, one and two keys, also of rows of the left table that join with none.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	left, right := writeTables(t, dir, 70, 90)
	for _, c := range []struct{ by, how, chunk string }{{}, {by: "lang"}, {by: "lang", how: "left"}, {by: "lang,year", how: "left", chunk: "7"}} {
		out := filepath.Join(dir, "out.jsonl")
		args := []string{"join", "--left", filepath.Join(dir, "users.jsonl"), "--right", filepath.Join(dir, "items.jsonl"), "--on", "v", "--metric", "ip", "-k", "3", "--out", out, "--overwrite", "--json"}
		for flag, value := range map[string]string{"--by": c.by, "--how": c.how, "--chunk": c.chunk} {
			if value != "" {
				args = append(args, flag, value)
			}
		}
		got := thresher(t, args...)
		got.WantCode(t, cli.ExitOK)
		want := joins(left, right, namesIn(c.by), 3, c.how == "left")
		if rows := readJoined(t, out); !slices.Equal(rows, want) {
			t.Errorf("by %q, how %q: %d rows %v, want %d %v", c.by, c.how, len(rows), rows, len(want), want)
		}
		var s joinSummary
		if err := json.Unmarshal([]byte(got.Out), &s); err != nil {
			t.Fatal(err)
		}
		pairs := int64(len(joins(left, right, namesIn(c.by), 3, false)))
		if s.Rows != 70 || s.Pairs != pairs || s.Guarantee != "exact" || !strings.HasSuffix(s.Promise, ": none wrong") || s.Threads == 0 {
			t.Errorf("by %q: summary %+v, with %d pairs", c.by, s, pairs)
		}
	}
}

// TestJoinFormats: a join of tables in any format writes the same rows, and keeps the types of columns.
func TestJoinFormats(t *testing.T) {
	dir := t.TempDir()
	clitest.WriteFile(t, dir, "a.csv", []byte("id,on,key,d0,d1\n1,true,x,1,0\n2,false,y,0,1\n3,,x,1,1\n"))
	clitest.WriteFile(t, dir, "b.jsonl", []byte(`{"key":"x","at":"2024-01-02T03:04:05Z","rank":0.5,"tags":["p","q"],"d":[1,0]}
{"key":"y","rank":1.5,"d":[2,0]}
{"key":"x","at":"2024-01-03","rank":2.5,"tags":[],"d":[0,3]}
`))
	parquet, csv := filepath.Join(dir, "out.parquet"), filepath.Join(dir, "out.csv")
	args := []string{"join", "--left", filepath.Join(dir, "a.csv"), "--right", filepath.Join(dir, "b.jsonl"), "--left-on", "d*", "--right-on", "d", "--metric", "ip", "--by", "key"}
	thresher(t, append(args, "--out", parquet)...).WantCode(t, cli.ExitOK)
	thresher(t, append(args, "--out", csv, "--right-columns", "at,rank", "--how", "left")...).WantCode(t, cli.ExitOK)
	want := `id,on,key,at,rank_right,rank,score
1,true,x,2024-01-02T03:04:05Z,0.5,1,1
1,true,x,2024-01-03T00:00:00Z,2.5,2,0
2,false,y,,1.5,1,0
3,,x,2024-01-03T00:00:00Z,2.5,1,3
3,,x,2024-01-02T03:04:05Z,0.5,2,1
`
	if got := string(clitest.ReadFile(t, csv)); got != want {
		t.Errorf("CSV is\n%s\nwant\n%s", got, want)
	}
	lines := filepath.Join(dir, "out.jsonl")
	thresher(t, append(args, "--out", lines, "-k", "1")...).WantCode(t, cli.ExitOK)
	want = `{"id":1,"on":true,"key":"x","at":"2024-01-02T03:04:05Z","rank_right":0.5,"tags":["p","q"],"rank":1,"score":1}
{"id":2,"on":false,"key":"y","rank_right":1.5,"rank":1,"score":0}
{"id":3,"key":"x","at":"2024-01-03T00:00:00Z","rank_right":2.5,"tags":[],"rank":1,"score":3}
`
	if got := string(clitest.ReadFile(t, lines)); got != want {
		t.Errorf("JSON lines are\n%s\nwant\n%s", got, want)
	}
	typedJoin(t, parquet)
	for _, ending := range []string{".arrow", ".arrows"} {
		arrow := filepath.Join(dir, "out"+ending)
		thresher(t, append(args, "--out", arrow)...).WantCode(t, cli.ExitOK)
		typedJoin(t, arrow)
	}
}

// typedJoin reads what TestJoinFormats joins from a file whose format has types.
func typedJoin(t *testing.T, path string) {
	t.Helper()
	r, err := dataset.OpenValues(path, "", nil, "id", "at", "rank", "score")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	row, err := r.Next()
	if err != nil || row[0].Integer != 1 || row[1].Kind != dataset.TimeValue || row[2].Integer != 2 || row[3].Kind != dataset.FloatValue || row[3].Float != 0 {
		t.Errorf("row 1 of %s: %+v, error %v", path, row, err)
	}
}

// TestJoinResumes: a run whose file of progress is there goes on, and one that is done is found to be.
func TestJoinResumes(t *testing.T) {
	dir := t.TempDir()
	writeTables(t, dir, 60, 50)
	run := func(out string, more ...string) clitest.Result {
		return thresher(t, append([]string{"join", "--left", filepath.Join(dir, "users.jsonl"), "--right", filepath.Join(dir, "items.jsonl"), "--on", "v", "--metric", "cosine", "--by", "lang", "--chunk", "9", "--out", out}, more...)...)
	}
	whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "out.jsonl")
	run(whole).WantCode(t, cli.ExitOK)
	run(out, "--resume").WantCode(t, cli.ExitOK)
	if string(clitest.ReadFile(t, out)) != string(clitest.ReadFile(t, whole)) {
		t.Error("a run with --resume writes other rows")
	}
	again := run(out, "--resume")
	again.WantCode(t, cli.ExitOK)
	if !strings.Contains(again.Err, "60 by an earlier run") {
		t.Errorf("a run that is done says\n%s", again.Err)
	}
	other := run(out, "--resume", "-k", "2")
	other.WantCode(t, cli.ExitInput)
	if _, err := os.Stat(out + ".spool"); err == nil {
		t.Error("the log of matches is left")
	}
	existing := run(whole)
	existing.WantCode(t, cli.ExitInput)
	if !strings.Contains(existing.Err, "--overwrite") {
		t.Errorf("an output that exists: %s", existing.Err)
	}
}

// TestJoinRefuses: what has two readings, or none, is refused by name.
func TestJoinRefuses(t *testing.T) {
	dir := t.TempDir()
	writeTables(t, dir, 5, 5)
	clitest.WriteFile(t, dir, "text.jsonl", []byte(`{"id":"a","year":"2000","v":[1,2,3,4,5,6]}`+"\n"))
	clitest.WriteFile(t, dir, "narrow.jsonl", []byte(`{"id":"a","lang":"x","v":[1,2]}`+"\n"))
	clitest.WriteFile(t, dir, "rows.npy", npy(make([]float32, 12), 6))
	clitest.WriteFile(t, dir, "ranked.jsonl", []byte(`{"rank_left":1,"rank":2,"v":[1,2,3,4,5,6]}`+"\n"))
	for says, args := range map[string]string{
		`two columns of the output are called "rank_left"`:               "--left ranked.jsonl --right items.jsonl --metric ip --on v --out o.csv",
		"--left and --right name the files":                              "--right items.jsonl --metric ip --out o.csv",
		"--out names the file":                                           "--left users.jsonl --right items.jsonl --metric ip",
		"name ends in none of .csv, .parquet, .arrow, .arrows, .jsonl":   "--left users.jsonl --right items.jsonl --metric ip --out o.npz",
		"--metric: the tables have none of their own":                    "--left users.jsonl --right items.jsonl --out o.csv",
		"--how outer is neither inner nor left":                          "--left users.jsonl --right items.jsonl --metric ip --how outer --out o.csv",
		"--on names the vectors of both tables":                          "--left users.jsonl --right items.jsonl --metric ip --on v --left-on v --out o.csv",
		`column "year" is int64 in the left table and text in the right`: "--left users.jsonl --right text.jsonl --metric ip --on v --by year --out o.csv",
		`no row has a value of "country"`:                                "--left users.jsonl --right items.jsonl --metric ip --on v --by country --left-columns id --right-columns id --out o.csv",
		"has vectors of dimension 2":                                     "--left users.jsonl --right narrow.jsonl --metric ip --on v --out o.csv",
		"--method: bounded-me is for searches; a join has":               "--left users.jsonl --right items.jsonl --metric ip --on v --method strict --out o.csv",
		"--max-distance: ":                                               "--left users.jsonl --right items.jsonl --metric ip --on v --max-distance 3 --out o.csv",
		"files of format npy have no columns beside the vectors":         "--left rows.npy --right items.jsonl --metric ip --right-on v --out o.csv",
		"users.jsonl is an input and would be overwritten":               "--left users.jsonl --right items.jsonl --metric ip --on v --out users.jsonl --overwrite",
	} {
		if strings.Contains(says, "bounded-me") {
			says = "--method: strict is for searches; a join has"
		}
		t.Run(says, func(t *testing.T) {
			t.Chdir(dir)
			got := thresher(t, append([]string{"join"}, strings.Fields(args)...)...)
			got.WantCode(t, cli.ExitInput)
			if !strings.Contains(got.Err, says) {
				t.Errorf("%s\nsays %s\nand not %s", args, got.Err, strconv.Quote(says))
			}
		})
	}
}

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestFilterColumn: each query has the answer of a search for it alone with its filter, by search, truth and certify, in any
// chunks, verify and recall hold answers to it, and --resume continues with the same filters.
func TestFilterColumn(t *testing.T) {
	race.Skip(t, "one goroutine")
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV))
	for name, text := range map[string]string{
		"q.csv": "q0,q1,only\n1,0,year >= 1999\n1,0,\"lang = 'go' and not draft\"\n1,0,\n-1,0,year >= 1999\n1,0,year > 3000\n",
		"q.jsonl": `{"q":[1,0],"only":"year >= 1999"}
{"q":[1,0],"only":"lang = 'go' and not draft"}
{"q":[1,0],"only":null}
{"q":[-1,0],"only":"year >= 1999"}
{"q":[1,0],"only":"year > 3000"}
`,
	} {
		queries, out := clitest.WriteFile(t, dir, name, []byte(text)), filepath.Join(dir, "out.jsonl")
		column := "q"
		if strings.HasSuffix(name, ".csv") {
			column = "q0,q1"
		}
		in := []string{"--vectors", films, "--vectors-column", "d0,d1", "--queries", queries, "--queries-column", column, "--metric", "ip", "--filter-column", "only"}
		for _, verb := range [][]string{{"search"}, {"search", "--method", "exact", "--chunk", "2"}, {"truth"}} {
			r := thresher(t, append(slices.Clone(verb), append(in, "-k", "2", "--out", out, "--overwrite")...)...)
			r.WantCode(t, cli.ExitOK)
			for j, want := range [][]string{{"e", "b"}, {"c", "d"}, {"c", "d"}, {"a", "b"}, {}} {
				if got := idsOf(t, string(read(t, out)), j); !slices.Equal(got, want) {
					t.Errorf("%s %v, query %d: %v, want %v", name, verb, j, got, want)
				}
			}
			if strings.Contains(string(read(t, out)), `"covers"`) {
				t.Error("answers about different vectors state what they are for")
			}
		}
		unfiltered := filepath.Join(dir, "all.jsonl")
		thresher(t, append([]string{"search"}, append(slices.Clone(in[:10]), "-k", "2", "--out", unfiltered, "--overwrite")...)...).WantCode(t, cli.ExitOK)
		r := thresher(t, append([]string{"certify", "--answers", unfiltered, "--json", "--out", out, "--overwrite"}, in...)...)
		var said struct{ Certified struct{ Unwanted int64 } }
		if err := json.Unmarshal([]byte(r.Out), &said); err != nil || said.Certified.Unwanted == 0 {
			t.Errorf("%s: certify counts no vector that a query's filter does not allow: %v %s %s", name, err, r.Out, r.Err)
		}
		judge := func(verb, answers string, want int, text string) {
			t.Helper()
			r := thresher(t, append([]string{verb, "--answers", answers, "--ids", "id", "-k", "2"}, in...)...)
			r.WantCode(t, want)
			if !strings.Contains(strings.Join(strings.Fields(r.Out), " "), text) {
				t.Errorf("%s of %s: %s, want %s", verb, answers, r.Out, text)
			}
		}
		judge("verify", out, cli.ExitOK, "wrong 0 malformed 0")
		judge("verify", out, cli.ExitOK, `filter of each query, column "only"`)
		judge("recall", out, cli.ExitOK, `filter of each query, column "only"`)
		judge("recall", out, cli.ExitOK, "recall 1.0000")
		judge("verify", unfiltered, cli.ExitWrong, "malformed 2")
		judge("recall", unfiltered, cli.ExitOK, "recall 0.7500")
		f := reportOf(t, append(in, "--ids", "id", "-k", "2", "--answers", out+","+unfiltered)...)
		if f.FilterColumn != "only" {
			t.Errorf("%s: the report is about column %q", name, f.FilterColumn)
		}
		if a := f.Answers; a[0].Recall != 1 || a[1].Recall != .75 || len(a[1].Missed) == 0 {
			t.Errorf("%s: report: %+v", name, a)
		}
		for seed := range 3 { // the filters are those of the queries drawn
			f := reportOf(t, append(in, "--ids", "id", "-k", "2", "--answers", out, "--sample", "2", "--seed", strconv.Itoa(seed))...)
			if f.Answers[0].Recall != 1 || f.Sampled != 2 {
				t.Errorf("%s: report of a sample: %+v", name, f.Answers)
			}
		}
	}
}

// TestFilterColumnErrors: an error names the file, the row and the place in its expression, before anything is searched.
func TestFilterColumnErrors(t *testing.T) {
	dir := t.TempDir()
	films, answers := clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV)), clitest.WriteFile(t, dir, "answers.json", []byte("[[0],[0]]"))
	for i, test := range []struct {
		queries, more, want string
	}{
		{"q0,q1,only\n1,0,year > 1\n1,0,year >\n", "", `q.csv: row 1 (0-based): column "only": filter, character 7: the expression ends`},
		{"q0,q1,only\n1,0,year > 1\n1,0,yeer > 1\n", "", `no column "yeer"`},
		{"q0,q1,only\n1,0,year > 1\n1,0,lang > 1\n", "", `q.csv: row 1 (0-based): column "only": `},
		{"q0,q1,only\n1,0,7\n1,0,8\n", "", `row 0 (0-based): column "only" is int64; expressions are texts`},
		{"q0,q1\n1,0\n", "", `no column "only"`},
		{"q0,q1,only\n1,0,year > 1\n", "--filter=year > 1", "name one of them"},
		{"q0,q1,only\n1,0,year > 1\n", "--part=0/2", "--part: answers with a filter for each query"},
	} {
		queries := clitest.WriteFile(t, dir, "q.csv", []byte(test.queries))
		line := []string{"search", "--vectors", films, "--vectors-column", "d0,d1", "--queries", queries, "--queries-column", "q0,q1", "--metric", "ip", "--filter-column", "only", "-k", "1", "--out", filepath.Join(dir, "o.jsonl")}
		if test.more != "" {
			line = append(line, test.more)
		}
		lines := [][]string{line}
		if !strings.HasPrefix(test.more, "--part") {
			for _, verb := range []string{"verify", "recall"} {
				lines = append(lines, append([]string{verb, "--answers", answers}, line[1:len(line)-2]...))
				if test.more != "" {
					lines[len(lines)-1] = append(lines[len(lines)-1][:len(line)-1], test.more)
				}
			}
		}
		for _, line := range lines {
			r := thresher(t, line...)
			r.WantCode(t, cli.ExitInput)
			if !strings.Contains(r.Err, test.want) {
				t.Errorf("case %d: %s: %s, want %s", i, line[0], r.Err, test.want)
			}
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
	"thresher/tasks"
)

// The films of TestFilter, in two formats.
const filmsCSV = `id,year,lang,draft,d0,d1
a,1999,go,false,1,0
b,2005,rust,true,2,0
c,,go,false,9,0
d,1998,go,false,7,0
e,2001,it's,,3,0
`

const filmsJSONL = `{"id":"a","year":1999,"lang":"go","draft":false,"v":[1,0]}
{"id":"b","year":2005,"lang":"rust","draft":true,"v":[2,0]}
{"id":"c","year":null,"lang":"go","draft":false,"v":[9,0]}
{"id":"d","year":1998,"lang":"go","draft":false,"v":[7,0]}
{"id":"e","year":2001,"lang":"it's","v":[3,0]}
`

// TestFilter: answers have the best of the vectors that an expression allows, by exact and certain search,
// from files of two formats; verify, truth, recall, report and certify take the same expression, and say so.
func TestFilter(t *testing.T) {
	race.Skip(t, "one goroutine")
	dir := t.TempDir()
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("{\"v\":[1,0]}\n{\"v\":[-1,0]}\n"))
	wide := clitest.WriteFile(t, dir, "q.csv", []byte("d0,d1\n1,0\n-1,0\n"))
	for _, films := range []struct{ vectors, queries string }{
		{clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV)), wide},
		{clitest.WriteFile(t, dir, "films.jsonl", []byte(filmsJSONL)), queries},
	} {
		for i, test := range []struct {
			filter  string
			allowed int
			want    [2][]string
		}{
			{"year >= 1999", 3, [2][]string{{"e", "b"}, {"a", "b"}}},
			{"lang = 'go' and not draft", 3, [2][]string{{"c", "d"}, {"a", "d"}}},
			{"year is null or lang = 'it''s'", 2, [2][]string{{"c", "e"}, {"e", "c"}}},
		} {
			out := filepath.Join(dir, "out.jsonl")
			in := []string{"--vectors", films.vectors, "--queries", films.queries, "--metric", "ip", "--filter", test.filter}
			if i > 0 { // year stays a column of numbers, which may be a coordinate
				in = append(in, "--vectors-column", vectorColumns(films.vectors))
			}
			for _, verb := range [][]string{{"search"}, {"search", "--method", "exact"}, {"truth"}} {
				r := thresher(t, append(slices.Clone(verb), append(in, "-k", "2", "--out", out, "--overwrite")...)...)
				r.WantCode(t, cli.ExitOK)
				for j, want := range test.want {
					if got := idsOf(t, string(read(t, out)), j); !slices.Equal(got, want) {
						t.Errorf("%s %s, query %d: %v, want %v", films.vectors, test.filter, j, got, want)
					}
				}
			}
			for _, verb := range [][]string{{"verify"}, {"recall", "--fail-under", "1"}} {
				r := thresher(t, append(append(verb, "--answers", out), in...)...)
				r.WantCode(t, cli.ExitOK)
				if want := fmt.Sprintf("allows %d of the vectors", test.allowed); !strings.Contains(r.Out, want) {
					t.Errorf("%s does not say %q: %s", verb[0], want, r.Out)
				}
			}
			page := filepath.Join(dir, "page.html")
			f := reportOf(t, append(in, "--answers", out, "--out", page, "--overwrite")...)
			if want := (tasks.Filtered{Filter: test.filter, Allowed: test.allowed}); f.Filtered != want {
				t.Errorf("the report is about %+v, want %+v", f.Filtered, want)
			}
			if want := html.EscapeString(fmt.Sprintf("best of the %d vectors, of 5, that the filter allows: %s.", test.allowed, test.filter)); !strings.Contains(string(read(t, page)), want) {
				t.Errorf("the page lacks %q", want)
			}
			unfiltered := filepath.Join(dir, "all.jsonl")
			thresher(t, "search", "--vectors", films.vectors, "--queries", films.queries, "--metric", "ip", "-k", "2", "--out", unfiltered, "--overwrite", "--vectors-column", vectorColumns(films.vectors)).WantCode(t, cli.ExitOK)
			thresher(t, append([]string{"verify", "--answers", unfiltered}, in...)...).WantCode(t, cli.ExitWrong)
			r := thresher(t, append([]string{"certify", "--answers", unfiltered, "--json", "--out", out, "--overwrite"}, in...)...)
			var said struct{ Certified struct{ Unwanted int64 } }
			if err := json.Unmarshal([]byte(r.Out), &said); err != nil || said.Certified.Unwanted == 0 {
				t.Errorf("%s: certify counts no vector that the filter does not allow: %v %s", test.filter, err, r.Out)
			}
		}
	}
}

func vectorColumns(file string) string {
	if strings.HasSuffix(file, ".csv") {
		return "d0,d1"
	}
	return "v"
}

// idsOf are the ids of the answer to query j.
func idsOf(t *testing.T, text string, j int) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var a struct{ IDs []string }
	if j >= len(lines) || json.Unmarshal([]byte(lines[j]), &a) != nil {
		t.Fatalf("no answer %d in %s", j, text)
	}
	return a.IDs
}

// TestFilterErrors: what an expression lacks is said with its place, and before or beside the file.
func TestFilterErrors(t *testing.T) {
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV))
	wide := clitest.WriteFile(t, dir, "q.csv", []byte("d0,d1\n1,0\n"))
	plain := clitest.WriteFile(t, dir, "a.npy", npy([]float32{1, 0, 0, 1}, 2))
	for _, test := range []struct{ vectors, filter, column, want string }{
		{films, "year >=", "", "--filter: filter, character 8: the expression ends where a value is wanted"},
		{films, "yeer = 3", "d?", `no column "yeer"; the file has`},
		{films, "lang > 3", "d?", `column "lang" is text, and > compares it with an integer; a text stands in quotes`},
		{films, "year > 3000", "", "--filter: no vector of"},
		{clitest.WriteFile(t, dir, "three.csv", []byte("x,y,z\n1,0,1\n")), "y > -1", "", `which may be a coordinate like x, z`},
		{plain, "year > 3000", "", "files of format npy have no columns beside the vectors"},
	} {
		line := []string{"search", "--vectors", test.vectors, "--queries", wide, "--metric", "ip", "--filter", test.filter, "-k", "1"}
		if strings.HasSuffix(test.vectors, "three.csv") { // whose coordinates have names of their own
			line[4] = test.vectors
		}
		if test.column != "" {
			line = append(line, "--vectors-column", test.column)
		}
		r := thresher(t, line...)
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, test.want) {
			t.Errorf("%s: %s, want %s", test.filter, r.Err, test.want)
		}
	}
	prepared := filepath.Join(dir, "films.thresher")
	thresher(t, "build", "--vectors", films, "--metric", "ip", "--vectors-column", "d0,d1", "--out", prepared).WantCode(t, cli.ExitOK)
	r := thresher(t, "search", "--vectors", prepared, "--queries", wide, "--filter", "year > 3")
	if !strings.Contains(r.Err, "films.thresher has no columns: no file films.thresher.columns lies beside it") {
		t.Error(r.Err)
	}
}

// TestEmptyLimits: a limit that is given as nothing, as by a variable that is not set, is refused wherever it can be given.
func TestEmptyLimits(t *testing.T) {
	for flag, verbs := range map[string]string{
		"filter":        "search,truth,certify,recall,verify,report,graph,pairs,rows delete,job submit q.npy",
		"filter-column": "search,truth,certify,recall,verify,report,job submit q.npy",
		"exclude":       "search,truth,certify,recall,verify,job submit q.npy",
		"by":            "join",
	} {
		for verb := range strings.SplitSeq(verbs, ",") {
			r := thresher(t, append(strings.Fields(verb), "--"+flag+"=")...)
			r.WantCode(t, cli.ExitInput)
			if !strings.Contains(r.Err, "--"+flag+" is empty: leave it out") {
				t.Errorf("%s: %s", verb, r.Err)
			}
		}
	}
}

// TestKeptColumns: a prepared collection has the columns that it was built with, and answers as the file does; they are
// named by info, and refused where they are damaged or of another collection.
func TestKeptColumns(t *testing.T) {
	race.Skip(t, "one goroutine")
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV))
	wide := clitest.WriteFile(t, dir, "q.csv", []byte("d0,d1\n1,0\n-1,0\n"))
	build := func(out, columns string) {
		t.Helper()
		thresher(t, "build", "--vectors", films, "--metric", "ip", "--vectors-column", "d0,d1", "--columns", columns, "--out", out).WantCode(t, cli.ExitOK)
	}
	all, some := filepath.Join(dir, "all.thresher"), filepath.Join(dir, "some.thresher")
	build(all, "all")
	build(some, "lang,year")
	for _, vectors := range []string{all, some} {
		out := filepath.Join(dir, "out.jsonl")
		in := []string{"--vectors", vectors, "--queries", wide, "--filter", "year is null or lang = 'it''s'"}
		thresher(t, append([]string{"search", "-k", "2", "--out", out, "--overwrite"}, in...)...).WantCode(t, cli.ExitOK)
		if got := idsOf(t, string(read(t, out)), 0); !slices.Equal(got, []string{"c", "e"}) {
			t.Errorf("%s: %v", vectors, got)
		}
		thresher(t, append([]string{"verify", "--answers", out}, in...)...).WantCode(t, cli.ExitOK)
	}
	if r := thresher(t, "info", all); !strings.Contains(r.Out, "by year (int64), lang (text), draft (bool)") {
		t.Error(r.Out)
	}
	if r := thresher(t, "info", some, "--json"); !strings.Contains(r.Out, `"columns":[{"name":"lang","dtype":"text"},{"name":"year","dtype":"int64"}]`) {
		t.Error(r.Out)
	}
	refuses := func(want string, line ...string) {
		t.Helper()
		r := thresher(t, line...)
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, want) {
			t.Errorf("%s, want %s", r.Err, want)
		}
	}
	search := []string{"search", "--vectors", some, "--queries", wide, "--filter", "draft"}
	refuses(`there is no column "draft"; the columns are lang, year`, search...)
	kept, other := read(t, some+".columns"), filepath.Join(dir, "other.thresher")
	thresher(t, "build", "--vectors", films, "--metric", "l2", "--vectors-column", "d0,d1", "--columns", "all", "--out", other).WantCode(t, cli.ExitOK)
	clitest.WriteFile(t, dir, "some.thresher.columns", read(t, other+".columns"))
	refuses("has the columns of another collection", search...)
	kept[len(kept)-1] ^= 1
	clitest.WriteFile(t, dir, "some.thresher.columns", kept)
	search[len(search)-1] = "year > 3"
	refuses("some.thresher.columns: column \"year\": file of columns is damaged", search...)
	out := filepath.Join(dir, "none.thresher")
	refuses(`no column "yeer"`, "build", "--vectors", films, "--metric", "ip", "--vectors-column", "d0,d1", "--columns", "yeer", "--out", out)
	refuses(`column "year" is named twice`, "build", "--vectors", films, "--metric", "ip", "--columns", "year,year", "--out", out)
	refuses("which may be a coordinate like", "build", "--vectors", clitest.WriteFile(t, dir, "three.csv", []byte("x,y,z\n1,0,1\n")), "--metric", "ip", "--columns", "y", "--out", out)
	refuses("files of format npy have no columns", "build", "--vectors", clitest.WriteFile(t, dir, "a.npy", npy([]float32{1, 0, 0, 1}, 2)), "--metric", "ip", "--columns", "all", "--out", out)
	for _, gone := range []string{some, some + ".ids.npz"} { // what is left beside it would be another's
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
	}
	refuses("some.thresher.columns: file already exists", "build", "--vectors", films, "--metric", "ip", "--vectors-column", "d0,d1", "--out", some)
}

// TestPartitionColumns: what the names of folders say is a column.
func TestPartitionColumns(t *testing.T) {
	race.Skip(t, "one goroutine")
	dir := t.TempDir()
	for _, part := range []struct{ folder, rows string }{
		{"year=1999", `{"id":"a","v":[1,0]}`},
		{"year=2005", `{"id":"b","v":[2,0]}`},
		{"year=__HIVE_DEFAULT_PARTITION__", `{"id":"c","v":[9,0]}`},
	} {
		if err := os.MkdirAll(filepath.Join(dir, "set", part.folder), 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, filepath.Join(dir, "set", part.folder), "part-0.jsonl", []byte(part.rows+"\n"))
	}
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("{\"v\":[1,0]}\n"))
	prepared, out := filepath.Join(dir, "set.thresher"), filepath.Join(dir, "out.jsonl")
	thresher(t, "build", "--vectors", filepath.Join(dir, "set"), "--metric", "ip", "--columns", "all", "--out", prepared).WantCode(t, cli.ExitOK)
	for _, vectors := range []string{filepath.Join(dir, "set"), prepared} {
		thresher(t, "search", "--vectors", vectors, "--queries", queries, "--metric", "ip", "--filter", "year > 1998", "-k", "3", "--out", out, "--overwrite").WantCode(t, cli.ExitOK)
		if got := idsOf(t, string(read(t, out)), 0); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("%s: %v", vectors, got)
		}
	}
}

// TestColumnsCheckedFirst: a column that a flag names and a file lacks is found before the vectors are read, and so before the fault in the
// last of them.
func TestColumnsCheckedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "v.csv", []byte("d0,d1,year\n1,0,3\n0,1,4\nnan,1,5\n"))
	clitest.WriteFile(t, ".", "q.csv", []byte("d0,d1\n1,0\n"))
	clitest.WriteFile(t, ".", "a.jsonl", []byte(`{"query":0,"ids":[0]}`+"\n"))
	filter := []string{"--filter", "nope > 3"}
	for _, c := range [][]string{
		append([]string{"search", "--queries", "q.csv", "--out", "o.jsonl"}, filter...), append([]string{"truth", "--queries", "q.csv", "--out", "o.jsonl"}, filter...),
		append([]string{"recall", "--queries", "q.csv", "--answers", "a.jsonl"}, filter...), append([]string{"verify", "--queries", "q.csv", "--answers", "a.jsonl"}, filter...),
		append([]string{"graph", "-k", "1", "--out", "o.csv"}, filter...), append([]string{"pairs", "--min-score", "1", "--out", "o.csv"}, filter...),
		append([]string{"report", "--queries", "q.csv", "--out", "o.html"}, filter...), {"report", "--queries", "q.csv", "--out", "o.html", "--show", "nope"},
	} {
		args := append(c, "--vectors", "v.csv", "--vectors-column", "d*", "--metric", "ip")
		thresher(t, args...).WantError(t, c[len(c)-2]+": v.csv", `no column "nope"`)
	}
}

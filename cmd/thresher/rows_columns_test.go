package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestFolderColumns: a folder keeps columns of files of any format, replaces them with their vectors, and every command filters by them
// as it does of one file.
func TestFolderColumns(t *testing.T) {
	race.Skip(t, "one goroutine")
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "films.csv", []byte(filmsCSV))
	clitest.WriteFile(t, ".", "films.jsonl", []byte(filmsJSONL))
	clitest.WriteFile(t, ".", "q.jsonl", []byte("{\"v\":[1,0]}\n{\"v\":[-1,0]}\n"))
	clitest.WriteFile(t, ".", "more.jsonl", []byte(`{"id":"b","year":1950,"lang":"2024-05-01","draft":true,"v":[2,0]}`+"\n"+`{"id":"f","year":2024,"lang":"1999","v":[4,0]}`+"\n"))
	clitest.WriteFile(t, ".", "more.csv", []byte("id,year,lang,draft,d0,d1\nb,1950,2024-05-01,TRUE,2,0\nf,2024,1999,,4,0\n"))
	run := func(args ...string) string {
		t.Helper()
		got := thresher(t, args...)
		got.WantCode(t, cli.ExitOK)
		return got.Out + got.Err
	}
	for _, films := range []struct{ vectors, columns, more string }{{"films.csv", "year,lang,draft", "more.jsonl"}, {"films.jsonl", "all", "more.csv"}} {
		name := films.vectors + ".d/"
		build := []string{"build", "--vectors", films.vectors, "--metric", "ip", "--columns", films.columns, "--vectors-column", vectorColumns(films.vectors), "--out", name}
		if got := run(build...); !strings.Contains(got, "filters  by year (int64), lang (text), draft (bool)") {
			t.Errorf("build says %s", got)
		}
		check := func(folder, filter string, want ...[]string) {
			t.Helper()
			in := []string{"--vectors", folder, "--queries", "q.jsonl", "--filter", filter}
			for _, verb := range [][]string{{"search"}, {"search", "--method", "exact"}, {"truth"}} {
				run(append(slices.Clone(verb), append(in, "-k", "2", "--out", "out.jsonl", "--overwrite")...)...)
				for j := range want {
					if got := idsOf(t, string(read(t, "out.jsonl")), j); !slices.Equal(got, want[j]) {
						t.Errorf("%s %s %s, query %d: %v, want %v", verb, folder, filter, j, got, want[j])
					}
				}
			}
			run(append([]string{"verify", "--answers", "out.jsonl"}, in...)...)
			run(append([]string{"recall", "--answers", "out.jsonl", "--fail-under", "1"}, in...)...)
			run(append([]string{"certify", "--answers", "out.jsonl", "--out", "certified.jsonl", "--overwrite"}, in...)...)
		}
		check(name, "year >= 1999", []string{"e", "b"}, []string{"a", "b"})
		check(name, "lang = 'go' and not draft", []string{"c", "d"}, []string{"a", "d"})
		check(name, "year is null or lang = 'it''s'", []string{"c", "e"}, []string{"e", "c"})
		run("rows", "put", "--collection", name, "--vectors", films.more)
		check(name, "year >= 1999", []string{"f", "e"}, []string{"a", "e"})
		check(name, "lang in ('1999', '2024-05-01')", []string{"f", "b"}, []string{"b", "f"})
		run("rows", "snapshot", "--collection", name, "--out", films.vectors+".copy")
		run("build", "--vectors", name, "--metric", "ip", "--columns", "lang,year", "--out", films.vectors+".thresher")
		if got := run("rows", "delete", "--collection", name, "--filter", "draft or year = 2024"); !strings.Contains(got, "deleted  2 vectors\n") {
			t.Errorf("delete says %s", got)
		}
		if got := run("rows", "delete", "--collection", name, "--filter", "draft", "--json"); !strings.Contains(got, `"rows":4`) {
			t.Errorf("delete says %s", got)
		}
		check(name, "year >= 1999", []string{"e", "a"}, []string{"a", "e"})
		check(films.vectors+".copy", "year >= 1999", []string{"f", "e"}, []string{"a", "e"})
		check(films.vectors+".thresher", "year >= 1999", []string{"f", "e"}, []string{"a", "e"})
		var info struct{ Columns []columns.Field }
		if err := json.Unmarshal([]byte(run("info", name, "--json")), &info); err != nil || len(info.Columns) != 3 || info.Columns[2] != (columns.Field{Name: "draft", Type: columns.Bool}) {
			t.Errorf("info: %+v, %v", info, err)
		}
		if got := run("info", name); !strings.Contains(got, "by year (int64), lang (text), draft (bool)") {
			t.Errorf("info says %s", got)
		}
	}
	// what a file lacks is null, also where the vectors were there with values
	clitest.WriteFile(t, ".", "bare.jsonl", []byte(`{"id":"e","v":[3,0]}`))
	if got := thresher(t, "rows", "put", "--collection", "films.csv.d/", "--vectors", "bare.jsonl"); got.Code != cli.ExitOK || !strings.Contains(got.Err, "columns=\"year, lang, draft\"") {
		t.Errorf("no warning of columns: %s", got.Err)
	}
	if got := run("search", "--vectors", "films.csv.d/", "--queries", "q.jsonl", "-k", "1", "--filter", "year is null and lang is null", "--out", "out.jsonl", "--overwrite"); idsOf(t, string(read(t, "out.jsonl")), 0)[0] != "e" {
		t.Error(got)
	}
	run("rows", "put", "--collection", "films.csv.d/", "--vectors", "films.jsonl.copy") // of a folder
	run("search", "--vectors", "films.csv.d/", "--queries", "q.jsonl", "-k", "1", "--filter", "year = 2001", "--out", "out.jsonl", "--overwrite")
	if got := idsOf(t, string(read(t, "out.jsonl")), 0); got[0] != "e" {
		t.Errorf("%v", got)
	}
}

// TestFolderColumnsBadInput: what differs from the columns of the folder is named, and nothing is written.
func TestFolderColumnsBadInput(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "films.jsonl", []byte(filmsJSONL))
	clitest.WriteFile(t, ".", "text.jsonl", []byte(`{"id":"a","v":[1,0]}`+"\n"+`{"id":"z","year":"new","v":[1,0]}`))
	clitest.WriteFile(t, ".", "text.csv", []byte("id,d0,d1,year\na,1,0,2001\nz,1,0,new\n"))
	clitest.WriteFile(t, ".", "float.jsonl", []byte(`{"id":"z","year":1.5,"v":[1,0]}`))
	clitest.WriteFile(t, ".", "q.jsonl", []byte(`{"v":[1,0]}`))
	thresher(t, "build", "--vectors", "films.jsonl", "--metric", "ip", "--columns", "year,lang", "--out", "f/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "films.jsonl", "--metric", "ip", "--out", "plain/").WantCode(t, cli.ExitOK)
	before := read(t, filepath.Join("f", "1.log"))
	for args, want := range map[string]string{
		"rows put --collection f --vectors text.jsonl":                                 `text.jsonl: column "year" is text, where the rows before have int64`,
		"rows put --collection f --vectors text.csv":                                   `text.csv: row 1 (0-based): column "year" is text, where the rows before have int64: it is "new"`,
		"rows put --collection f --vectors float.jsonl":                                `float.jsonl: column "year" is float64, where the rows before have int64`,
		"rows delete --collection f":                                                   "--ids or --filter",
		"rows delete --collection f --ids a --filter year=1":                           "--ids or --filter",
		"rows delete --collection f --filter yeer=1":                                   `there is no column "yeer"; the columns are year, lang`,
		"rows delete --collection f --filter year=":                                    "where a value is wanted",
		"rows delete --collection plain --filter year=1":                               `there is no column "year"; the columns are none`,
		"search --vectors plain --queries q.jsonl -k 1 --filter year=1":                `plain: filter, character 5: there is no column "year"; the columns are none`,
		"search --vectors f --queries q.jsonl -k 1 --filter draft":                     `there is no column "draft"`,
		"search --vectors f --queries q.jsonl -k 1 --filter year=1":                    "no vector of f is allowed",
		"build --vectors films.jsonl --metric ip --columns nope --out g/":              "nope",
		"build --vectors plain --metric ip --columns all --out g.thresher":             "the folder has no columns",
		"build --vectors films.jsonl --metric ip --dtype int8 --out g.thresher":        "--dtype int8: only for a folder",
		"build --vectors films.jsonl --metric ip --dtype int9 --out g/":                "int9",
		"search --vectors f --queries q.jsonl -k 1 --filter year>1998 --dtype bfloat1": "bfloat1",
	} {
		got := thresher(t, strings.Fields(args)...)
		if got.Code != cli.ExitInput || !strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %q lacks %q", args, got.Code, got.Err, want)
		}
	}
	if after := read(t, filepath.Join("f", "1.log")); string(after) != string(before) {
		t.Error("the log was written")
	}
}

// TestFolderRounding: what rounding changed when vectors were written is in what commands say of their answers.
func TestFolderRounding(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.npy", npyOf64([]float64{1, .1, .2, 1, .5, .25}, 2))
	clitest.WriteFile(t, ".", "q.npy", npy([]float32{1, 1}, 2))
	thresher(t, "build", "--vectors", "a.npy", "--metric", "ip", "--out", "f/").WantCode(t, cli.ExitOK)
	r := thresher(t, "search", "--vectors", "f/", "--queries", "q.npy", "-k", "2", "--method", "exact", "--json", "--out", "out.jsonl")
	r.WantCode(t, cli.ExitOK)
	var s summary
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil || s.Rounded <= 0 || s.Rounded > 1e-8 || !strings.HasPrefix(s.Promise, "exact for float32, largest change ") {
		t.Errorf("rounded %g, %q, %v", s.Rounded, s.Promise, err)
	}
	r = thresher(t, "verify", "--vectors", "f/", "--queries", "q.npy", "--answers", "out.jsonl")
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out+r.Err, "largest change") {
		t.Errorf("verify says %s", r.Out+r.Err)
	}
}

// TestRoundingOfAFolderThatIsRead: a folder whose vectors were rounded passes that on to what is made of them: another folder, a collection, rows of
// a folder, and as queries.
func TestRoundingOfAFolderThatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WriteFile(t, ".", "a.npy", npyOf64([]float64{1, .1, .2, 1, .5, .25}, 2))
	clitest.WriteFile(t, ".", "q.npy", npy([]float32{1, 1}, 2))
	thresher(t, "build", "--vectors", "a.npy", "--metric", "ip", "--out", "a/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "a/", "--metric", "ip", "--out", "b/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "a/", "--metric", "ip", "--out", "a.thresher").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "q.npy", "--metric", "ip", "--out", "c/").WantCode(t, cli.ExitOK)
	thresher(t, "rows", "put", "--collection", "c/", "--vectors", "a/").WantCode(t, cli.ExitOK)
	for _, of := range [][2]string{{"b/", "q.npy"}, {"a.thresher", "q.npy"}, {"c/", "q.npy"}, {"q.npy", "a/"}} {
		r := thresher(t, "search", "--metric", "ip", "--vectors", of[0], "--queries", of[1], "-k", "1", "--method", "exact", "--json", "--out", "out.jsonl", "--overwrite")
		r.WantCode(t, cli.ExitOK)
		var s summary
		var c struct {
			Vectors float64 `json:"vectors_change"`
			Query   float64 `json:"query_change"`
		}
		err := errors.Join(json.Unmarshal([]byte(r.Out), &s), json.Unmarshal(answersOf(t, "out.jsonl")[0].Certificate, &c))
		if err != nil || s.Rounded <= 0 || s.Rounded > 1e-8 || max(c.Vectors, c.Query) != s.Rounded || (c.Query > 0) != (of[1] == "a/") {
			t.Errorf("%v: rounded %g, %q, %+v, %v", of, s.Rounded, s.Promise, c, err)
		}
		thresher(t, "verify", "--metric", "ip", "--vectors", of[0], "--queries", of[1], "--answers", "out.jsonl").WantCode(t, cli.ExitOK)
	}
}

// TestFolderTypes: a folder keeps the type of the vectors, or the one that is asked for, takes values of it alone, and answers as one file of
// float32 does.
func TestFolderTypes(t *testing.T) {
	race.Skip(t, "what is read and kept")
	t.Chdir(t.TempDir())
	const n, dim = 200, 24
	clitest.WriteFile(t, ".", "q.npy", typedNPY(t, dataset.ElemFloat32, 9, dim))
	clitest.WriteFile(t, ".", "bad.npy", npy(append(make([]float32, dim), append([]float32{.5, 2, 1.0001}, make([]float32, dim-3)...)...), dim))
	var want string
	for _, elem := range []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat16, dataset.ElemBFloat16, dataset.ElemInt8, dataset.ElemUint8} {
		file, name, asked := elem.String()+".npy", elem.String()+"/", elem.String()+"-asked/"
		clitest.WriteFile(t, ".", file, typedNPY(t, elem, n, dim))
		thresher(t, "build", "--vectors", file, "--metric", "cosine", "--out", name).WantCode(t, cli.ExitOK)
		thresher(t, "build", "--vectors", "float32.npy", "--metric", "cosine", "--dtype", elem.String(), "--out", asked).WantCode(t, cli.ExitOK)
		for _, vectors := range []string{name, asked} {
			r := thresher(t, "info", vectors, "--json")
			var info struct {
				DType dataset.Elem `json:"dtype"`
			}
			if err := json.Unmarshal([]byte(r.Out), &info); err != nil || info.DType != elem {
				t.Errorf("%s: %s, %v", vectors, r.Out, err)
			}
			thresher(t, "search", "--vectors", vectors, "--queries", "q.npy", "-k", "5", "--out", "out.jsonl", "--overwrite").WantCode(t, cli.ExitOK)
			var found []string
			for line := range strings.Lines(string(read(t, "out.jsonl"))) {
				answer, _, _ := strings.Cut(line, `,"pulls"`)
				found = append(found, answer)
			}
			if got := strings.Join(found, "\n"); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s answers\n%s\nwant\n%s", vectors, got, want)
			}
			if elem == dataset.ElemFloat32 {
				continue
			}
			got := thresher(t, "build", "--vectors", "bad.npy", "--metric", "ip", "--dtype", elem.String(), "--out", "bad-"+vectors)
			wrong := "row 1, column 2: value 1.0001 is no " + elem.String()
			if elem == dataset.ElemInt8 || elem == dataset.ElemUint8 {
				wrong = "row 1, column 0: value 0.5 is no " + elem.String()
			}
			if got.Code != cli.ExitInput || !strings.Contains(got.Err, "bad.npy") || !strings.Contains(got.Err, wrong) {
				t.Errorf("%v: code %d, %s", elem, got.Code, got.Err)
			}
		}
	}
	thresher(t, "search", "--vectors", "int8/", "--queries", "q.npy", "-k", "1", "--json", "--out", "out.jsonl", "--overwrite").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", "int8/", "--metric", "cosine", "--out", "int8.thresher").WantCode(t, cli.ExitOK)
	if got := thresher(t, "info", "int8.thresher"); !strings.Contains(got.Out, "int8, 1 byte a coordinate") {
		t.Error(fmt.Sprint(got))
	}
}

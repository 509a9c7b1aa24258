package service

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/service/api"
	"thresher/service/catalog"
)

const filmLines = `{"id":"a","year":1999,"lang":"go","draft":false,"v":[1,0]}
{"id":"b","year":2005,"lang":"rust","draft":true,"v":[2,0]}
{"id":"c","year":null,"lang":"go","draft":false,"v":[9,0]}
{"id":"d","year":1998,"lang":"go","draft":false,"v":[7,0]}
{"id":"e","year":2001,"lang":"it's","v":[3,0]}
`

// filtered are filters and the ids that they let through, best first.
var filtered = []struct{ filter, want string }{
	{`"year >= 1999"`, "e b a"},
	{`"lang = 'go' and not draft"`, "c d a"},
	{`{"must":[{"key":"year","range":{"gte":1999}}],"must_not":[{"key":"lang","match":{"value":"rust"}}]}`, "e a"},
	{`{"should":[{"is_null":{"key":"year"}},{"has_id":["d","nobody"]}]}`, "c d"},
	{`["a","b"]`, "b a"},
}

// idsBy searches a collection with a filter.
func (s *site) idsBy(name, filter string) string {
	s.t.Helper()
	var found api.Found
	s.do("POST", "/v1/collections/"+name+"/search", `{"queries":[[1,0]],"k":5,"cut_k":true,"include":["covers"],"filter":`+filter+`}`).want(200).into(&found)
	ids := make([]string, len(found.Results[0].IDs))
	for i, id := range found.Results[0].IDs {
		ids[i] = fmt.Sprint(id)
	}
	return strings.Join(ids, " ")
}

// TestFilters: columns of uploads and of JSON are kept beside the vectors, also when rows
// are added and removed, after a restart and in a backup, and filters of both forms select by them.
func TestFilters(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	s := startIn(t, dir, func(o *Options) { o.Backups = Backups{Folder: to} })
	const lines = "application/x-ndjson"
	info := s.made("/v1/collections/all?wait&metric=ip&columns=all", strings.NewReader(filmLines), "Content-Type", lines)
	want := []api.Column{{Name: "year", Type: "int64"}, {Name: "lang", Type: "text"}, {Name: "draft", Type: "bool"}}
	if !slices.Equal(info.Columns, want) || info.Warnings != nil {
		t.Errorf("columns %v, warnings %q", info.Columns, info.Warnings)
	}
	s.made("/v1/collections/csv?wait&metric=ip&ids=id&column=x,y&columns=year,lang,draft", strings.NewReader("id,x,year,lang,draft,y\na,1,1999,go,false,0\nb,2,2005,rust,true,0\nc,9,,go,false,0\nd,7,1998,go,false,0\ne,3,2001,it's,,0\n"), "Content-Type", csvType)
	s.made("/v1/collections/json?wait&metric=ip", `{"source":{"vectors":[[1,0],[2,0],[9,0],[7,0],[3,0]],"ids":["a","b","c","d","e"],"columns":{"year":[1999,2005,null,1998,2001],"lang":["go","rust","go","go","it's"],"draft":[false,true,false,false,null]}}}`, "Content-Type", jsonType)
	for _, name := range []string{"all", "csv", "json"} {
		for _, f := range filtered {
			if got := s.idsBy(name, f.filter); got != f.want {
				t.Errorf("%s, %s: %s, want %s", name, f.filter, got, f.want)
			}
		}
	}
	s.do("POST", "/v1/collections/all/rows?wait", strings.NewReader(`{"id":"f","year":2010,"v":[4,0]}`+"\n"+`{"id":"g","v":[5,0]}`+"\n"), "Content-Type", lines).want(200)
	s.do("DELETE", "/v1/collections/all/rows?wait", `{"ids":["a","c"]}`, "Content-Type", jsonType).want(200)
	s.do("POST", "/v1/collections/json/rows?wait", `{"source":{"vectors":[[4,0],[5,0]],"ids":["f","g"],"columns":{"year":[2010,null]}}}`, "Content-Type", jsonType).want(200)
	check := func(s *site) {
		t.Helper()
		for _, f := range []struct{ name, filter, want string }{
			{"all", `"year > 2000"`, "f e b"}, {"all", `"lang is null"`, "g f"}, {"all", `{"must":[{"has_id":["d","a"]}]}`, "d"},
			{"json", `"year > 2000"`, "f e b"}, {"json", `"lang is null"`, "g f"}, {"json", `"year is null"`, "c g"},
			{"csv", `"draft"`, "b"},
		} {
			if got := s.idsBy(f.name, f.filter); got != f.want {
				t.Errorf("%s, %s: %q, want %q", f.name, f.filter, got, f.want)
			}
		}
	}
	check(s)
	backup := s.backedUp()
	s.stopAll()
	check(startIn(t, dir, nil))
	restored := filepath.Join(t.TempDir(), "restored")
	if bad := unsound(t, filepath.Join(to, backup.Name), restored); len(bad) > 0 {
		t.Errorf("damaged: %v", bad)
	}
	check(startIn(t, restored, nil))
}

// TestFilterProblems: what is wrong with a filter or with columns is said, with its place.
func TestFilterProblems(t *testing.T) {
	s := start(t, nil)
	s.made("/v1/collections/films?wait&metric=ip&columns=year,lang", strings.NewReader(filmLines), "Content-Type", "application/x-ndjson")
	s.made("/v1/collections/bare?wait&metric=ip", `{"source":{"vectors":[[1,0],[2,0]]}}`, "Content-Type", jsonType)
	if got := s.idsBy("bare", `{"must":[{"has_id":[1]}]}`); got != "1" {
		t.Errorf("ids without columns: %s", got)
	}
	for _, c := range []struct{ name, filter, field, want string }{
		{"films", `"year > 'x'"`, "filter", `character 8: column "year" is int64`},
		{"films", `"year >"`, "filter", "the expression ends"},
		{"films", `"colour = 3"`, "filter", "there is no column \"colour\"; the columns are year, lang"},
		{"films", `{"must":[{"key":"year","range":{"gte":"x"}}]}`, "filter.must[0].range.gte", `column "year" is int64`},
		{"films", `{"must":[{"key":"colour","match":{"value":1}}]}`, "filter.must[0].key", "there is no column"},
		{"films", `{"most":[]}`, "filter", "most"},
		{"films", `3`, "filter", "an expression over columns, or an object of conditions is wanted"},
		{"bare", `"year > 3"`, "filter", "collection bare has no columns"},
	} {
		p := s.do("POST", "/v1/collections/"+c.name+"/search", `{"queries":[[1,0]],"k":1,"filter":`+c.filter+`}`).problem(400, "invalid-value")
		if !strings.HasPrefix(p.Field, strings.TrimSuffix(c.field, ".key")) || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: field %q, %s; want %s, %s", c.filter, p.Field, p.Detail, c.field, c.want)
		}
	}
	for _, c := range []struct{ path, kind, body, field, want string }{
		{"films2?metric=ip&columns=yeer", "application/x-ndjson", "", "columns", "no row has a value"},
		{"films2?metric=ip&column=x,y&columns=yeer", csvType, "x,y,year\n1,2,3\n", "columns", `no column "yeer"; the file has x, y, year`},
		{"films2?metric=ip&column=x,y&columns=year,year", csvType, "x,y,year\n1,2,3\n", "columns", "there twice"},
		{"films2?metric=ip", jsonType, `{"source":{"vectors":[[1,0]],"columns":{"year":[1,2]}}}`, "source.columns", "columns of 2 rows for 1 vectors"},
		{"films2?metric=ip", jsonType, `{"source":{"vectors":[[1,0]],"columns":{"year":[{}]}}}`, "source.columns", "source.columns.year[0]"},
		{"films2?metric=ip", jsonType, `{"source":{"path":"x.npy","columns":{"year":[1]}}}`, "source.columns", "require listed vectors"},
	} {
		if c.body == "" {
			continue // found by the build
		}
		p := s.do("PUT", "/v1/collections/"+c.path+"&wait", strings.NewReader(c.body), "Content-Type", c.kind).problem(400, "invalid-value")
		if p.Field != c.field || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: field %q, %s; want %s, %s", c.path, p.Field, p.Detail, c.field, c.want)
		}
	}
	p := s.do("POST", "/v1/collections/films/rows?wait", `{"source":{"vectors":[[1,0]],"ids":["z"],"columns":{"year":["x"]}}}`, "Content-Type", jsonType).problem(400, "invalid-value")
	if p.Field != "source.columns" || !strings.Contains(p.Detail, `column "year" is text, where the rows before have int64`) {
		t.Errorf("%+v", p)
	}
	p = s.do("POST", "/v1/collections/bare/rows?wait", `{"source":{"vectors":[[1,0]],"columns":{"year":[1]}}}`, "Content-Type", jsonType).problem(400, "invalid-value")
	if !strings.Contains(p.Detail, "collection bare has no columns") {
		t.Errorf("%+v", p)
	}
}

// TestFilterEverywhere: inference, offline jobs, recall and certify take filters of both forms.
func TestFilterEverywhere(t *testing.T) {
	s := start(t, nil)
	s.made("/v1/collections/films?wait&metric=ip&columns=year,lang", strings.NewReader(filmLines), "Content-Type", "application/x-ndjson")
	var lines strings.Builder
	for i, f := range filtered {
		if strings.Contains(f.filter, "draft") {
			continue // not kept here
		}
		var answer struct {
			Outputs []struct {
				Name string
				Data []any
			}
		}
		body := `{"parameters":{"cut_k":true,"k":5,"filter":` + f.filter + `},"inputs":[{"name":"queries","datatype":"FP32","shape":[1,2],"data":[1,0]}]}`
		s.do("POST", "/v2/models/films/infer", body).want(200).into(&answer)
		var got []string
		for _, row := range answer.Outputs[0].Data { // row numbers, beside the texts
			got = append(got, string("abcde"[int(row.(float64))]))
		}
		if strings.Join(got, " ") != f.want {
			t.Errorf("infer, %s: %q, want %q", f.filter, got, f.want)
		}
		fmt.Fprintf(&lines, `{"custom_id":%q,"method":"POST","url":"/v1/collections/films/search","body":{"queries":[[1,0]],"k":5,"cut_k":true,"filter":%s}}`+"\n", fmt.Sprint(i), f.filter)
	}
	var made job
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": s.upload("in.jsonl", []byte(lines.String()), "batch"), "endpoint": "/v1/collections/films/search", "completion_window": "24h"}).want(200).into(&made)
	j := s.over(made.ID)
	if j.Status != "completed" || j.Counts.Failed != 0 || j.Output == nil {
		t.Fatalf("%+v", j)
	}
	for line := range strings.Lines(string(s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body)) {
		var done struct {
			CustomID string `json:"custom_id"`
			Response struct{ Body api.Found }
		}
		if err := json.Unmarshal([]byte(line), &done); err != nil {
			t.Fatal(err)
		}
		i, err := strconv.Atoi(done.CustomID)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Trim(fmt.Sprint(done.Response.Body.Results[0].IDs), "[]"); got != filtered[i].want {
			t.Errorf("job, %s: %s, want %s", filtered[i].filter, got, filtered[i].want)
		}
	}
	for _, f := range filtered {
		if strings.Contains(f.filter, "draft") {
			continue
		}
		want := strings.Fields(f.want)
		stated, err := json.Marshal([][]string{want, append([]string{"c"}, want...)}) // c is the best, which few filters allow
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"queries":[[1,0],[1,0]],"answers":%s,"filter":%s}`, stated, f.filter)
		if strings.Contains(f.want, "c") {
			body = strings.Replace(body, `["c","c"`, `["c"`, 1)
		}
		var certified api.Certified
		s.do("POST", "/v1/collections/films/certify", body).want(200).into(&certified)
		for j, r := range certified.Results {
			if got := strings.Trim(fmt.Sprint(r.IDs), "[]"); got != f.want {
				t.Errorf("certify, query %d, %s: %s, want %s", j, f.filter, got, f.want)
			}
		}
		unwanted := int64(1 - strings.Count(f.want, "c"))
		if c := certified.Summary; c.Unwanted != unwanted || c.Missed != 0 {
			t.Errorf("certify, %s: %+v, %d may not be returned", f.filter, c, unwanted)
		}
		var recalled api.Recall
		s.do("POST", "/v1/collections/films/recall", body).want(200).into(&recalled)
		if recalled.Recall != 1 || recalled.Complete != 2 {
			t.Errorf("recall, %s: %+v", f.filter, recalled)
		}
	}
	var excluded api.Recall
	s.do("POST", "/v1/collections/films/recall", `{"queries":[[1,0]],"answers":[["d","e"]],"exclude":["c"]}`).want(200).into(&excluded)
	if excluded.Recall != 1 {
		t.Errorf("without the best vector: %+v", excluded)
	}
}

// TestFiltersOfQueries: each query may have a filter, of any form, in place of that of the search.
func TestFiltersOfQueries(t *testing.T) {
	s := start(t, nil)
	s.made("/v1/collections/films?wait&metric=ip&columns=all", strings.NewReader(filmLines), "Content-Type", "application/x-ndjson")
	goals, queries := "{}", "[1,0]"
	for range 2 { // equal filters are one
		for _, f := range filtered {
			goals, queries = goals+`,{"filter":`+f.filter+`}`, queries+",[1,0]"
		}
	}
	var found api.Found
	s.do("POST", "/v1/collections/films/search", `{"queries":[`+queries+`],"k":5,"cut_k":true,"filter":["b","e","c"],"include":["covers"],"goals":[`+goals+`]}`).want(200).into(&found)
	if len(found.Covers) > 0 {
		t.Errorf("answers to queries of different filters cover %s", found.Covers)
	}
	for j, r := range found.Results {
		want := "c e b"
		if j > 0 {
			want = filtered[(j-1)%len(filtered)].want
		}
		if got := strings.Trim(fmt.Sprint(r.IDs), "[]"); got != want {
			t.Errorf("query %d: %s, want %s", j, got, want)
		}
	}
	for _, c := range []struct{ filter, kind, want string }{
		{`"year > 'x'"`, "invalid-value", `column "year" is int64`},
		{`["z"]`, "unknown-id", `"z"`},
		{`3`, "invalid-value", "is wanted"},
		{`[true]`, "invalid-value", "a mask of 1"},
	} {
		p := s.do("POST", "/v1/collections/films/search", `{"queries":[[1,0],[1,0]],"k":1,"goals":[{},{"filter":`+c.filter+`}]}`).problem(400, c.kind)
		if !strings.HasPrefix(p.Field, "goals[1].filter") || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: field %q, %s", c.filter, p.Field, p.Detail)
		}
	}
}

// TestRowsOfFiltersAreLimited: the rows of the goals' filters take part of the memory of answers, and no more than all of it.
func TestRowsOfFiltersAreLimited(t *testing.T) {
	const n = 3000
	s := start(t, func(o *Options) { o.Limits.Answers = 12 * n })
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"id":%d,"year":%d,"v":[%d,0]}`+"\n", i, i, i)
	}
	s.made("/v1/collections/films?wait&metric=ip&columns=all", strings.NewReader(lines.String()), "Content-Type", "application/x-ndjson")
	search := func(one, other string) *answer {
		return s.do("POST", "/v1/collections/films/search", `{"queries":[[1,0],[1,0]],"k":1,"goals":[{"filter":`+one+`},{"filter":`+other+`}]}`)
	}
	search(`"year >= 0"`, `"year >= 0"`).want(200)
	search(`"year >= 0"`, `"year < 9"`).want(200)
	p := search(`"year >= 0"`, `"year < 2999"`).problem(400, "over-limit")
	if p.Field != "goals[1].filter" || !strings.Contains(p.Detail, "limits.answers") {
		t.Errorf("%+v", p)
	}
	s.stopAll()
	if used := s.answers.Used(); used != 0 {
		t.Errorf("%d bytes of answers are held", used)
	}
}

// TestDamagedColumns: a collection whose columns are damaged is not served, and the log says why.
func TestDamagedColumns(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	s.made("/v1/collections/films?wait&metric=ip&columns=year", strings.NewReader(filmLines), "Content-Type", "application/x-ndjson")
	s.stopAll()
	files, err := filepath.Glob(filepath.Join(dir, "collections", "films-*.columns"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of columns %q %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	s = startIn(t, dir, nil)
	var info catalog.Info
	s.do("GET", "/v1/collections/films", nil).want(200).into(&info)
	if log := s.log.String(); info.State != catalog.Failed || !strings.Contains(log, `column \"year\": file of columns is damaged`) && !strings.Contains(log, "file of columns is damaged") {
		t.Errorf("%+v %s", info, log)
	}
}

// TestJoinByFilters does what docs/join.md says of a join over HTTP.
func TestJoinByFilters(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "join.md"))
	if err != nil {
		t.Fatal(err)
	}
	between := func(from, to string) string {
		_, rest, ok := strings.Cut(string(page), from)
		text, _, also := strings.Cut(rest, to)
		if !ok || !also {
			t.Fatalf("no %q and %q in join.md", from, to)
		}
		return text
	}
	items, put := between("cat > items.jsonl <<'END'\n", "END"), between("curl -X PUT 'localhost:8080", "'")
	body := "{" + between("a filter:\n\n    {", "\n")
	want := regexp.MustCompile("`(\\[[0-9, ]*\\])`").FindAllStringSubmatch(between("The ids of the answers are", "."), -1)
	s := start(t, nil)
	s.made(put, strings.NewReader(items), "Content-Type", "application/x-ndjson")
	var found api.Found
	s.do("POST", "/v1/collections/items/search", body).want(200).into(&found)
	if len(found.Results) != len(want) {
		t.Fatalf("%d answers, want %v", len(found.Results), want)
	}
	for j := range want {
		ids, err := json.Marshal(found.Results[j].IDs)
		if err != nil || string(ids) != strings.ReplaceAll(want[j][1], " ", "") {
			t.Errorf("query %d: %s, %v, want %s", j, ids, err, want[j][1])
		}
	}
}

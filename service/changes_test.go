package service

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"thresher/service/api"
	"thresher/service/catalog"
)

// rowsBody is a JSON body of rows under their ids.
func rowsBody(ids []int, rows []float32) map[string]any {
	var vectors [][]float32
	for i := range ids {
		vectors = append(vectors, rows[i*dim:(i+1)*dim])
	}
	return map[string]any{"source": map[string]any{"vectors": vectors, "ids": ids}}
}

// TestChangesByRows: rows are written, seen, found, appended and deleted, by every protocol; answers and tags say which state they are of.
func TestChangesByRows(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	dir := t.TempDir()
	s := startIn(t, dir, func(o *Options) { o.Backups = Backups{Folder: to} })
	rows := s.fill()
	const films = "/v1/collections/films"
	far := make([]float32, 2*dim)
	far[0], far[dim+1] = 100, 100

	put := s.do("PUT", films+"/rows", rowsBody([]int{7, 1000}, far)).want(200)
	var info catalog.Info
	put.into(&info)
	if info.Version != 2 || *info.Writes != 1 || info.Count != atoms+1 || info.Change == nil || *info.Change != (api.RowChange{Written: 2, Replaced: 1}) || info.IDs != catalog.Integers || put.header.Get("ETag") != `"2-1"` {
		t.Errorf("%+v, %s", info, put.body)
	}
	var row struct {
		Version, Writes int
		ID              int
		Vector          []float32
	}
	got := s.do("GET", films+"/rows/1000", nil).want(200)
	got.into(&row)
	if !slices.Equal(row.Vector, far[dim:]) || row.Version != 2 || row.Writes != 1 || got.header.Get("ETag") != `"2-1"` || strings.Contains(string(got.body), `"row"`) {
		t.Errorf("%s", got.body)
	}
	if a := s.do("GET", films, nil).want(200); a.header.Get("ETag") != `"2-1"` {
		t.Errorf("tag %s", a.header.Get("ETag"))
	}

	first := func(path string, body map[string]any, h ...string) string {
		t.Helper()
		var found results
		s.do("POST", films+path, body, h...).want(200).into(&found)
		return found.Results[0].IDs[0].String()
	}
	queries := map[string]any{"queries": [][]float32{far[dim:]}, "k": 1}
	for name, more := range map[string]map[string]any{
		"plain": {}, "certain": {"method": "certain"}, "rows": {"include": []string{"rows"}}, "covers": {"include": []string{"covers"}},
		"ids": {"filter": []int{3, 1000}}, "expression": {"filter": "id in (3, 1000)"}, "excluded": {"exclude": []int{7}},
	} {
		body := map[string]any{}
		for _, m := range []map[string]any{queries, more} {
			for k, v := range m {
				body[k] = v
			}
		}
		if name == "expression" {
			delete(body, "filter")
			body["filter"] = map[string]any{"must": []any{map[string]any{"has_id": []int{3, 1000}}}}
		}
		if id := first("/search", body); id != "1000" {
			t.Errorf("%s: found %s", name, id)
		}
	}
	mask := make([]bool, atoms+1)
	mask[atoms] = true // the last in the order of ids
	if id := first("/search", map[string]any{"queries": [][]float32{far[:dim]}, "k": 1, "filter": mask}); id != "1000" {
		t.Errorf("a mask: found %s", id)
	}
	s.do("POST", films+"/search", queries, "Accept", npzType).want(200)
	stated := `{"queries":[[` + strings.Repeat("0,", dim-2) + `0,1]],"answers":[{"ids":[1,2]}],"k":2}`
	s.do("POST", films+"/recall", stated, "Content-Type", jsonType).want(200)
	s.do("POST", films+"/certify", stated, "Content-Type", jsonType).want(200)
	s.do("PUT", "/v1/collections/waves?metric=cosine&wait", npy(rows, dim), "Content-Type", npyType).want(201)
	s.do("PUT", "/v1/collections/waves/rows", rowsBody([]int{1000}, far)).want(200)
	s.do("POST", "/v1/collections/waves/pursuit", map[string]any{"signals": [][]float32{far[:dim]}, "terms": 1}).want(200)
	tensor := fmt.Sprintf(`{"inputs":[{"name":"queries","datatype":"FP32","shape":[1,%d],"data":%s}],"parameters":{"k":1}}`, dim, strings.ReplaceAll(fmt.Sprint(far[dim:]), " ", ","))
	if a := s.do("POST", "/v2/models/films/infer", tensor, "Content-Type", jsonType).want(200); !strings.Contains(string(a.body), "1000") {
		t.Errorf("%s", a.body)
	}

	// rows that are appended, deleted, refused
	s.do("POST", films+"/rows", rowsBody([]int{2000}, far[:dim])).want(200).into(&info)
	if *info.Writes != 2 || *info.Change != (api.RowChange{Written: 1}) {
		t.Errorf("%+v", info)
	}
	s.do("POST", films+"/rows", rowsBody([]int{2000}, far[:dim])).problem(400, "invalid-value")
	s.do("POST", films+"/rows", npy(far[:dim], dim), "Content-Type", npyType).want(200) // without an id
	s.do("GET", films+"/rows/2001", nil).want(200)
	s.do("DELETE", films+"/rows", map[string]any{"ids": []int{2000, 2001}}).want(200).into(&info)
	if *info.Change != (api.RowChange{Deleted: 2}) || info.Count != atoms+1 {
		t.Errorf("%+v", info)
	}
	s.do("DELETE", films+"/rows", map[string]any{"ids": []int{2000}}).problem(404, "unknown-row")
	s.do("DELETE", films+"/rows?ids=2000", nil).problem(404, "unknown-row")
	s.do("DELETE", films+"/rows?ids=1,x", nil).problem(404, "unknown-row")
	s.do("DELETE", films+"/rows?ids=", nil).problem(400, "invalid-value")
	s.do("DELETE", films+"/rows?ids=1", map[string]any{"ids": []int{2}}).problem(400, "invalid-value")
	if p := s.do("DELETE", films+"/rows", nil).problem(400, "invalid-value"); !strings.Contains(p.Detail, `{"ids": [1, 2]} or {"filter": "year < 1950"}`) {
		t.Errorf("%+v", p)
	}
	if p := s.do("DELETE", films+"/rows", "1,2", "Content-Type", "text/csv").problem(415, "unsupported-media"); !strings.Contains(p.Detail, `{"ids": [1, 2]} or {"filter": "year < 1950"}`) {
		t.Errorf("%+v", p)
	}
	s.do("DELETE", "/v1/collections/waves/rows?ids=3,4", nil).want(200).into(&info)
	if *info.Change != (api.RowChange{Deleted: 2}) {
		t.Errorf("%+v", info)
	}
	s.do("GET", films+"/rows/2000", nil).problem(404, "unknown-row")
	s.do("PUT", films+"/rows", npy(far, dim), "Content-Type", npyType).problem(400, "invalid-value") // without ids
	s.do("PUT", films+"/rows", "id,a\n1,2\n", "Content-Type", "text/csv").problem(400, "wrong-dimension")
	s.do("PUT", "/v1/collections/none/rows", rowsBody([]int{1}, far[:dim])).problem(404, "unknown-collection")
	csv := "\n77" + strings.Repeat(",50", dim) + "\n"
	header := []string{"id"}
	for i := range dim {
		header = append(header, fmt.Sprint("v", i))
	}
	csv = strings.Join(header, ",") + csv
	s.do("PUT", films+"/rows", csv, "Content-Type", "text/csv").want(200).into(&info)
	if *info.Change != (api.RowChange{Written: 1, Replaced: 1}) {
		t.Errorf("%+v", info)
	}

	// conditions
	for tag, status := range map[string]int{`"1"`: 409, `"2"`: 409, `"2-3"`: 409, `"2-05"`: 409, `"2--5"`: 409, `2-5`: 409, `"9-5"`: 409} {
		if p := s.do("PUT", films+"/rows", rowsBody([]int{7}, rows[7*dim:]), "If-Match", tag).problem(status, "conflict"); p.Field != "If-Match" {
			t.Errorf("%s: %+v", tag, p)
		}
	}
	s.do("PUT", films+"/rows", rowsBody([]int{7}, rows[7*dim:]), "If-Match", `"2-5"`).want(200).into(&info)
	if *info.Writes != 6 {
		t.Errorf("%+v", info)
	}

	// a job reads what was there when it was made
	file := s.upload("in.jsonl", requests(3, nil), "batch")
	var made job
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": films + "/search", "completion_window": "24h"}).want(200).into(&made)
	s.do("DELETE", films+"/rows", map[string]any{"ids": []int{1000}}).want(200)
	if j := s.over(made.ID); j.Status != "completed" || j.Counts.Completed != 3 {
		t.Errorf("%+v", j)
	}

	// what a backup has, and a server that starts again
	b := s.backedUp()
	if b.Status != api.BackupCompleted || len(b.Damaged) > 0 {
		t.Fatalf("%+v", b)
	}
	s.do("PUT", films+"/rows", rowsBody([]int{5000}, far[:dim])).want(200)
	s.stopAll()
	again := startIn(t, dir, nil)
	again.do("GET", films, nil).want(200).into(&info)
	if info.Count != atoms+1 || *info.Writes != 8 || info.Version != 2 {
		t.Errorf("after a start: %+v", info)
	}
	again.do("GET", films+"/rows/5000", nil).want(200)
	again.stopAll()
	restored := filepath.Join(t.TempDir(), "data")
	if bad := unsound(t, filepath.Join(to, b.Name), restored); len(bad) > 0 {
		t.Error(bad)
	}
	r := startIn(t, restored, nil)
	r.do("GET", films, nil).want(200).into(&info)
	if info.Count != atoms || *info.Writes != 7 {
		t.Errorf("restored: %+v", info)
	}
	r.do("DELETE", films, nil).want(204)
	if left, err := filepath.Glob(filepath.Join(restored, collectionsName, "films-*.folder")); err != nil || len(left) > 0 {
		t.Errorf("left of a deleted collection: %v, %v", left, err)
	}
}

// TestChangesBesideBackups: what was acknowledged before a backup is in it, whole, while writers go on.
func TestChangesBesideBackups(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	s := start(t, func(o *Options) { o.Backups = Backups{Folder: to} })
	rows := s.fill()
	s.do("PUT", "/v1/collections/films/rows", rowsBody([]int{0}, rows)).want(200)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					s.do("PUT", "/v1/collections/films/rows", rowsBody([]int{1000 + 100000*w + i}, rows)).want(200)
				}
			}
		})
	}
	var names []string
	var acknowledged []uint64
	for range 3 {
		var info catalog.Info
		s.do("GET", "/v1/collections/films", nil).want(200).into(&info)
		acknowledged = append(acknowledged, *info.Writes)
		b := s.backedUp()
		if b.Status != api.BackupCompleted || len(b.Damaged) > 0 {
			t.Fatalf("%+v", b)
		}
		names = append(names, b.Name)
	}
	close(stop)
	all.Wait()
	for i, name := range names {
		restored := filepath.Join(t.TempDir(), "data")
		if bad := unsound(t, filepath.Join(to, name), restored); len(bad) > 0 {
			t.Error(bad)
		}
		r := startIn(t, restored, nil)
		var info catalog.Info
		r.do("GET", "/v1/collections/films", nil).want(200).into(&info)
		if *info.Writes < acknowledged[i] || info.Count != int64(atoms)+int64(*info.Writes)-1 {
			t.Errorf("backup %d: %d writes, %d rows; %d writes were acknowledged", i, *info.Writes, info.Count, acknowledged[i])
		}
		r.stopAll()
		_ = os.RemoveAll(restored)
	}
}

// TestEmptyCollection: all rows may be deleted, at once, one after the other and by two requests at the same time, also of a collection that is a file. Then searches
// find nothing, which is exact; what needs vectors says that there are none; and rows can be written again.
func TestEmptyCollection(t *testing.T) {
	const films = "/v1/collections/films"
	dir := t.TempDir()
	for _, changes := range []bool{false, true} {
		s := startIn(t, dir, nil)
		s.do("PUT", films+"?ids=id&metric=ip&overwrite=true&wait", []byte(`{"id":1,"v":[1,0]}
{"id":2,"v":[0,1]}
{"id":3,"v":[0,2]}
`), "Content-Type", ndjson)
		if changes {
			s.do("PUT", films+"/rows", `{"source":{"vectors":[[1,0]],"ids":[1]}}`).want(200)
		}
		var group sync.WaitGroup
		for _, ids := range []string{"1", "2,3"} {
			group.Go(func() {
				if a := s.do("DELETE", films+"/rows?wait&ids="+ids, nil); a.status != 200 {
					t.Errorf("changes %v, deleting %s: %d, %s", changes, ids, a.status, a.body)
				}
			})
		}
		group.Wait()
		check := func() {
			t.Helper()
			var info catalog.Info
			s.do("GET", films, nil).want(200).into(&info)
			if info.Count != 0 || info.Writes == nil {
				t.Errorf("changes %v: %+v", changes, info)
			}
			for _, search := range []string{`{"queries":[[1,2]]}`, `{"queries":[[1,2]],"k":5,"cut_k":true,"include":["rows","certificate"]}`, `{"queries":[[1,2]],"min_score":1}`,
				`{"queries":[[1,2]],"include":["covers"]}`, `{"queries":[[1,2]],"goals":[{"min_score":0}],"method":"exact"}`} {
				var found results
				a := s.do("POST", searchFilms, search).want(200)
				a.into(&found)
				if len(found.Results) != 1 || len(found.Results[0].IDs) != 0 || !strings.Contains(string(a.body), `"complete":true,"guarantee":"exact"`) {
					t.Errorf("changes %v, %s: %s", changes, search, a.body)
				}
			}
			s.do("POST", searchFilms, `{"queries":[[1,2]]}`, "Accept", npzType).want(200)
			if p := s.do("POST", searchFilms, `{"queries":[[1,2]],"k":5}`).problem(400, "over-limit"); p.Detail != "k is 5 and the collection has 0 vectors; cut_k reduces k to that" {
				t.Error(p.Detail)
			}
			if p := s.do("POST", films+"/recall", `{"queries":[[1,2]],"answers":[{"ids":[1]}]}`).problem(409, "conflict"); p.Detail != "collection films has no vectors" {
				t.Error(p.Detail)
			}
			s.do("GET", films+"/rows/1", nil).problem(404, "unknown-row")
			s.do("DELETE", films+"/rows?ids=1", nil).problem(404, "unknown-row")
		}
		check()
		s.stopAll()
		s = startIn(t, dir, nil)
		check()
		s.do("POST", films+"/rows?wait", `{"source":{"vectors":[[9,9]]}}`).want(200)
		var found results
		if s.do("POST", searchFilms, `{"queries":[[1,2]],"k":1}`).want(200).into(&found); found.Results[0].IDs[0].String() != "4" {
			t.Errorf("changes %v: %+v", changes, found)
		}
		s.do("DELETE", films+"/rows?ids=4", nil, "If-Match", `"1-1"`).problem(409, "conflict")
		s.do("DELETE", films, nil).want(204)
		s.stopAll()
	}
}

// TestWholeInTurn: what needs a collection that changes as one reads it only once the request was understood, fits the limits and has its turn.
func TestWholeInTurn(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	const films = "/v1/collections/films"
	s.do("PUT", films+"/rows", rowsBody([]int{7}, rows)).want(200)
	v, err := s.catalog.Use("films", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	query := [][]float32{rows[:dim]}
	for path, body := range map[string]map[string]any{
		"/recall":  {"queries": query, "answers": []any{}},
		"/certify": {"queries": query, "answers": []any{map[string]any{"ids": []int{1}}}, "k": atoms * 10},
		"/pursuit": {"signals": query, "terms": 0},
	} {
		if a := s.do("POST", films+path, body); a.status != 400 || v.Stands() {
			t.Errorf("%s: %d, %s, and the collection was read: %v", path, a.status, a.body, v.Stands())
		}
	}
	s.do("POST", films+"/recall", map[string]any{"queries": query, "answers": []any{map[string]any{"ids": []int{1}}}}).want(200)
	if !v.Stands() {
		t.Error("the collection was not read, or not kept")
	}
}

// TestColumnsByRows: a collection with columns changes by rows over HTTP: columns come with the rows in JSON and files, filters of both languages
// select them in searches, jobs, comparisons and deletions, answers say which state they are of, and all is there after a restart and a restore.
func TestColumnsByRows(t *testing.T) {
	to, dir := filepath.Join(t.TempDir(), "backups"), t.TempDir()
	s := startIn(t, dir, func(o *Options) { o.Backups = Backups{Folder: to} })
	const films = "/v1/collections/cinema"
	s.do("PUT", films+"?metric=ip&wait&columns=year,lang", "id,year,lang,d0,d1\n1,1979,en,1,0\n2,1985,en,2,0\n3,1927,de,3,0\n4,1999,de,4,0\n", "Content-Type", csvType).want(201)
	var info catalog.Info
	s.do("PUT", films+"/rows", map[string]any{"source": map[string]any{"vectors": [][]int{{5, 0}, {6, 0}}, "ids": []int{5, 1}, "columns": map[string]any{"year": []any{2001, 2002}, "lang": []any{"ja", nil}}}}).want(200).into(&info)
	if *info.Change != (api.RowChange{Written: 2, Replaced: 1}) || len(info.Columns) != 2 || info.Warnings != nil || info.Tag() != "2-1" {
		t.Errorf("%+v", info)
	}
	s.do("POST", films+"/rows", "id,lang,d0,d1\n7,fr,7,0\n", "Content-Type", csvType).want(200).into(&info)
	if strings.Join(info.Warnings, "") != "columns of the collection that the body lack are null: year" {
		t.Errorf("%+v", info)
	}
	search := func(s *site, filter any, want string, state string) {
		t.Helper()
		body := map[string]any{"queries": [][]int{{1, 0}}, "k": 9, "cut_k": true, "filter": filter}
		a := s.do("POST", films+"/search", body).want(200)
		var found struct {
			results
			Version, Writes int
		}
		a.into(&found)
		var ids []string
		for _, id := range found.Results[0].IDs {
			ids = append(ids, id.String())
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%v: found %q, want %q", filter, got, want)
		}
		if fmt.Sprintf(`"%d-%d"`, found.Version, found.Writes) != state || a.header.Get("ETag") != state {
			t.Errorf("the answer is of %d-%d, %s; want %s", found.Version, found.Writes, a.header.Get("ETag"), state)
		}
		if npz := s.do("POST", films+"/search", body, "Accept", npzType).want(200); npz.header.Get("ETag") != state {
			t.Errorf("the npz is of %s, want %s", npz.header.Get("ETag"), state)
		}
	}
	qdrant := map[string]any{"must": []any{map[string]any{"key": "year", "range": map[string]any{"gte": 1990}}}}
	checks := func(s *site, state string) {
		t.Helper()
		search(s, "year >= 1990 or lang = 'fr'", "7 1 5 4", state)
		search(s, qdrant, "1 5 4", state)
		search(s, "lang is null", "1", state)
	}
	checks(s, `"2-2"`)
	s.do("POST", films+"/search", map[string]any{"queries": [][]int{{1, 0}}, "filter": "month = 3"}).problem(400, "invalid-value")
	stated := `{"queries":[[1,0]],"answers":[{"ids":[7,1]}],"k":2,"filter":"lang = 'fr' or lang is null"}`
	if a := s.do("POST", films+"/recall", stated, "Content-Type", jsonType).want(200); !strings.Contains(string(a.body), `"version":2,"writes":2,`) || !strings.Contains(string(a.body), `"recall":1,`) {
		t.Errorf("%s", a.body)
	}

	line := `{"custom_id":"a","method":"POST","url":"` + films + `/search","body":{"queries":[[1,0]],"k":9,"cut_k":true,"filter":"year >= 1990"}}` + "\n"
	file := s.upload("in.jsonl", []byte(line), "batch")
	var made job
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": films + "/search", "completion_window": "24h"}).want(200).into(&made)
	s.do("DELETE", films+"/rows", map[string]any{"filter": "lang in ('de', 'fr') and (year < 1950 or year is null)"}).want(200).into(&info)
	if *info.Change != (api.RowChange{Deleted: 2}) || info.Count != 4 {
		t.Errorf("%+v", info)
	}
	j := s.over(made.ID)
	if j.Status != "completed" {
		t.Fatalf("%+v", j)
	}
	if out := string(s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body); !strings.Contains(out, `"version":2,"writes":2,`) || !strings.Contains(out, `"ids":[1,5,4]`) {
		t.Errorf("%s", out)
	}
	search(s, "year >= 1900 or year is null", "1 5 4 2", `"2-3"`)

	// what says which rows are deleted
	s.do("DELETE", films+"/rows?filter=year%20%3D%201985", nil).want(200).into(&info)
	if *info.Change != (api.RowChange{Deleted: 1}) || info.Tag() != "2-4" {
		t.Errorf("%+v", info)
	}
	s.do("DELETE", films+"/rows", map[string]any{"filter": "year = 1"}).want(200).into(&info)
	if *info.Change != (api.RowChange{}) || info.Count != 3 {
		t.Errorf("%+v", info)
	}
	for body, want := range map[string]string{
		`{"filter":"year = 1","ids":[1]}`: "ids and filter are both given",
		`{"filter":""}`:                   "filter is empty",
		`{"filter":[1]}`:                  "an expression over columns, or a filter in Qdrant's form",
		`{"filter":"year ="}`:             "filter",
		`{"filter":{"must":3}}`:           "filter",
		`{"filter":"month = 1"}`:          `there is no column "month"`,
		`{}`:                              "nothing says which rows",
	} {
		if p := s.do("DELETE", films+"/rows", body).problem(400, "invalid-value"); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %s, want %s", body, p.Detail, want)
		}
	}
	s.do("DELETE", films+"/rows?filter=year%20%3D%201", `{"ids":[1]}`).problem(400, "invalid-value")
	s.do("DELETE", films+"/rows?filter=year%20%3D%201&ids=1", nil).problem(400, "invalid-value")

	if b := s.backedUp(); b.Status != api.BackupCompleted || len(b.Damaged) > 0 {
		t.Fatalf("%+v", b)
	}
	names, err := os.ReadDir(to)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	s.stopAll()
	again := startIn(t, dir, nil)
	search(again, "year >= 1990", "1 5 4", again.do("GET", films, nil).want(200).header.Get("ETag"))
	again.stopAll()
	restored := filepath.Join(t.TempDir(), "data")
	if bad := unsound(t, filepath.Join(to, names[0].Name()), restored); len(bad) > 0 {
		t.Error(bad)
	}
	r := startIn(t, restored, nil)
	search(r, qdrant, "1 5 4", r.do("GET", films, nil).want(200).header.Get("ETag"))
	r.do("PUT", films+"/rows", map[string]any{"source": map[string]any{"vectors": [][]int{{8, 0}}, "ids": []int{8}, "columns": map[string]any{"year": []any{2020}}}}).want(200)
	search(r, "year > 2010", "8", r.do("GET", films, nil).want(200).header.Get("ETag"))
}

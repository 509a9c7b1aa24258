package service

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"thresher/service/catalog"
)

func TestCollections(t *testing.T) {
	s := start(t, nil)
	var list struct{ Data []catalog.Info }
	s.do("GET", "/v1/collections", nil).want(200).into(&list)
	if list.Data == nil || len(list.Data) != 0 {
		t.Errorf("a new server has %v", list.Data)
	}
	s.fill()
	var info catalog.Info
	s.do("GET", "/v1/collections/films", nil).want(200).into(&info)
	if info.State != catalog.Ready || info.Count != atoms || info.Dimension != dim || info.Version != 1 || info.Backend != "cpu" || info.Bytes == 0 {
		t.Errorf("%+v", info)
	}
	s.do("GET", "/v1/collections", nil).want(200).into(&list)
	if len(list.Data) != 1 || list.Data[0].Name != "films" {
		t.Errorf("%+v", list.Data)
	}

	s.do("PUT", "/v1/collections/films?metric=ip", npy(gaussian(2, 4*dim), dim), "Content-Type", npyType).problem(409, "name-taken")
	a := s.do("PUT", "/v1/collections/films?replace=true&metric=cosine", npy(gaussian(2, 20*dim), dim), "Content-Type", npyType, "Prefer", "wait").want(201)
	a.into(&info)
	if info.Version != 2 || info.Count != 20 || info.Metric != "cosine" || a.header.Get("Location") != "/v1/collections/films" {
		t.Errorf("%+v at %s", info, a.header.Get("Location"))
	}

	s.do("DELETE", "/v1/collections/films", nil).want(204)
	s.do("GET", "/v1/collections/films", nil).problem(404, "unknown-collection")
	s.do("DELETE", "/v1/collections/films", nil).problem(404, "unknown-collection")
}

// TestAcceptedThenReady: without waiting, the answer comes once the rows are durable.
func TestAcceptedThenReady(t *testing.T) {
	s := start(t, nil)
	a := s.do("PUT", "/v1/collections/films?metric=ip", npy(gaussian(1, 64*dim), dim), "Content-Type", npyType)
	if a.status != http.StatusAccepted && a.status != http.StatusCreated {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if _, err := s.catalog.Wait(t.Context(), "films", 0); err != nil {
		t.Fatal(err)
	}
	s.do("POST", "/v1/collections/films/search", map[string]any{"queries": [][]float32{gaussian(3, dim)}}).want(200)
}

// TestEveryMediaType makes collections of the same rows in each format.
func TestEveryMediaType(t *testing.T) {
	root := t.TempDir()
	rows := gaussian(1, 40*dim)
	if err := os.WriteFile(filepath.Join(root, "rows.npy"), npy(rows, dim), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) { o.Roots = []string{root} })
	var lines strings.Builder
	for i := 0; i < len(rows); i += dim {
		text, _ := json.Marshal(map[string]any{"name": string(rune('a'+i/dim%26)) + strings.Repeat("x", i/dim), "v": rows[i : i+dim]})
		lines.Write(append(text, '\n'))
	}
	file := s.upload("rows.npy", npy(rows, dim), "batch")
	for name, c := range map[string]struct {
		path string
		body any
		kind string
		ids  catalog.Kind
	}{
		"npy":    {"/v1/collections/npy?metric=ip", npy(rows, dim), npyType, catalog.RowNumbers},
		"jsonl":  {"/v1/collections/jsonl?column=v&ids=name&metric=ip", []byte(lines.String()), "application/x-ndjson", catalog.Strings},
		"path":   {"/v1/collections/path?metric=ip", `{"source":{"path":"rows.npy"}}`, jsonType, catalog.RowNumbers},
		"file":   {"/v1/collections/file", `{"source":{"file_id":"` + file + `"},"metric":"ip","seed":7,"basis":"auto"}`, jsonType, catalog.RowNumbers},
		"seeded": {"/v1/collections/seeded?metric=ip&seed=18446744073709551615&basis=raw", npy(rows, dim), npyType, catalog.RowNumbers},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t)
			glue := "?"
			if strings.Contains(c.path, "?") {
				glue = "&"
			}
			var info catalog.Info
			s.do("PUT", c.path+glue+"wait", c.body, "Content-Type", c.kind).want(201).into(&info)
			if info.Count != 40 || info.Dimension != dim || info.IDs != c.ids {
				t.Errorf("%+v", info)
			}
			var found struct{ Results []struct{ IDs []any } }
			s.do("POST", "/v1/collections/"+name+"/search", map[string]any{"queries": [][]float32{rows[:dim]}, "k": 1, "method": "exact"}).want(200).into(&found)
			if c.ids == catalog.Strings && found.Results[0].IDs[0] != "a" && best(rows, rows[:dim]) == 0 {
				t.Errorf("found %v", found.Results[0].IDs)
			}
		})
	}
}

func TestRows(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	var info catalog.Info
	s.do("POST", "/v1/collections/films/rows?wait=true", npy(gaussian(9, 3*dim), dim), "Content-Type", npyType).want(200).into(&info)
	if info.Version != 2 || info.Count != atoms+3 {
		t.Errorf("%+v", info)
	}
	s.do("DELETE", "/v1/collections/films/rows?wait=true", `{"ids":[0,2,301]}`).want(200).into(&info)
	if info.Version != 2 || *info.Writes != 2 || info.Count != atoms {
		t.Errorf("%+v", info)
	}
	var row struct {
		Version, ID, Row int64
		Vector           []float32
	}
	s.do("GET", "/v1/collections/films/rows/1", nil).want(200).into(&row)
	if row.Version != 2 || row.ID != 1 || row.Row != 0 || !slices.Equal(row.Vector, rows[dim:2*dim]) {
		t.Errorf("%+v", row)
	}
	a := s.do("GET", "/v1/collections/films/rows/1", nil, "Accept", npyType).want(200)
	if got := npy(rows[dim:2*dim], dim); string(got[len(got)-4*dim:]) != string(a.body[len(a.body)-4*dim:]) {
		t.Error("the npy of a row is not the row")
	}
	s.do("GET", "/v1/collections/films/rows/0", nil).problem(404, "unknown-row")
	s.do("GET", "/v1/collections/films/rows/x", nil).problem(404, "unknown-row")
	p := s.do("DELETE", "/v1/collections/films/rows", `{"ids":[1,0]}`).problem(404, "unknown-row")
	if p.Field != "ids" || p.Index == nil || *p.Index != 1 {
		t.Errorf("%+v", p)
	}
}

// TestBadRowsFailTheWait: an error found by the build is reported to the request that waits
// for it, naming the row.
func TestBadRowsFailTheWait(t *testing.T) {
	s := start(t, nil)
	bad := []byte("[1,2]\n[3,4]\n[5,6,7]\n")
	p := s.do("PUT", "/v1/collections/films?metric=ip&wait=true", bad, "Content-Type", "application/x-ndjson")
	if p.status != 400 {
		t.Fatalf("status %d: %s", p.status, p.body)
	}
}

// TestChangesAtOnce: concurrent changes are all made, one after the other; with If-Match only
// on the named version.
func TestChangesAtOnce(t *testing.T) {
	s := start(t, nil)
	s.fill()
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			s.do("POST", "/v1/collections/films/rows?wait", npy(gaussian(uint64(i), dim), dim), "Content-Type", npyType).want(200)
		})
	}
	all.Wait()
	a := s.do("GET", "/v1/collections/films", nil).want(200)
	var info struct{ Version, Count int64 }
	if a.into(&info); info.Version != 2 || info.Count != atoms+6 || a.header.Get("ETag") != `"2-6"` {
		t.Error(info, a.header.Get("ETag"))
	}
	one := npy(gaussian(1, dim), dim)
	for _, x := range []struct {
		match  string
		status int
	}{{`"2-5"`, 409}, {`"2-7"`, 409}, {"2-6", 409}, {`"02-6"`, 409}, {`"seven"`, 409}, {`"2-6"`, 200}, {"*", 200}} {
		s.do("POST", "/v1/collections/films/rows?wait", one, "Content-Type", npyType, "If-Match", x.match).want(x.status)
	}
	s.do("PUT", "/v1/collections/films?metric=ip&wait&replace=true", one, "Content-Type", npyType, "If-Match", `"2-6"`).problem(409, "conflict")
	s.do("DELETE", "/v1/collections/films/rows", `{"ids":[0]}`, "If-Match", `"2-6"`).problem(409, "conflict")
}

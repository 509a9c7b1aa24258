package service

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/client"
)

// results is the answer to a search.
type results struct {
	Version  int64
	Results  []result
	Warnings []string
}

type result struct {
	IDs         []json.Number
	Scores      []*float32
	Complete    bool
	Guarantee   string
	OpenBound   *float64 `json:"open_bound"`
	Certificate map[string]any
	Rounds      []any
}

func TestSearch(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(7, 3*dim)
	body := map[string]any{"queries": [][]float32{queries[:dim], queries[dim : 2*dim], queries[2*dim:]}, "k": 2, "method": "exact", "include": []string{"certificate", "rounds"}}
	var r results
	s.do("POST", "/v1/collections/films/search", body).want(200).into(&r)
	if len(r.Results) != 3 || r.Version != 1 {
		t.Fatalf("%+v", r)
	}
	for i, x := range r.Results {
		id, _ := x.IDs[0].Int64()
		if want := best(rows, queries[i*dim:(i+1)*dim]); id != want || !x.Complete || len(x.IDs) != 2 || x.Certificate["guarantee"] != "exact" {
			t.Errorf("query %d: %+v, best is %d", i, x, want)
		}
	}

	var same results
	s.do("POST", "/v1/collections/films/search?k=2&method=exact", npy(queries, dim), "Content-Type", npyType, "Accept", "application/json").want(200).into(&same)
	for i := range r.Results {
		if !slices.Equal(r.Results[i].IDs, same.Results[i].IDs) {
			t.Errorf("query %d: %v by JSON, %v by npy", i, r.Results[i].IDs, same.Results[i].IDs)
		}
	}

	a := s.do("POST", "/v1/collections/films/search?k=2&method=exact", npy(queries, dim), "Content-Type", npyType, "Accept", "application/x-npz, application/json;q=0.5").want(200)
	if got := a.header.Get("Content-Type"); got != npzType {
		t.Fatalf("answered %s", got)
	}
	z, err := zip.NewReader(bytes.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimSuffix(f.Name, ".npy"))
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"answers_version", "complete", "covers", "delta", "epsilon", "exact", "guarantee", "id_kind", "ids", "pulls", "rows", "scores", "scores64"}) {
		t.Errorf("npz of %v", names)
	}
}

// TestClientReadsCertificates: the server's certificates can be decoded into the library's
// type.
func TestClientReadsCertificates(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	s.do("PUT", "/v1/collections/raw?metric=ip&wait=true&basis=raw", npy(rows, dim), "Content-Type", npyType).want(http.StatusCreated)
	c, err := client.New(s.url, &client.Options{HTTP: s.client, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	for method, law := range map[batch.Method]batch.Law{batch.Strict: batch.LawOrder, batch.Certain: ""} {
		found, err := c.Search(t.Context(), "raw", api.Search{Queries: [][]float32{rows[:dim]}, K: 2, Method: string(method), Include: []string{"certificate"}})
		if err != nil {
			t.Fatal(err)
		}
		var cert batch.Certificate
		if err := json.Unmarshal(found.Results[0].Certificate, &cert); err != nil || cert.Method != method || cert.Law != law {
			t.Errorf("%s, law %q: %s (%v)", method, law, found.Results[0].Certificate, err)
		}
	}
}

func TestSearchFilters(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	q := gaussian(8, dim)
	top := best(rows, q)
	ask := func(extra string) results {
		var r results
		text, _ := json.Marshal([][]float32{q})
		s.do("POST", "/v1/collections/films/search", `{"queries":`+string(text)+`,"k":1,"cut_k":true`+extra+`}`).want(200).into(&r)
		return r
	}
	if id := ask("").Results[0].IDs[0].String(); id != json.Number(itoa(top)).String() {
		t.Errorf("found %s, best is %d", id, top)
	}
	if id := ask(`,"deny":[` + itoa(top) + `]`).Results[0].IDs[0].String(); id == itoa(top) {
		t.Error("found what was denied")
	}
	if id := ask(`,"allow":[5,6]`).Results[0].IDs[0].String(); id != "5" && id != "6" {
		t.Errorf("found %s, which is not allowed", id)
	}
	if r := ask(`,"allow":[]`); len(r.Results[0].IDs) != 0 {
		t.Errorf("found %v where nothing is allowed", r.Results[0].IDs)
	}
	if a := s.do("POST", "/v1/collections/films/search?allow=5,6&k=1", npy(q, dim), "Content-Type", npyType).want(200); !strings.Contains(string(a.body), `"ids":[5]`) && !strings.Contains(string(a.body), `"ids":[6]`) {
		t.Errorf("found %s", a.body)
	}
}

// TestSearchNPZ: answers in a file have the collection's ids, of any kind, and the scores of JSON.
func TestSearchNPZ(t *testing.T) {
	s := start(t, nil)
	for _, ids := range [][]string{{`7`, `9007199254740993`}, {`18446744073709551614`, `3`}, {`"é"`, `"b/c"`}} {
		rows := fmt.Sprintf("{\"id\":%s,\"v\":[0.1,0.7]}\n{\"id\":%s,\"v\":[3,0.3]}\n", ids[0], ids[1])
		s.do("PUT", "/v1/collections/films?metric=l2&ids=id&wait&replace=true", []byte(rows), "Content-Type", "application/x-ndjson").want(201)
		const body = `{"queries":[[2,1],[0,1]],"k":2,"include":["rows","scores64"]}`
		var found api.Found
		s.do("POST", "/v1/collections/films/search", body).want(200).into(&found)
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := os.WriteFile(path, s.do("POST", "/v1/collections/films/search", body, "Accept", npzType).want(200).body, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := dataset.OpenResults(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for j := range found.Results {
			got, err := file.Next()
			if err != nil {
				t.Fatal(err)
			}
			want := dataset.Result{Query: int64(j), Rows: found.Results[j].Rows, Scores: found.Results[j].Scores, Scores64: found.Results[j].Scores64,
				Pulls: got.Pulls, Exact: got.Exact, Guarantee: found.Results[j].Guarantee}
			for _, row := range want.Rows {
				want.IDs = append(want.IDs, strings.Trim(ids[row], `"`))
			}
			if stated := got.Covers != nil; stated != (j == 0) {
				t.Errorf("%v: answer %d covers %s", ids, j, got.Covers)
			}
			got.Covers = nil // TestPartsMerge
			if d := cmp.Diff(want, got); d != "" || len(got.Scores64) != 2 {
				t.Errorf("%v: %s", ids, d)
			}
		}
	}
}

// TestSearchByName: string ids are accepted and returned.
func TestSearchByName(t *testing.T) {
	s := start(t, nil)
	s.do("PUT", "/v1/collections/films?metric=ip&ids=id&wait", []byte("{\"id\":\"a/b\",\"v\":[1,0]}\n{\"id\":\"c\",\"v\":[0,1]}\n"), "Content-Type", "application/x-ndjson").want(201)
	a := s.do("POST", "/v1/collections/films/search", `{"queries":[[2,1]],"k":2}`).want(200)
	if !strings.Contains(string(a.body), `"ids":["a/b","c"]`) {
		t.Errorf("%s", a.body)
	}
	a = s.do("POST", "/v1/collections/films/search", `{"queries":[[2,1]],"k":1,"deny":["a/b"]}`).want(200)
	if !strings.Contains(string(a.body), `"ids":["c"]`) {
		t.Errorf("%s", a.body)
	}
	s.do("GET", "/v1/collections/films/rows/a%2Fb", nil).want(200)
	p := s.do("POST", "/v1/collections/films/search", `{"queries":[[2,1]],"k":1,"allow":["c","d"]}`).problem(400, "unknown-id")
	if p.Field != "allow" || p.Index == nil || *p.Index != 1 {
		t.Errorf("%+v", p)
	}
}

// TestSearchesAreCounted: an answer is counted under its collection, whose series are removed
// with it.
func TestSearchesAreCounted(t *testing.T) {
	s := start(t, nil)
	s.fill()
	for range 3 {
		s.do("POST", "/v1/collections/films/search", map[string]any{"queries": [][]float32{gaussian(8, dim), gaussian(9, dim)}}).want(200)
	}
	s.do("POST", "/v1/collections/films/search", `{}`).problem(400, "no-queries")
	text := string(s.do("GET", "/metrics", nil).want(200).body)
	for _, want := range []string{
		`thresher_search_seconds_count{collection="films",method="auto"} 3`,
		`thresher_batch_size_sum{collection="films"} 6`, `thresher_queue_seconds_count{collection="films"} 3`,
		`thresher_rejected_total{reason="no-queries"} 1`, `thresher_collection_bytes{collection="films"}`,
		`thresher_backend_info{backend="cpu",device="test"} 1`, `thresher_jobs{status="in_progress"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	if text := string(s.do("GET", "/metrics", nil).want(200).body); strings.Contains(text, `collection="films"`) {
		t.Error("metrics have a collection that is gone")
	}
}

func itoa(x int64) string {
	text, _ := json.Marshal(x)
	return string(text)
}

package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"thresher/service/api"
	"thresher/service/client"
	"thresher/service/oip/inferencepb"
)

// fillRaw puts a collection of basis raw, which published methods search.
func (s *site) fillRaw(n int) {
	s.t.Helper()
	s.do("PUT", "/v1/collections/films?metric=ip&basis=raw&wait=true", npy(gaussian(1, n*dim), dim), "Content-Type", npyType).want(201)
}

// publishedCases are each option by a method that has it.
var publishedCases = []struct{ method, options, plan string }{
	{"banditmips", `{"sigma":0.5}`, "sigma 0.5"},
	{"banditmips", `{"sigma":"bernstein","sampling":"with_replacement","warm":8}`, "sigma bernstein, sampling with_replacement, warm 8"},
	{"banditmips-alpha", `{"sigma":"data"}`, "sigma data"},
	{"banditmips-beta", `{"beta":0}`, "beta 0"},
	{"bucket-ae", `{"bins":20,"sampling":"without_replacement"}`, "sampling without_replacement, bins 20"},
	{"boundedme", `{"union":"published"}`, "union published"},
}

// TestPublishedOptions: each option of the published methods is taken by every form of a search, and certificates
// name it.
func TestPublishedOptions(t *testing.T) {
	s := start(t, nil)
	s.fillRaw(60)
	q := gaussian(9, dim)
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.url, &client.Options{HTTP: s.client, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for i, x := range publishedCases {
		body := fmt.Sprintf(`{"queries":[%s],"k":2,"method":%q,"published":%s,"include":["certificate"]}`, text, x.method, x.options)
		fmt.Fprintf(&lines, `{"custom_id":"c%d","method":"POST","url":"/v1/collections/films/search","body":%s}`+"\n", i, body)
		params := url.Values{"k": {"2"}, "method": {x.method}, "published": {x.options}, "include": {"certificate"}}
		var ids string
		for form, a := range map[string]*answer{
			"JSON": s.do("POST", searchFilms, body).want(200),
			"npy":  s.do("POST", searchFilms+"?"+params.Encode(), npy(q, dim), "Content-Type", npyType).want(200),
		} {
			var r results
			a.into(&r)
			if plan := fmt.Sprint(r.Results[0].Certificate["plan"]); !strings.Contains(plan, x.plan) || r.Results[0].Certificate["method"] != x.method {
				t.Errorf("%s, %s by %s: plan %q", form, x.options, x.method, plan)
			}
			ids = fmt.Sprint(r.Results[0].IDs)
		}
		var options api.Published
		if err := json.Unmarshal([]byte(x.options), &options); err != nil {
			t.Fatal(err)
		}
		found, err := c.Search(t.Context(), "films", api.Search{Queries: [][]float32{q}, K: 2, Method: x.method, Published: &options})
		if err != nil || fmt.Sprint(found.Results[0].IDs) != ids {
			t.Errorf("by the client: %v, %v; want %s", found.Results, err, ids)
		}
		// Over the Open Inference Protocol there are no certificates: one that is wrong is refused.
		for options, right := range map[string]bool{x.options: true, strings.Replace(x.options, ":", `:null,"x":`, 1): false} {
			infer := fmt.Sprintf(`{"parameters":{"k":2,"method":%q,"published":%s},"inputs":[{"name":"queries","datatype":"FP32","shape":[1,%d],"data":%s}]}`, x.method, options, dim, text)
			if a := s.do("POST", "/v2/models/films/infer", infer); (a.status == 200) != right {
				t.Errorf("infer by %s: %d %s", options, a.status, a.body)
			}
			_, err := s.calls().ModelInfer(t.Context(), with(asking("films", q), map[string]*inferencepb.InferParameter{"k": wholeParam(2), "method": textParam(x.method), "published": textParam(options)}))
			if (err == nil) != right {
				t.Errorf("over gRPC by %s: %v", options, err)
			}
		}
	}
	var made job
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": s.upload("in.jsonl", lines.Bytes(), "batch"), "endpoint": "/v1/collections/films/search"}).want(200).into(&made)
	j := s.over(made.ID)
	if j.Output == nil {
		t.Fatalf("%+v", j)
	}
	out := string(s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body)
	for _, x := range publishedCases {
		if !strings.Contains(out, x.plan) {
			t.Errorf("the job's answers lack %q", x.plan)
		}
	}
	for search, completed := range map[string]int{`{"method":"banditmips","published":{"sigma":2}}`: 1, `{"published":{"sigma":2}}`: 0} {
		s.do("POST", "/v1/batches", map[string]any{"input_file_id": s.upload("q.npy", npy(q, dim), "batch"), "endpoint": "/v1/collections/films/search", "search": json.RawMessage(search)}).want(200).into(&made)
		if j := s.over(made.ID); j.Counts.Completed != completed || j.Counts.Total != 1 {
			t.Errorf("a job with %s: %+v", search, j)
		}
	}
}

// TestBadPublishedOptions: a wrong option is named with what is wanted, or with the methods that have it.
func TestBadPublishedOptions(t *testing.T) {
	s := start(t, nil)
	s.fillRaw(60)
	for _, x := range []struct{ method, options, field, says string }{
		{"banditmips", `{"sigma":0}`, "published.sigma", `published.sigma: 0 is not a number above 0, "range", "data" or "bernstein"`},
		{"banditmips", `{"sigma":1,"sigma":2}`, "published.sigma", "published.sigma: given twice"},
		{"banditmips", `{"Sigma":1}`, "published.Sigma", "published.Sigma: there is no such option"},
		{"banditmips", `[]`, "published", "published is an array, an object is wanted"},
		{"banditmips", `{"warm":9}`, "published.warm", "published.warm: 9 coordinates, there are 8"},
		{"banditmips", `{"beta":1}`, "published.beta", "published.beta: method banditmips has no such option, banditmips-beta has"},
		{"banditmips-beta", `{"beta":-1}`, "published.beta", "published.beta: -1 is not a number from 0 on"},
		{"banditmips-beta", `{"sampling":"without_replacement"}`, "published.sampling", "banditmips and bucket-ae have"},
		{"bucket-ae", `{"bins":0}`, "published.bins", "published.bins: 0 is not a whole number"},
		{"boundedme", `{"union":"old"}`, "published.union", `published.union: "old" is not "published" or "corrected"`},
		{"exact", `{"sigma":1}`, "published.sigma", "method exact has no such option"},
		{"auto", `{"union":"published"}`, "published.union", "method auto has no such option, boundedme has"},
	} {
		body := fmt.Sprintf(`{"queries":[[1,1,1,1,1,1,1,1]],"k":1,"method":%q,"published":%s}`, x.method, x.options)
		p := s.do("POST", searchFilms, body).problem(400, "invalid-value")
		if p.Field != x.field || !strings.Contains(p.Detail, x.says) {
			t.Errorf("%s by %s: field %q: %s", x.options, x.method, p.Field, p.Detail)
		}
	}
}

package service

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"testing"

	"thresher/service/api"
	"thresher/service/client"
)

const pursueNotes = "/v1/collections/notes/pursuit"

// fillNotes puts a collection of four vectors, whose ids are texts, by the metric cosine.
func (s *site) fillNotes(params string) {
	s.t.Helper()
	s.do("PUT", "/v1/collections/notes?metric=cosine&wait=true"+params, `{"id":"x","vector":[2,0,0]}
{"id":"y","vector":[0,4,0]}
{"id":"z","vector":[0,0,0.5]}
`, "Content-Type", "application/jsonl").want(201)
}

// TestPursuit: signals are written as sums, by JSON, npy and the client, with signs unless they may not be negative; a signal
// of zeros has no terms, and more terms than vectors are found as far as there are any.
func TestPursuit(t *testing.T) {
	s := start(t, nil)
	s.fillNotes("")
	signals := []float32{6, 4, 0, 0, 0, 0, 0, -2, 3}
	const want = "[[{x 3 4} {y 1 0}] [] [{z 6 2} {y -0.5 0}]]"
	show := func(p api.Pursued) string {
		var all []string
		for _, r := range p.Results {
			var terms []string
			for i, id := range r.IDs {
				terms = append(terms, fmt.Sprintf("{%v %v %v}", id, r.Coefficients[i], r.Residuals[i]))
			}
			all = append(all, fmt.Sprint(terms))
		}
		return fmt.Sprint(all)
	}
	var got api.Pursued
	for _, terms := range []int{2, 100} {
		s.do("POST", pursueNotes, fmt.Sprintf(`{"signals":[[6,4,0],[0,0,0],[0,-2,3]],"terms":%d}`, terms)).want(200).into(&got)
		if show(got) != want {
			t.Errorf("%d terms: %s, want %s", terms, show(got), want)
		}
	}
	if x := got.Summary; x.Signals != 3 || x.Terms != 4 || x.Residual != 0 || !strings.Contains(x.Promise, "every step takes the best vector") || got.Version != 1 {
		t.Errorf("%+v", got)
	}
	s.do("POST", pursueNotes+"?terms=2&method=exact", npy(signals, 3), "Content-Type", npyType).want(200).into(&got)
	if show(got) != want || got.Summary.Method != "exact" {
		t.Errorf("npy: %s by %s", show(got), got.Summary.Method)
	}
	c, err := client.New(s.url, &client.Options{HTTP: s.client, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err = c.Pursuit(t.Context(), "notes", api.Pursuit{Signals: [][]float32{{0, -2, 3}}, Terms: 5, Nonnegative: true, DeadlineMS: 60000})
	if err != nil || show(got) != "[[{z 6 2}]]" {
		t.Errorf("nonnegative: %s, %v", show(got), err)
	}
	if r := s.do("POST", pursueNotes, `{"signals":[[0,0,0]],"terms":1}`).want(200); !strings.Contains(string(r.body), `"results":[{"ids":[],"coefficients":[],"residuals":[]}]`) {
		t.Errorf("of zeros: %s", r.body)
	}
}

// TestPursuitNPZ: an answer in npz has an array a column, without what was read.
func TestPursuitNPZ(t *testing.T) {
	s := start(t, nil)
	s.fillNotes("")
	a := s.do("POST", pursueNotes, `{"signals":[[6,4,0]],"terms":2}`, "Accept", npzType).want(200)
	z, err := zip.NewReader(bytes.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimSuffix(f.Name, ".npy"))
		if f.Name != "vector_id.npy" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !strings.HasSuffix(string(text), "x\x00\x00\x00y\x00\x00\x00") {
			t.Errorf("ids %q, %v", text, err)
		}
	}
	if got := fmt.Sprint(names); got != "[signal step vector vector_id coefficient residual]" {
		t.Error(got)
	}
}

// TestPursuitPublished: a published method and its options find the terms, in a collection of basis raw.
func TestPursuitPublished(t *testing.T) {
	s := start(t, nil)
	s.fillNotes("&basis=raw")
	var got api.Pursued
	s.do("POST", pursueNotes, `{"signals":[[6,4,0]],"terms":2,"method":"banditmips","published":{"sigma":1,"sampling":"with_replacement"},"delta":0.1}`).want(200).into(&got)
	if x := got.Summary; fmt.Sprint(got.Results[0].IDs) != "[x y]" || x.Method != "banditmips" || x.Delta != .1 || x.Law != "assumed" || !strings.HasSuffix(x.Promise, "if the given sigma is true of the data") {
		t.Errorf("%+v", got)
	}
}

// TestBadPursuits: what is wrong is a problem with the field, in words of signals.
func TestBadPursuits(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Queries, o.Limits.Results = 4, 1000 })
	s.fillNotes("")
	s.do("PUT", "/v1/collections/ip?metric=ip&wait=true", npy([]float32{1, 0}, 2), "Content-Type", npyType).want(201)
	s.do("PUT", "/v1/collections/zero?metric=cosine&wait=true", npy([]float32{1, 0, 0, 0}, 2), "Content-Type", npyType).want(201)
	for _, x := range []struct{ collection, body, field, says string }{
		{"notes", `{"signals":[[1,2,3]],"terms":0}`, "terms", "0 is not from 1 to 1048576"},
		{"notes", `{"signals":[[1,2,3]]}`, "terms", "0 is not from 1"},
		{"notes", `{"signals":[[1,2,3]],"terms":-3}`, "terms", "-3"},
		{"notes", `{"signals":[[1,2,3]],"terms":1.5}`, "terms", "whole number"},
		{"notes", `{"signals":[[1,2,3]],"terms":1001}`, "terms", "at most 1000"},
		{"notes", `{"signals":[[1,2,3]],"terms":9999999999999}`, "terms", ""},
		{"notes", `{"signals":[[1,2,NaN]],"terms":1}`, "signals", "signal 0"},
		{"notes", `{"signals":[[1,2,3],[1,1e99,3]],"terms":1}`, "signals", "signal 1, coordinate 1"},
		{"notes", `{"signals":[[1,2]],"terms":1}`, "signals", "signal 0 has 2 values, the collection 3 dimensions"},
		{"notes", `{"signals":[],"terms":1}`, "signals", "signals is empty"},
		{"notes", `{"terms":1}`, "signals", "signals is missing"},
		{"notes", `{"signals":[[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]],"terms":1}`, "signals", "more than 4 signals"},
		{"notes", `{"signals":[[1,2,3]],"signals":[[1,2,3]],"terms":1}`, "signals", "twice"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"terms":1}`, "terms", "twice"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"k":3}`, "k", "one of searches"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"steps":3}`, "steps", "no field"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"delta":1}`, "delta", "(0, 1)"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"method":"best"}`, "method", "best"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"published":{"sigma":1}}`, "published.sigma", "method certain has no such option"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"nonnegative":1}`, "nonnegative", "true or false"},
		{"notes", `{"signals":[[1,2,3]],"terms":1,"method":"banditmips"}`, "method", "raw"},
		{"ip", `{"signals":[[1,2]],"terms":1}`, "name", "cosine"},
		{"zero", `{"signals":[[1,2]],"terms":1}`, "name", "row 1 (0-based) is zero"},
	} {
		a := s.do("POST", "/v1/collections/"+x.collection+"/pursuit", x.body)
		var p struct{ Field, Detail string }
		if err := json.Unmarshal(a.body, &p); err != nil || a.status < 400 || a.status >= 500 || !strings.HasPrefix(p.Field, x.field) || !strings.Contains(p.Detail, x.says) || strings.Contains(p.Detail, "quer") {
			t.Errorf("%s: %d %s", x.body, a.status, a.body)
		}
	}
	for params, says := range map[string]string{"": "terms", "terms=x": "terms", "terms=1&terms=2": "twice|2 times", "terms=1&k=2": "no parameter"} {
		a := s.do("POST", pursueNotes+"?"+params, npy([]float32{1, 2, 3}, 3), "Content-Type", npyType)
		ok := false
		for word := range strings.SplitSeq(says, "|") {
			ok = ok || strings.Contains(string(a.body), word)
		}
		if a.status != 400 || !ok {
			t.Errorf("%q: %d %s", params, a.status, a.body)
		}
	}
	nan := npy([]float32{1, 2, float32(math.NaN())}, 3)
	if a := s.do("POST", pursueNotes+"?"+url.Values{"terms": {"1"}}.Encode(), nan, "Content-Type", npyType); a.status != 400 || !strings.Contains(string(a.body), "signal 0, coordinate 2") {
		t.Errorf("NaN in npy: %d %s", a.status, a.body)
	}
	if a := s.do("POST", pursueNotes, `{"signals":[[1,2,3]],"terms":1000,"deadline_ms":0.001}`); a.status != 504 || !strings.Contains(string(a.body), "deadline") {
		t.Errorf("past the deadline: %d %s", a.status, a.body)
	}
}

// TestStatedPublished: recall takes published methods with their options, certify refuses both.
func TestStatedPublished(t *testing.T) {
	s := start(t, nil)
	s.fillRaw(60)
	q := gaussian(9, dim)
	with := func(extra string) string { return statedBody(t, q, `[[1,2]]`, extra) }
	var r api.Recall
	s.do("POST", recallFilms, with(`,"method":"banditmips","published":{"sigma":"bernstein"}`)).want(200).into(&r)
	if r.Method != "banditmips" || r.Queries != 1 {
		t.Errorf("%+v", r)
	}
	for path, extra := range map[string]string{
		recallFilms: `,"method":"exact","published":{"sigma":1}`, certifyFilms: `,"method":"banditmips"`, certifyFilms + "?": `,"published":{"warm":1}`,
	} {
		a := s.do("POST", path, with(extra))
		if says := "search, recall, graph and pursuit do"; a.status != 400 || path != recallFilms && !strings.Contains(string(a.body), says) {
			t.Errorf("%s %s: %d %s", path, extra, a.status, a.body)
		}
	}
}

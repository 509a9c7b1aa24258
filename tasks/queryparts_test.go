package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/dataset"
)

// TestQueryPartsDivide: the parts of any number of queries follow each other without gaps, and differ by one query at
// most.
func TestQueryPartsDivide(t *testing.T) {
	for _, m := range []int64{1, 5, 16, 103, 1 << 20, 1<<62 + 3} {
		for _, n := range []int64{1, 2, 3, 16, 97, 4096} {
			next, fewest, most := int64(0), m, int64(0)
			for i := range n {
				p := &QueryPart{Index: i, Of: n}
				err := p.Divide(m)
				if m < n {
					if err == nil {
						t.Fatalf("%d queries in %d parts", m, n)
					}
					continue
				}
				if err != nil || p.First != next || p.Count < 1 || p.check(m) != nil {
					t.Fatalf("part %d of %d of %d queries: %+v, %v", i, n, m, p, err)
				}
				next += p.Count
				fewest, most = min(fewest, p.Count), max(most, p.Count)
			}
			if m >= n && (next != m || most-fewest > 1) {
				t.Errorf("%d queries in %d parts: %d in all, of %d to %d", m, n, next, fewest, most)
			}
		}
	}
}

func TestParseQueryPart(t *testing.T) {
	if p, err := ParseQueryPart("3/16"); err != nil || *p != (QueryPart{Index: 3, Of: 16}) {
		t.Errorf("%+v, %v", p, err)
	}
	for text, want := range map[string]string{
		"": "is not I/N", "3": "is not I/N", "3/": "is not I/N", "/3": "is not I/N", "a/3": "is not I/N", "1/2/3": "is not I/N", "0.5/2": "is not I/N",
		"0/0": "0 parts are not in 1..1048576", "0/1048577": "1048577 parts are not in 1..1048576",
		"16/16": "numbered from 0 to 15", "-1/4": "numbered from 0 to 3",
	} {
		if _, err := ParseQueryPart(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// sliceResults are answers in memory.
type sliceResults struct{ left []dataset.Result }

func (s *sliceResults) Next() (dataset.Result, error) {
	if len(s.left) == 0 {
		return dataset.Result{}, io.EOF
	}
	r := s.left[0]
	s.left = s.left[1:]
	return r, nil
}
func (s *sliceResults) Len() int64   { return int64(len(s.left)) }
func (s *sliceResults) Close() error { return nil }

// partOf returns a file of the answers to part i of n of m queries. change changes what it covers.
func partOf(t *testing.T, i, n, m int64, numbered bool, change func(*Coverage, *[]dataset.Result)) PartFile {
	t.Helper()
	p := &QueryPart{Index: i, Of: n}
	if err := p.Divide(m); err != nil {
		t.Fatal(err)
	}
	c := &Coverage{Queries: "q", Count: m, Metric: "ip", K: 2, Method: "exact", Shards: []Shard{{Digest: "s", Rows: 9}}, Part: p}
	var all []dataset.Result
	for j := range p.Count {
		r := dataset.Result{Query: j, Rows: []int64{p.First + j, 7}, Scores: []float32{2, 1}, Guarantee: "exact", Pulls: 10}
		if numbered {
			r.Query += p.First
		}
		all = append(all, r)
	}
	if change != nil {
		change(c, &all)
	}
	covers, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Count > 0 && len(all) > 0 {
		all[0].Covers = covers
	}
	return PartFile{Name: fmt.Sprintf("part-%d", i), Open: func() (dataset.ResultReader, error) { return &sliceResults{slices.Clone(all)}, nil }}
}

// TestCheckParts: parts in any order, with and without query numbers, give the answers to all queries in order.
func TestCheckParts(t *testing.T) {
	files := []PartFile{partOf(t, 2, 3, 10, true, nil), partOf(t, 0, 3, 10, false, nil), partOf(t, 1, 3, 10, true, nil)}
	next := int64(0)
	sum, err := CheckParts(t.Context(), files, func(r *dataset.Result) error {
		if r.Query != next || r.Rows[0] != next || r.Covers != nil {
			t.Errorf("answer %d is %+v", next, r)
		}
		next++
		return nil
	})
	if err != nil || next != 10 || sum.Parts != 3 || sum.Of != 3 || len(sum.Missing) != 0 || sum.Queries != 10 || sum.Count != 10 || sum.Complete != 10 || sum.Pulls != 100 || sum.Promise != "exact: none wrong" {
		t.Errorf("%+v, %v, %d answers", sum, err, next)
	}
	if sum.Covers == nil || sum.Covers.Part != nil {
		t.Errorf("covers %+v", sum.Covers)
	}
	for _, missing := range [][]int64{{0}, {1, 3}, {4}, {0, 1, 2, 4}} {
		var there []PartFile
		for i := range int64(5) {
			if !slices.Contains(missing, i) {
				there = append(there, partOf(t, i, 5, 23, true, nil))
			}
		}
		sum, err := CheckParts(t.Context(), there, func(*dataset.Result) error { return errors.New("not all parts are there") })
		if err != nil || !slices.Equal(sum.Missing, missing) {
			t.Errorf("%v are missing: %+v, %v", missing, sum, err)
		}
	}
}

// TestCheckPartsPromise: parts promise what their certificates do and, without certificates, no more than what they cover.
func TestCheckPartsPromise(t *testing.T) {
	for want, change := range map[string]func(*Coverage, *[]dataset.Result){
		"exact for float32, largest change 0.25: none wrong": func(c *Coverage, _ *[]dataset.Result) { c.Rounded = .25 },
		"exact for float32, largest change 0.5: none wrong": func(_ *Coverage, all *[]dataset.Result) {
			(*all)[0].Certificate = []byte(`{"guarantee":"exact","vectors_change":0.125,"query_change":0.5}`)
		},
		"probabilistic (assumed): each wrong with probability at most 0.01 if the given sigma is true of the data, so up to 0.1 of 10 on average": func(_ *Coverage, all *[]dataset.Result) {
			for i := range *all {
				(*all)[i].Guarantee, (*all)[i].Delta, (*all)[i].Certificate = "probabilistic", .01, fmt.Appendf(nil, `{"law":%q}`, batch.LawAssumed)
			}
		},
	} {
		sum, err := CheckParts(t.Context(), []PartFile{partOf(t, 0, 2, 10, true, change), partOf(t, 1, 2, 10, true, change)}, nil)
		if err != nil || sum.Promise != want {
			t.Errorf("%v, %v, want %s", sum, err, want)
		}
		if sum != nil && (sum.Covers.Rounded != 0 || sum.Covers.Part != nil) {
			t.Errorf("covers %+v", sum.Covers)
		}
	}
}

// TestCheckPartsRefuses what does not belong together.
func TestCheckPartsRefuses(t *testing.T) {
	for want, change := range map[string]func(*Coverage, *[]dataset.Result){
		"the number of queries differs, 10 and 11":                                   func(c *Coverage, _ *[]dataset.Result) { c.Count = 11; _ = c.Part.Divide(11) },
		"the number of parts differs, 3 and 4":                                       func(c *Coverage, _ *[]dataset.Result) { c.Part = &QueryPart{Index: 1, Of: 4}; _ = c.Part.Divide(10) },
		"the digest of the queries differs, q and r":                                 func(c *Coverage, _ *[]dataset.Result) { c.Queries = "r" },
		"the metric differs, ip and l2":                                              func(c *Coverage, _ *[]dataset.Result) { c.Metric = "l2" },
		"k differs, 2 and 3":                                                         func(c *Coverage, _ *[]dataset.Result) { c.K = 3 },
		"the method differs, exact and certain":                                      func(c *Coverage, _ *[]dataset.Result) { c.Method = "certain" },
		"epsilon differs, 0 and 0.5":                                                 func(c *Coverage, _ *[]dataset.Result) { c.Epsilon = .5 },
		"delta differs, 0 and 0.01":                                                  func(c *Coverage, _ *[]dataset.Result) { c.Delta = .01 },
		"part-1: answer 1 (0-based): certificate: ":                                  func(_ *Coverage, all *[]dataset.Result) { (*all)[1].Certificate = []byte(`{"law":1}`) },
		"least or greatest scores or exclusions differ":                              func(c *Coverage, _ *[]dataset.Result) { c.Limits = "x" },
		"part-0 and part-1 are not parts of one search: least or greatest scores or": func(c *Coverage, _ *[]dataset.Result) { c.ExcludeSelf = true },
		"part-0 and part-1 are not parts of one search: the vectors differ":          func(c *Coverage, _ *[]dataset.Result) { c.Shards[0].Digest = "z" },
		"part-1 has the answers to all queries, and is no part":                      func(c *Coverage, _ *[]dataset.Result) { c.Part = nil },
		"part-1: covers: part 1 of 3 states 9 queries from 3 on, and of 10 it has 3": func(c *Coverage, _ *[]dataset.Result) { c.Part.Count = 9 },
		"part-1: covers: part 4 of 3 is none":                                        func(c *Coverage, _ *[]dataset.Result) { c.Part.Index = 4 },
		"part-1: 2 answers of the 3 of part 1 of 3":                                  func(_ *Coverage, all *[]dataset.Result) { *all = (*all)[:2] },
		"part-1: answer 1 (0-based) of the part is to query 7 in place of 4":         func(_ *Coverage, all *[]dataset.Result) { (*all)[1].Query = 7 },
		"part-1: no answers":                                                         func(_ *Coverage, all *[]dataset.Result) { *all = nil },
	} {
		files := []PartFile{partOf(t, 0, 3, 10, true, nil), partOf(t, 1, 3, 10, true, change), partOf(t, 2, 3, 10, true, nil)}
		if _, err := CheckParts(t.Context(), files, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	twice := []PartFile{partOf(t, 0, 3, 10, true, nil), partOf(t, 0, 3, 10, false, nil)}
	if _, err := CheckParts(t.Context(), twice, nil); err == nil || !strings.Contains(err.Error(), "both have part 0 of 3") {
		t.Error(err)
	}
	if _, err := CheckParts(t.Context(), nil, nil); err == nil {
		t.Error("no files are taken")
	}
}

package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/tasks"
)

// readAnswers reads all answers of a file.
func readAnswers(t *testing.T, name string, content []byte) []dataset.Result {
	t.Helper()
	var all []dataset.Result
	r := openAnswers(t, name, content)
	defer r.Close()
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
}

func openAnswers(t *testing.T, name string, content []byte) dataset.ResultReader {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPartsMerge: answers over two parts of a set of vectors, by HTTP in either form of body and by an offline job,
// are merged into those over the whole set, bit for bit, since they state the same queries; the digest is that of the
// float32 rows as given, also where queries are taken relative to an origin, and others are told apart.
func TestPartsMerge(t *testing.T) {
	const n, m, cut = 120, 7, 50
	for _, x := range []struct {
		metric string
		offset float32 // of which float32 holds eighths
	}{{"ip", 0}, {"cosine", 0}, {"l2", 1 << 20}} {
		t.Run(x.metric, func(t *testing.T) {
			s := start(t, nil)
			r := draws.Rand(81)
			draw := func(n int) []float32 {
				rows := make([]float32, n*dim)
				for i := range rows {
					rows[i] = x.offset + float32(r.IntN(64)-32)/8
				}
				return rows
			}
			rows, queries := draw(n), draw(m)
			for name, part := range map[string][2]int{"all": {0, n}, "a": {0, cut}, "b": {cut, n}} {
				var lines bytes.Buffer
				for i := part[0]; i < part[1]; i++ {
					text, err := json.Marshal(rows[i*dim : (i+1)*dim])
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&lines, `{"id":"v%03d","vector":%s}`+"\n", i, text)
				}
				s.do("PUT", "/v1/collections/"+name+"?wait=true&metric="+x.metric, lines.Bytes(), "Content-Type", "application/x-ndjson").want(201)
			}
			digest := tasks.NewQueryDigest(dim)
			digest.Add(queries, nil)

			nested := make([][]float64, m) // digits that say all of a float32
			for i, x := range queries {
				nested[i/dim] = append(nested[i/dim], float64(x))
			}
			job := func(name, format string) []byte {
				file := s.upload("q.npy", npy(queries, dim), "batch")
				var made struct{ ID string }
				s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": "/v1/collections/" + name + "/search",
					"output_format": format, "search": map[string]any{"k": 4, "method": "exact"}}).want(200).into(&made)
				j := s.over(made.ID)
				if j.Status != "completed" || j.Output == nil {
					t.Fatalf("%+v", j)
				}
				return s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body
			}
			ways := map[string]func(name string) []byte{
				"json.npz": func(name string) []byte {
					return s.do("POST", "/v1/collections/"+name+"/search", map[string]any{"queries": nested, "k": 4, "method": "exact"}, "Accept", npzType).want(200).body
				},
				"npy.npz": func(name string) []byte {
					return s.do("POST", "/v1/collections/"+name+"/search?k=4&method=exact", npy(queries, dim), "Content-Type", npyType, "Accept", npzType).want(200).body
				},
				"body.json": func(name string) []byte {
					body := s.do("POST", "/v1/collections/"+name+"/search", map[string]any{"queries": nested, "k": 4, "method": "exact", "include": []string{"covers", "scores64"}}).want(200).body
					if bytes.Contains(body, []byte("id_kind")) {
						t.Errorf("vectors have ids: %s", body)
					}
					return body
				},
				"job.parquet": func(name string) []byte { return job(name, "parquet") },
				"job.jsonl":   func(name string) []byte { return job(name, "jsonl") },
			}
			if x.offset == 0 {
				ways = map[string]func(name string) []byte{"json.npz": ways["json.npz"], "body.json": ways["body.json"]}
			}
			for way, ask := range ways {
				want := readAnswers(t, way, ask("all"))
				files := []tasks.MergeFile{{Name: "a", Results: openAnswers(t, way, ask("a"))}, {Name: "b", Results: openAnswers(t, way, ask("b"))}}
				var got []dataset.Result
				sum, err := tasks.Merge(t.Context(), files, nil, func(r *dataset.Result) error {
					got = append(got, *r)
					return nil
				})
				for _, f := range files {
					f.Results.Close()
				}
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if c := sum.Covers; c == nil || c.Queries != digest.String() || c.Count != m || sum.Vectors != n || c.Method != "exact" || c.K != 4 {
					t.Fatalf("%s: merged answers cover %+v, want the queries %s", way, c, digest)
				}
				for j := range want {
					w, g := &want[j], &got[j]
					if !cmp.Equal(w.IDs, g.IDs) || !cmp.Equal(w.Scores64, g.Scores64) || !cmp.Equal(w.Scores, g.Scores) || w.Guarantee != g.Guarantee || w.Partial != g.Partial {
						t.Errorf("%s, query %d: merged %v %v %s, of one search %v %v %s", way, j, g.IDs, g.Scores64, g.Guarantee, w.IDs, w.Scores64, w.Guarantee)
					}
				}
			}
		})
	}
}

// TestCoversTellApart: covers is a member of an answer in JSON that asks for it, and differs with queries, limits,
// and filters, but not with ways of saying the same.
func TestCoversTellApart(t *testing.T) {
	s := start(t, nil)
	s.fill()
	covers := func(body string) tasks.Coverage {
		t.Helper()
		var r struct{ Covers json.RawMessage }
		s.do("POST", "/v1/collections/films/search", `{`+body+`,"include":["covers"]}`).want(200).into(&r)
		c, err := tasks.ReadCoverage(r.Covers)
		if err != nil {
			t.Fatalf("%s: %v in %s", body, err, r.Covers)
		}
		return *c
	}
	var q []string
	for j := range dim {
		q = append(q, fmt.Sprintf("%d.5", j))
	}
	one := `"queries":[[` + strings.Join(q, ",") + `]]`
	q[1] = "1.50000000001" // float32 does not hold it
	near := `"queries":[[` + strings.Join(q, ",") + `]]`
	base := covers(one + `,"k":3`)
	if again := covers(strings.ReplaceAll(one, ".5", ".50") + `,"method":"auto","k":3`); !cmp.Equal(base, again) {
		t.Errorf("the same search covers %+v and %+v", base, again)
	}
	for body, differs := range map[string]func(tasks.Coverage) bool{
		near + `,"k":3`:               func(c tasks.Coverage) bool { return c.Queries != base.Queries },
		one + `,"k":4`:                func(c tasks.Coverage) bool { return c.K != base.K },
		one + `,"k":3,"max_score":9`:  func(c tasks.Coverage) bool { return c.Limits != base.Limits && !c.Reaching },
		one + `,"k":3,"min_score":-9`: func(c tasks.Coverage) bool { return c.Limits != base.Limits && c.Reaching },
		one + `,"k":3,"filter":[1,2,5]`: func(c tasks.Coverage) bool {
			return c.Shards[0].Digest != base.Shards[0].Digest && c.Shards[0].Rows == 3
		},
		one + `,"k":3,"goals":[{"exclude":[1]}]`: func(c tasks.Coverage) bool { return c.Limits != base.Limits && !c.OwnK },
		one + `,"k":3,"exclude":[1]`: func(c tasks.Coverage) bool {
			return c.Shards[0].Digest != base.Shards[0].Digest && c.Shards[0].Rows == base.Shards[0].Rows-1
		},
	} {
		if c := covers(body); !differs(c) {
			t.Errorf("%s covers %+v, without it %+v", body, c, base)
		}
	}
	if c := covers(one + `,"k":3,"goals":[{"candidates":[1]}]`); !cmp.Equal(c, base) {
		t.Errorf("with candidates, which change no answer: %+v, want %+v", c, base)
	}
	var stated struct {
		Kind string `json:"id_kind"`
	}
	s.do("POST", "/v1/collections/films/search", `{`+one+`,"include":["covers"]}`).want(200).into(&stated)
	if stated.Kind != "row" {
		t.Errorf("row numbers are said to be %q", stated.Kind)
	}
	var plain map[string]json.RawMessage
	s.do("POST", "/v1/collections/films/search", `{`+one+`}`).want(200).into(&plain)
	if plain["covers"] != nil {
		t.Error("covers is there unasked")
	}
}

package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/api"
)

// asJSON returns values as JSON has them.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKeptAsFloat64: collections of l2 made with dtype float64 around 1e9, where float32 has steps of 64, find the nearest
// rows by the values given, of queries in each form and of jobs, also once rows are added, replaced and deleted by id, and after a restart;
// nothing is rounded.
func TestKeptAsFloat64(t *testing.T) {
	const offset = 1e9
	rows, more, queries := farRows(1, 300, offset), farRows(2, 50, offset), farRows(3, 30, offset)
	folder, root := t.TempDir(), t.TempDir()
	v, err := dataset.VectorsOf(slices.Concat(rows...), dim)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := collection.Create(t.Context(), filepath.Join(root, "prepared.thresher"), v.Reader(), false, &collection.Options{Metric: collection.Euclidean, Elem: dataset.ElemFloat64})
	if err != nil {
		t.Fatal(err)
	}
	if err := prepared.Close(); err != nil {
		t.Fatal(err)
	}
	roots := func(o *Options) { o.Roots = []string{root} }
	s := startIn(t, folder, roots)
	s.do("PUT", "/v1/collections/npy?wait&metric=l2&dtype=float64", npyOf64(rows), "Content-Type", npyType).want(201)
	s.do("PUT", "/v1/collections/list?wait", map[string]any{"metric": "l2", "dtype": "float64", "source": map[string]any{"vectors": rows}}).want(201)
	s.do("PUT", "/v1/collections/file?wait", map[string]any{"source": map[string]any{"path": "prepared.thresher"}}).want(201)
	if a := s.do("PUT", "/v1/collections/again?dtype=float64", map[string]any{"source": map[string]any{"path": "prepared.thresher"}}).want(400); !strings.Contains(string(a.body), "has its own type") {
		t.Errorf("a type of a prepared collection: %s", a.body)
	}
	if a := s.do("PUT", "/v1/collections/half?metric=l2&dtype=float16", npyOf64(rows), "Content-Type", npyType).want(400); !strings.Contains(string(a.body), "float32, float64") {
		t.Errorf("dtype float16: %s", a.body)
	}
	check := func(s *site, all [][]float64) {
		t.Helper()
		for _, name := range []string{"npy", "list", "file"} {
			path := "/v1/collections/" + name
			var info api.Collection
			s.do("GET", path, nil).want(200).into(&info)
			if info.DType != "float64" || info.Rounded != nil || info.Count != int64(len(all)) {
				t.Errorf("%s: %+v", name, info)
			}
			for kind, body := range map[string]any{jsonType: map[string]any{"queries": queries, "k": 1, "method": "certain", "include": []string{"certificate"}}, npyType: npyOf64(queries)} {
				options := ""
				if kind == npyType {
					options = "?k=1&method=certain&include=certificate"
				}
				a := s.do("POST", path+"/search"+options, body, "Content-Type", kind).want(200)
				var found struct{ Results []struct{ IDs []int } }
				a.into(&found)
				for j, r := range found.Results {
					if want := nearestOf(all, queries[j]); r.IDs[0] != want {
						t.Errorf("%s by %s: query %d finds row %d, not %d", name, kind, j, r.IDs[0], want)
					}
				}
				if strings.Contains(string(a.body), "_change") {
					t.Errorf("%s by %s: something was rounded", name, kind)
				}
			}
			var row struct{ Vector []float64 }
			s.do("GET", path+"/rows/7", nil).want(200).into(&row)
			if !slices.Equal(row.Vector, rows[7]) {
				t.Errorf("%s: row 7 is %v, not %v", name, row.Vector, rows[7])
			}
			var answers []map[string]any
			for _, q := range queries {
				answers = append(answers, map[string]any{"ids": []int{nearestOf(all, q)}})
			}
			var of struct{ Recall float64 }
			s.do("POST", path+"/recall", map[string]any{"queries": queries, "answers": answers}).want(200).into(&of)
			var proven struct{ Certified struct{ Right int } }
			s.do("POST", path+"/certify", map[string]any{"queries": queries, "answers": answers}).want(200).into(&proven)
			if of.Recall != 1 || proven.Certified.Right != len(queries) {
				t.Errorf("%s: recall %g, and %d right, of the right answers", name, of.Recall, proven.Certified.Right)
			}
		}
	}
	check(s, rows)
	s.do("POST", "/v1/collections/npy/rows?wait", npyOf64(more), "Content-Type", npyType).want(200)
	for _, name := range []string{"list", "file"} {
		s.do("POST", "/v1/collections/"+name+"/rows?wait", map[string]any{"source": map[string]any{"vectors": more}}).want(200)
	}
	both := slices.Concat(rows, more)
	check(s, both)
	// rows 40 to 59 are replaced, in three forms, and 350 to 369 are put and deleted again
	replaced := farRows(4, 20, offset)
	copy(both[40:], replaced)
	ids := func(first int) (all []int) {
		for i := range replaced {
			all = append(all, first+i)
		}
		return all
	}
	var table bytes.Buffer
	var text strings.Builder
	type written struct {
		ID     int64     `parquet:"id"`
		Vector []float64 `parquet:"vector,list"`
	}
	lines := parquet.NewGenericWriter[written](&table)
	text.WriteString("id")
	for j := range dim {
		fmt.Fprint(&text, ",x", j)
	}
	for i, row := range replaced {
		if _, err := lines.Write([]written{{int64(40 + i), row}}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&text, "\n", 40+i, ",", strings.Trim(asJSON(t, row), "[]"))
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) *answer{
		"npy": func(path string) *answer {
			return s.do("PUT", path, table.Bytes(), "Content-Type", "application/vnd.apache.parquet")
		},
		"list": func(path string) *answer {
			return s.do("PUT", path, map[string]any{"source": map[string]any{"vectors": replaced, "ids": ids(40)}})
		},
		"file": func(path string) *answer { return s.do("PUT", path, []byte(text.String()), "Content-Type", "text/csv") },
	} {
		path := "/v1/collections/" + name + "/rows"
		var info api.Collection
		put(path).want(200).into(&info)
		if info.Change == nil || info.Change.Replaced != 20 || info.Change.Written != 20 {
			t.Errorf("%s: %+v", name, info.Change)
		}
		tag := s.do("PUT", path, map[string]any{"source": map[string]any{"vectors": replaced, "ids": ids(350)}}, "If-Match", fmt.Sprintf(`"2-%d"`, *info.Writes)).want(200).header.Get("ETag")
		s.do("DELETE", path, map[string]any{"ids": ids(350)}, "If-Match", tag).want(200)
		s.do("DELETE", path, map[string]any{"ids": []int{1}}, "If-Match", tag).problem(409, "conflict")
	}
	check(s, both)
	beyond := fmt.Sprintf(`{"queries":[[1e39%s]],"k":1}`, strings.Repeat(",0", dim-1))
	if a := s.do("POST", "/v1/collections/npy/search", []byte(beyond), "Content-Type", jsonType).want(400); !strings.Contains(string(a.body), "query 0, coordinate 0: value 1e39 is beyond the range of float32") {
		t.Errorf("a query beyond float32: %s", a.body)
	}
	var lined strings.Builder
	for j, q := range queries {
		fmt.Fprintf(&lined, `{"custom_id":"%d","method":"POST","url":"/v1/collections/list/search","body":{"queries":[%s],"k":1,"method":"exact"}}`+"\n", j, asJSON(t, q))
	}
	for name, content := range map[string][]byte{"in.npy": npyOf64(queries), "in.jsonl": []byte(lined.String())} {
		spec := map[string]any{"input_file_id": s.upload(name, content, "batch"), "endpoint": "/v1/collections/list/search"}
		if name == "in.npy" {
			spec["search"] = map[string]any{"k": 1, "method": "exact"}
		}
		var made job
		s.do("POST", "/v1/batches", spec).want(200).into(&made)
		j := s.over(made.ID)
		if j.Status != "completed" || j.Output == nil || j.Error != nil {
			t.Fatalf("%s: %+v", name, j)
		}
		type result struct{ IDs []int }
		out := strings.Split(strings.TrimSpace(string(s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body)), "\n")
		if len(out) != len(queries) {
			t.Fatalf("%s: %d answers to %d queries", name, len(out), len(queries))
		}
		for i, line := range out {
			var row result
			var request struct {
				Response struct{ Body struct{ Results []result } }
			}
			err := errors.Join(json.Unmarshal([]byte(line), &row), json.Unmarshal([]byte(line), &request))
			if name == "in.jsonl" && err == nil {
				row = request.Response.Body.Results[0]
			}
			if want := nearestOf(both, queries[i]); err != nil || !slices.Equal(row.IDs, []int{want}) || strings.Contains(line, "_change") {
				t.Errorf("%s: query %d finds %v, not %d (%v): %s", name, i, row.IDs, want, err, line)
			}
		}
	}
	s.stopAll()
	check(startIn(t, folder, roots), both)
}

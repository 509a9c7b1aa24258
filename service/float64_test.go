package service

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/api"
)

// TestKeptAsFloat64: collections of l2 made with dtype float64 around 1e9, where float32 has steps of 64, find the nearest
// rows by the values given, of queries in each form, also once rows are added, and after a restart; nothing is rounded.
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
	beyond := fmt.Sprintf(`{"queries":[[1e39%s]],"k":1}`, strings.Repeat(",0", dim-1))
	if a := s.do("POST", "/v1/collections/npy/search", []byte(beyond), "Content-Type", jsonType).want(400); !strings.Contains(string(a.body), "query 0, coordinate 0: value 1e39 is beyond the range of float32") {
		t.Errorf("a query beyond float32: %s", a.body)
	}
	spec := map[string]any{"input_file_id": s.upload("in.npy", npyOf64(queries), "batch"), "endpoint": "/v1/collections/npy/search", "search": map[string]any{"k": 1}}
	if a := s.do("POST", "/v1/batches", spec); a.status == 200 || !strings.Contains(string(a.body), "kept as float64, which is not supported here") {
		t.Errorf("an offline job: %d %s", a.status, a.body)
	}
	s.stopAll()
	check(startIn(t, folder, roots), both)
}

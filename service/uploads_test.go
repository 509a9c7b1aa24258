package service

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/catalog"
)

// made creates a collection and returns its description once it is ready.
func (s *site) made(path string, body any, headers ...string) catalog.Info {
	s.t.Helper()
	var info catalog.Info
	s.do("PUT", path, body, headers...).want(http.StatusCreated).into(&info)
	return info
}

// npzBody is an npz of vectors of dimension 2 and int64 ids.
func npzBody(t testing.TB, name string, rows []float32, ids []int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	head := bytes.Replace(npy(make([]float32, len(ids)), 1), []byte("<f4"), []byte("<i8"), 1)
	head = bytes.Replace(head[:len(head)-4*len(ids)], []byte(fmt.Sprintf("(%d, 1)", len(ids))), []byte(fmt.Sprintf("(%d,)  ", len(ids))), 1)
	for _, id := range ids {
		head = binary.LittleEndian.AppendUint64(head, uint64(id))
	}
	for name, data := range map[string][]byte{name: npy(rows, 2), "ids": head} {
		w, err := z.Create(name + ".npy")
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSmallCollections: vectors in JSON, npz, integers and CSV make the same collection, with
// the same ids.
func TestSmallCollections(t *testing.T) {
	s := start(t, nil)
	rows := []float32{1, 2, 3, 4, -5, 6}
	integers := bytes.Replace(npy(make([]float32, 6), 2), []byte("<f4"), []byte("<i8"), 1)
	integers = integers[:len(integers)-24]
	for _, v := range rows {
		integers = binary.LittleEndian.AppendUint64(integers, uint64(int64(v)))
	}
	for _, c := range []struct {
		name, query string
		body        any
		kind        string
		ids         catalog.Kind
		warnings    []string
	}{
		{"json", "", `{"source":{"vectors":[[1,2],[3,4],[-5,6]],"ids":[7,8,9]}}`, jsonType, catalog.Integers, nil},
		{"jsontexts", "", `{"source":{"vectors":[[1,2],[3,4],[-5,6]],"ids":["7","8","9"]},"id_kind":"string","metric":"l2"}`, jsonType, catalog.Strings, nil},
		{"jsonrows", "", `{"source":{"vectors":[[1,2],[3,4],[-5,6]]}}`, jsonType, catalog.RowNumbers, nil},
		{"npz", "", npzBody(t, "vectors", rows, []int64{7, 8, 9}), npzType, catalog.Integers, nil},
		{"atoms", "", npzBody(t, "atoms", rows, []int64{7, 8, 9}), npzType, catalog.Integers, nil},
		{"npzrows", "&id_kind=row", npzBody(t, "vectors", rows, []int64{7, 8, 9}), npzType, catalog.RowNumbers, []string{"not kept of the body: ids"}},
		{"int64", "", integers, npyType, catalog.RowNumbers, nil},
		{"csv", "", "id,x,title,y\n7,1,a,2\n8,3,b,4\n9,-5,c,6\n", csvType, catalog.Integers, []string{"not kept of the body: title"}},
		{"csvnamed", "&ids=key", "key,x,y\na,1,2\nb,3,4\nc,-5,6\n", csvType, catalog.Strings, nil},
		{"csvplain", "&header=no", "1,2\n3,4\n-5,6\n", csvType, catalog.RowNumbers, nil},
		{"objects", "", `{"id":7,"v":[1,2],"t":1}` + "\n" + `{"id":8,"v":[3,4]}` + "\n" + `{"id":9,"v":[-5,6]}`, "application/x-ndjson", catalog.Integers, []string{"not kept of the body: t"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.in(t)
			path := "/v1/collections/" + c.name
			metric := "&metric=ip"
			if text, ok := c.body.(string); ok && strings.Contains(text, "metric") {
				metric = "" // given once
			}
			info := s.made(path+"?wait"+metric+c.query, c.body, "Content-Type", c.kind)
			if info.Count != 3 || info.Dimension != 2 || info.IDs != c.ids || cmp.Diff(c.warnings, info.Warnings) != "" {
				t.Fatalf("%+v", info)
			}
			id := map[catalog.Kind]string{catalog.Integers: "9", catalog.RowNumbers: "2", catalog.Strings: "9"}[c.ids]
			if c.name == "csvnamed" {
				id = "c"
			}
			var row struct{ Vector []float32 }
			s.do("GET", path+"/rows/"+id, nil).want(200).into(&row)
			if cmp.Diff(row.Vector, []float32{-5, 6}) != "" {
				t.Errorf("row %s is %v", id, row.Vector)
			}
		})
	}
	// Rows can be appended in the same formats.
	s.do("POST", "/v1/collections/json/rows?wait", `{"source":{"vectors":[[9,9]],"ids":[70]}}`).want(200)
	s.do("POST", "/v1/collections/csv/rows?wait", "id,x,y\n70,9,9\n", "Content-Type", csvType).want(200)
	for _, name := range []string{"json", "csv"} {
		s.do("GET", "/v1/collections/"+name+"/rows/70", nil).want(200)
	}
	var info catalog.Info
	s.do("POST", "/v1/collections/jsonrows/rows?wait", "id,x,y\n70,9,9\n", "Content-Type", csvType).want(200).into(&info)
	if info.IDs != catalog.RowNumbers || cmp.Diff(info.Warnings, []string{"not kept of the body: id"}) != "" {
		t.Errorf("%+v", info)
	}
}

func TestSmallCollectionsRefused(t *testing.T) {
	s := start(t, nil)
	for name, c := range map[string]struct {
		body, kind, problem, field string
		index                      int
	}{
		"two sources": {`{"source":{"vectors":[[1]],"path":"a.npy"}}`, jsonType, "invalid-value", "source", -1},
		"no vectors":  {`{"source":{"vectors":[]}}`, jsonType, "invalid-value", "source.vectors", -1},
		"no list":     {`{"source":{"vectors":7}}`, jsonType, "invalid-value", "source.vectors", -1},
		"length":      {`{"source":{"vectors":[[1,2],[3]]}}`, jsonType, "wrong-dimension", "source.vectors", 1},
		"empty":       {`{"source":{"vectors":[[]]}}`, jsonType, "invalid-value", "source.vectors", 0},
		"text":        {`{"source":{"vectors":[[1,"2"]]}}`, jsonType, "invalid-value", "source.vectors", 0},
		"infinite":    {`{"source":{"vectors":[[1],[1e39]]}}`, jsonType, "not-finite", "source.vectors", 1},
		"few ids":     {`{"source":{"vectors":[[1],[2]],"ids":[1]}}`, jsonType, "invalid-value", "ids", -1},
		"ids alone":   {`{"source":{"path":"a.npy","ids":[1]}}`, jsonType, "invalid-value", "source.ids", -1},
		"csv":         {"x,y\n1,2\n3,z\n", csvType, "not-finite", "rows", 1},
		"id twice":    {"id,x,y\n4,1,2\n5,1,2\n4,3,4\n", csvType, "invalid-value", "ids", 2},
		"id missing":  {"id,x,y\n4,1,2\n,3,4\n", csvType, "malformed-body", "rows", 1},
		"id null":     {`{"id":4,"v":[1]}` + "\n" + `{"id":null,"v":[2]}`, "application/x-ndjson", "malformed-body", "rows", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t)
			a := s.do("PUT", "/v1/collections/bad?metric=ip&wait", c.body, "Content-Type", c.kind)
			var p refused
			a.into(&p)
			if a.status != 400 || p.Type != "/problems/"+c.problem || p.Field != c.field || c.index >= 0 && (p.Index == nil || *p.Index != c.index) {
				t.Errorf("%d %s", a.status, a.body)
			}
			if r := s.do("DELETE", "/v1/collections/bad", nil); r.status != 204 && r.status != 404 {
				t.Errorf("%d", r.status)
			}
		})
	}
}

// TestBodiesWithoutType: the format of a body without a Content-Type, or with a generic one,
// is inferred from its first bytes.
func TestBodiesWithoutType(t *testing.T) {
	s := start(t, nil)
	rows := []float32{1, 2, 3, 4}
	for name, body := range map[string]any{
		"npy": npy(rows, 2), "npz": npzBody(t, "vectors", rows, []int64{7, 8}),
		"jsonl": "[1,2]\n[3,4]\n", "json": ` {"source":{"vectors":[[1,2],[3,4]]}}`,
	} {
		for i, kind := range []string{"", binType, formType} {
			if info := s.made(fmt.Sprintf("/v1/collections/%s%d?metric=ip&wait", name, i), body, "Content-Type", kind); info.Count != 2 {
				t.Errorf("%s: %+v", name, info)
			}
		}
	}
	p := s.do("PUT", "/v1/collections/csv?metric=ip&wait", "x,y\n1,2\n", "Content-Type", "").problem(415, "unsupported-media")
	if !strings.Contains(p.Detail, csvType) || !strings.Contains(fmt.Sprint(p.Limit), npyType) {
		t.Errorf("%+v", p)
	}
	s.do("PUT", "/v1/collections/none?metric=ip&wait", "", "Content-Type", "").problem(415, "unsupported-media")
	for body, want := range map[string]int{string(npy([]float32{1, 1}, 2)): 200, `{"queries":[[1,1]]}`: 200, "x": 415} {
		s.do("POST", "/v1/collections/npy0/search", []byte(body), "Content-Type", "").want(want)
	}
	column := bytes.Replace(npy([]float32{1, 2, 3, 4, 5, 6}, 2), []byte("False"), []byte("True "), 1)
	var found struct{ Results []struct{ IDs []int } }
	s.do("POST", "/v1/collections/npy0/search?k=1", column, "Content-Type", npyType).want(200).into(&found)
	if len(found.Results) != 3 {
		t.Errorf("%+v", found)
	}
}

// TestIgnoredIDs: with id_kind=row a column called id is no coordinate and is not read: it may hold
// what cannot be ids, which is refused otherwise. So are those of rows that are added.
func TestIgnoredIDs(t *testing.T) {
	s := start(t, nil)
	vectors := []float32{1, 2, 3, 4, -5, 6}
	for _, c := range []struct {
		name, column string
		body         any
		kind         string
	}{
		{"emptycsv", "id", "x,id,y\n1,7,2\n3,,4\n-5,9,6\n", csvType},
		{"floatcsv", "id", "id,x,y\n1.5,1,2\n2.5,3,4\n-1,-5,6\n", csvType},
		{"twicecsv", "id", "id,x,y\n7,1,2\n7,3,4\n7,-5,6\n", csvType},
		{"arrayscsv", "id", "id,v\n1.5,\"[1,2]\"\n,\"[3,4]\"\n2,\"[-5,6]\"\n", csvType},
		{"lines", "id", `{"id":1.5,"v":[1,2]}` + "\n" + `{"v":[3,4]}` + "\n" + `{"id":null,"v":[-5,6]}`, "application/x-ndjson"},
		{"negative", "id", `{"id":-1,"v":[1,2]}` + "\n" + `{"id":2,"v":[3,4]}` + "\n" + `{"id":3,"v":[-5,6]}`, "application/x-ndjson"},
		{"npz", "ids", npzBody(t, "vectors", vectors, []int64{7, 8}), npzType},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.in(t)
			path := "/v1/collections/" + c.name
			// Some ids are read while the collection is built.
			if a := s.do("PUT", path+"?wait&metric=ip", c.body, "Content-Type", c.kind); a.status != 400 {
				t.Errorf("as ids: status %d, %s", a.status, a.body)
			}
			info := s.made(path+"?wait&metric=ip&replace=true&id_kind=row", c.body, "Content-Type", c.kind)
			want := []string{"not kept of the body: " + c.column}
			if info.Count != 3 || info.Dimension != 2 || info.IDs != catalog.RowNumbers || cmp.Diff(want, info.Warnings) != "" {
				t.Errorf("%+v", info)
			}
			s.do("POST", path+"/rows?wait", c.body, "Content-Type", c.kind).want(200).into(&info)
			if info.Count != 6 || info.IDs != catalog.RowNumbers || cmp.Diff(want, info.Warnings) != "" {
				t.Errorf("added: %+v", info)
			}
			var row struct{ Vector []float32 }
			s.do("GET", path+"/rows/5", nil).want(200).into(&row)
			if cmp.Diff(row.Vector, vectors[4:]) != "" {
				t.Errorf("row 5 is %v", row.Vector)
			}
		})
	}
	s.do("PUT", "/v1/collections/picked?wait&metric=ip&id_kind=row&column=*", "id,x,y\n1.5,1,2\n", "Content-Type", csvType).want(201)
	var info catalog.Info
	s.do("GET", "/v1/collections/picked", nil).want(200).into(&info)
	if info.Dimension != 2 || info.VectorColumns != "x, y" {
		t.Errorf("%+v", info)
	}
}

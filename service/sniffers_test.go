package service

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/sniffers"
	"thresher/service/catalog"
)

// uploadType is the media type of a file by its extension.
func uploadType(t *testing.T, file string) string {
	t.Helper()
	types := map[string]string{
		".csv": csvType, ".npy": npyType, ".npz": npzType, ".jsonl": "application/x-ndjson",
		".parquet": "application/vnd.apache.parquet", ".arrow": "application/vnd.apache.arrow.file",
	}
	kind := types[filepath.Ext(file)]
	if kind == "" {
		t.Fatalf("%s is of no type", file)
	}
	return kind
}

// TestSniffers: uploads refuse what has two readings, name the parameter that decides, and follow
// it; the collection says which columns made the vectors.
func TestSniffers(t *testing.T) {
	s := start(t, nil)
	for i, c := range sniffers.Cases() {
		t.Run(c.Decides+"/"+c.Name, func(t *testing.T) {
			s.in(t)
			path := "/v1/collections/c" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + "?wait&metric=ip"
			kind := uploadType(t, c.File)
			if c.Words != nil {
				a := s.do("PUT", path, c.Data, "Content-Type", kind)
				var p refused
				a.into(&p)
				if a.status != 400 {
					t.Fatalf("status %d: %s", a.status, a.body)
				}
				for _, word := range append([]string{string(c.Word)}, c.Words...) {
					if !strings.Contains(p.Detail, word) {
						t.Errorf("%q lacks %q", p.Detail, word)
					}
				}
			}
			if c.Rows == 0 {
				return
			}
			choice := url.Values{}
			for name, value := range map[string]string{"column": c.Choice.Column, "header": c.Choice.Header, "ids": c.Choice.IDs} {
				if value != "" {
					choice.Set(name, value)
				}
			}
			info := s.made(path+"&replace=true&"+choice.Encode(), c.Data, "Content-Type", kind)
			if info.Count != int64(c.Rows) || info.Dimension != c.Dim || info.VectorColumns == "" {
				t.Errorf("%+v, want %d x %d and the columns", info, c.Rows, c.Dim)
			}
		})
	}
}

// TestRowsByName: rows that are added to a collection whose coordinates have names are read by
// name, and refused if the names are others.
func TestRowsByName(t *testing.T) {
	s := start(t, nil)
	s.made("/v1/collections/named?wait&metric=ip", "x,y,z\n1,2,4\n", "Content-Type", csvType)
	var info catalog.Info
	s.do("POST", "/v1/collections/named/rows?wait", "z,id,y,x\n40,1,20,10\n", "Content-Type", csvType).want(200).into(&info)
	if info.VectorColumns != "x, y, z" || info.Count != 2 {
		t.Errorf("%+v", info)
	}
	var row struct{ Vector []float32 }
	s.do("GET", "/v1/collections/named/rows/1", nil).want(200).into(&row)
	if len(row.Vector) != 3 || row.Vector[0] != 10 || row.Vector[1] != 20 || row.Vector[2] != 40 {
		t.Errorf("row 1 is %v", row.Vector)
	}
	a := s.do("POST", "/v1/collections/named/rows?wait", "x,y,w\n1,2,4\n", "Content-Type", csvType)
	if a.status != 400 || !strings.Contains(string(a.body), "x, y, z") || !strings.Contains(string(a.body), "column") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	s.do("POST", "/v1/collections/named/rows?wait&column=x,y,w", "x,y,w\n1,2,4\n", "Content-Type", csvType).want(200)
}

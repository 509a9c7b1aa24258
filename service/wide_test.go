package service

import (
	"fmt"
	"strings"
	"testing"

	"thresher/collection"
)

// TestWideRows: rows of more than 65,536 dimensions are put and searched by every method that the planner
// chooses for, and rows of more than a collection may have are refused with the limit.
func TestWideRows(t *testing.T) {
	s := start(t, nil)
	const n = 30
	for _, wide := range []int{70_016, 140_000} {
		rows := gaussian(1, n*wide)
		queries := append(gaussian(2, wide), rows[3*wide:4*wide]...)
		path := fmt.Sprintf("/v1/collections/wide%d", wide)
		s.do("PUT", path+"?wait=true&metric=ip", npy(rows, wide), "Content-Type", npyType).want(201)
		want := []int64{best(rows, queries[:wide]), 3}
		for _, method := range []string{"exact", "auto", "certain", "adaptive"} {
			var r results
			s.do("POST", path+"/search?k=1&method="+method, npy(queries, wide), "Content-Type", npyType, "Accept", jsonType).want(200).into(&r)
			for j, x := range r.Results {
				if id, err := x.IDs[0].Int64(); err != nil || id != want[j] || !x.Complete {
					t.Errorf("%d dimensions, %s, query %d: %+v, best is %d", wide, method, j, x, want[j])
				}
			}
		}
	}
	too := npy(make([]float32, collection.MaxDim+1), collection.MaxDim+1)
	p := s.do("PUT", "/v1/collections/too?wait=true&metric=ip", too, "Content-Type", npyType)
	if text := string(p.body); p.status < 400 || p.status >= 500 || !strings.Contains(text, "2097153 columns, at most 2097152") {
		t.Errorf("a row of 2^21 + 1: %d, %.300s", p.status, text)
	}
}

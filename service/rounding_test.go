package service

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thresher/service/api"
)

// npyOf64 encodes a float64 matrix as npy.
func npyOf64(rows [][]float64) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", len(rows), len(rows[0]))
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	for _, row := range rows {
		for _, x := range row {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

// farRows draws rows around offset.
func farRows(seed uint64, n int, offset float64) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 5))
	rows := make([][]float64, n)
	for i := range rows {
		for range dim {
			rows[i] = append(rows[i], offset+r.NormFloat64())
		}
	}
	return rows
}

// nearestOf returns the row nearest to q.
func nearestOf(rows [][]float64, q []float64) int {
	best, least := 0, math.Inf(1)
	for i, row := range rows {
		var sum float64
		for j, x := range row {
			sum += (x - q[j]) * (x - q[j])
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return best
}

// TestNumbersFarFromZero: collections of l2 made of float64 and of JSON around 1e7 find the nearest rows,
// of queries in each form, also once rows are added, after a restart, and in an offline job; collection and
// certificates say what rounding changed.
func TestNumbersFarFromZero(t *testing.T) {
	const offset = 1e7
	rows, more, queries := farRows(1, 300, offset), farRows(2, 50, offset), farRows(3, 30, offset)
	folder := t.TempDir()
	s := startIn(t, folder, nil)
	var info api.Collection
	s.do("PUT", "/v1/collections/npy?wait&metric=l2", npyOf64(rows), "Content-Type", npyType).want(201).into(&info)
	if info.Rounded == nil || info.Rounded.Values == 0 || info.Rounded.Largest > 1e-6 {
		t.Errorf("rounded: %+v", info.Rounded)
	}
	s.do("PUT", "/v1/collections/list?wait", map[string]any{"metric": "l2", "source": map[string]any{"vectors": rows}}).want(201).into(&info)
	if info.Rounded == nil || info.Rounded.Largest > 1e-6 {
		t.Errorf("listed: %+v", info.Rounded)
	}
	check := func(s *site, name string, all [][]float64) {
		t.Helper()
		for kind, body := range map[string]any{jsonType: map[string]any{"queries": queries, "k": 1, "method": "exact", "include": []string{"certificate"}}, npyType: npyOf64(queries)} {
			path := "/v1/collections/" + name + "/search"
			if kind == npyType {
				path += "?k=1&method=exact&include=certificate"
			}
			var found struct {
				Results []struct {
					IDs         []int
					Scores      []float64
					Certificate struct {
						Guarantee string
						Vectors   float64 `json:"vectors_change"`
						Query     float64 `json:"query_change"`
					}
				}
			}
			s.do("POST", path, body, "Content-Type", kind).want(200).into(&found)
			for j, r := range found.Results {
				if want := nearestOf(all, queries[j]); r.IDs[0] != want || r.Certificate.Guarantee != "exact" {
					t.Errorf("%s by %s: query %d finds row %d, not %d", name, kind, j, r.IDs[0], want)
				}
				if c := r.Certificate; c.Vectors <= 0 || c.Vectors > 1e-6 || c.Query <= 0 || c.Query > 1e-6 {
					t.Errorf("%s by %s: %+v", name, kind, c)
				}
			}
		}
		// A row comes back as it was given, and finds itself.
		var row struct{ Vector []float64 }
		s.do("GET", "/v1/collections/"+name+"/rows/7", nil).want(200).into(&row)
		for j, x := range row.Vector {
			if math.Abs(x-rows[7][j]) > 1e-6 {
				t.Errorf("%s: row 7 is %v, not %v", name, row.Vector, rows[7])
			}
		}
		as := s.do("GET", "/v1/collections/"+name+"/rows/7", nil, "Accept", npyType).want(200).body
		var found struct{ Results []struct{ IDs []int } }
		s.do("POST", "/v1/collections/"+name+"/search?k=1&method=exact", as, "Content-Type", npyType).want(200).into(&found)
		if found.Results[0].IDs[0] != 7 {
			t.Errorf("%s: row 7 finds %v", name, found.Results[0].IDs)
		}
		var answers []map[string]any
		for _, q := range queries {
			answers = append(answers, map[string]any{"ids": []int{nearestOf(all, q)}})
		}
		var of struct{ Recall float64 }
		s.do("POST", "/v1/collections/"+name+"/recall", map[string]any{"queries": queries, "answers": answers}).want(200).into(&of)
		if of.Recall != 1 {
			t.Errorf("%s: recall %g of the right answers", name, of.Recall)
		}
		var proven struct{ Certified struct{ Right int } }
		s.do("POST", "/v1/collections/"+name+"/certify", map[string]any{"queries": queries, "answers": answers}).want(200).into(&proven)
		if proven.Certified.Right != len(queries) {
			t.Errorf("%s: %d of the right answers are right", name, proven.Certified.Right)
		}
	}
	check(s, "npy", rows)
	check(s, "list", rows)
	s.do("POST", "/v1/collections/npy/rows?wait", npyOf64(more), "Content-Type", npyType).want(200).into(&info)
	if info.Rounded == nil || info.Rounded.Largest > 1e-6 {
		t.Errorf("with rows added: %+v", info.Rounded)
	}
	s.do("POST", "/v1/collections/list/rows?wait", map[string]any{"source": map[string]any{"vectors": more}}).want(200)
	both := slices.Concat(rows, more)
	check(s, "npy", both)
	check(s, "list", both)
	s.stopAll()
	again := startIn(t, folder, nil)
	again.do("GET", "/v1/collections/npy", nil).want(200).into(&info)
	if info.Rounded == nil || info.Rounded.Largest > 1e-6 {
		t.Errorf("after a restart: %+v", info.Rounded)
	}
	check(again, "npy", both)

	for name, content := range map[string][]byte{"in.npy": npyOf64(queries), "in.jsonl": requestsFor("npy", queries)} {
		var made job
		spec := map[string]any{"input_file_id": again.upload(name, content, "batch"), "endpoint": "/v1/collections/npy/search"}
		if strings.HasSuffix(name, ".npy") {
			spec["search"] = map[string]any{"k": 1, "method": "exact", "include": []string{"certificate"}}
			spec["output_format"] = "jsonl"
		}
		again.do("POST", "/v1/batches", spec).want(200).into(&made)
		j := again.over(made.ID)
		if j.Status != "completed" || j.Output == nil {
			t.Fatalf("%s: %+v", name, j)
		}
		out := bufio.NewScanner(bytes.NewReader(again.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body))
		for i := 0; out.Scan(); i++ {
			want := fmt.Sprintf(`"ids":[%d]`, nearestOf(both, queries[i]))
			if !strings.Contains(out.Text(), want) || !strings.Contains(out.Text(), `"query_change":`) {
				t.Errorf("%s: %s lacks %s", name, out.Text(), want)
			}
		}
	}
}

func requestsFor(name string, queries [][]float64) []byte {
	var b bytes.Buffer
	for i := range queries {
		body, _ := json.Marshal(map[string]any{"queries": queries[i : i+1], "k": 1, "method": "exact", "include": []string{"certificate"}})
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":"/v1/collections/%s/search","body":%s}`+"\n", i, name, body)
	}
	return b.Bytes()
}

// TestRoundedByRows: what rounding changes of rows that are written is in the collection's description, also after a
// restart.
func TestRoundedByRows(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	s.do("PUT", "/v1/collections/a?wait=true&metric=ip", `{"id":1,"vector":[1,2]}`+"\n"+`{"id":2,"vector":[3,4]}`+"\n", "Content-Type", "application/jsonl").want(201)
	s.do("PUT", "/v1/collections/a/rows", `{"id":3,"vector":[5,6]}`+"\n", "Content-Type", "application/jsonl").want(200)
	rounded := func() *api.Rounding {
		t.Helper()
		var info api.Collection
		s.do("GET", "/v1/collections/a", nil).want(200).into(&info)
		return info.Rounded
	}
	if got := rounded(); got != nil {
		t.Errorf("nothing was rounded: %+v", got)
	}
	s.do("PUT", "/v1/collections/a/rows", `{"id":1,"vector":[16777217,0.5]}`+"\n", "Content-Type", "application/jsonl").want(200)
	want := api.Rounding{Values: 1, Largest: 1}
	if got := rounded(); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.stopAll()
	s = startIn(t, dir, nil)
	if got := rounded(); got == nil || *got != want {
		t.Errorf("after a restart %+v, want %+v", got, want)
	}
}

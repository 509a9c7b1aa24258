package service

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/api"
	"thresher/service/problem"
)

// idsOf pages through the rows whose ids begin with a prefix.
func (s *site) idsOf(name, prefix string, limit int) (ids []string) {
	s.t.Helper()
	after := url.Values{"prefix": {prefix}, "limit": {fmt.Sprint(limit)}}
	for {
		var page api.Rows
		s.do("GET", "/v1/collections/"+name+"/rows?"+after.Encode(), nil).want(200).into(&page)
		if len(page.Data) > limit {
			s.t.Fatalf("%d rows on a page of %d", len(page.Data), limit)
		}
		for _, row := range page.Data {
			ids = append(ids, row.ID.String())
		}
		if !page.HasMore {
			return ids
		}
		after.Set("after", *page.LastID)
	}
}

// TestListedIDs: pages have every id that begins with a prefix, once and in order, of ids of every kind, in collections as they were
// made and in those that change by rows.
func TestListedIDs(t *testing.T) {
	s := start(t, nil)
	const n = 60
	texts, numbers := make([]string, n), make([]int64, n)
	draw := rand.New(rand.NewPCG(7, 7))
	for i := range n {
		texts[i] = fmt.Sprintf("%c%c,%d", 'a'+draw.IntN(3), 'a'+draw.IntN(2), i)
		numbers[i] = int64(i) * int64(1+draw.IntN(3)) * 100003 % 4001
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	draw.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	vectors := func(n int) string { return "[" + strings.Repeat("[1,0],", n-1) + "[0,1]]" }
	quoted := `"` + strings.Join(texts, `","`) + `"`
	ints := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ","), "[]")
	for name, ids := range map[string]string{"texts": `,"ids":[` + quoted + `]`, "ints": `,"ids":[` + ints + `]`, "row": ""} {
		count := n
		if name == "ints" {
			count = len(numbers)
		}
		s.made("/v1/collections/"+name+"?wait&metric=ip", `{"source":{"vectors":`+vectors(count)+ids+`}}`, "Content-Type", jsonType)
	}
	want := map[string][]string{"texts": slices.Sorted(slices.Values(texts))}
	slices.Sort(numbers)
	for _, id := range numbers {
		want["ints"] = append(want["ints"], fmt.Sprint(id))
	}
	for i := range n {
		want["row"] = append(want["row"], fmt.Sprint(i))
	}
	check := func(form string) {
		t.Helper()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			for _, prefix := range []string{"", "a", "ab,", "1", "12", "0", "00", "-", "-1", "+1", "9223372036854775807", "zz"} {
				var those []string
				for _, id := range want[name] {
					if strings.HasPrefix(id, prefix) {
						those = append(those, id)
					}
				}
				for _, limit := range []int{1, 7, 100} {
					if d := cmp.Diff(those, s.idsOf(name, prefix, limit)); d != "" {
						t.Errorf("%s, %s, prefix %q, pages of %d: %s", form, name, prefix, limit, d)
					}
				}
			}
		}
	}
	check("as made")
	for name, ids := range want {
		gone := ids[len(ids)/2]
		s.do("DELETE", "/v1/collections/"+name+"/rows?wait", `{"ids":[`+quotedIf(name == "texts", gone)+`]}`, "Content-Type", jsonType).want(200)
		if want[name] = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == gone }); name == "row" {
			continue
		}
		added := "111"
		if name == "texts" {
			added = "ab,new"
		}
		s.do("PUT", "/v1/collections/"+name+"/rows", `{"source":{"vectors":[[1,1]],"ids":[`+quotedIf(name == "texts", added)+`]}}`, "Content-Type", jsonType).want(200)
		want[name] = append(want[name], added)
	}
	slices.Sort(want["texts"])
	slices.SortFunc(want["ints"], cmpNumbers)
	want["ints"] = slices.Compact(want["ints"])
	check("changed by rows")
}

func quotedIf(text bool, id string) string {
	if text {
		return `"` + id + `"`
	}
	return id
}

// cmpNumbers compares digits as numbers.
func cmpNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// TestListedColumns: rows have the values of their columns that are not null, also those written later.
func TestListedColumns(t *testing.T) {
	s := start(t, nil)
	s.made("/v1/collections/films?wait&metric=ip&columns=all", strings.NewReader(filmLines), "Content-Type", "application/x-ndjson")
	check := func(ids string, want map[string]map[string]any) {
		t.Helper()
		var page api.Rows
		s.do("GET", "/v1/collections/films/rows?"+ids, nil).want(200).into(&page)
		got := map[string]map[string]any{}
		for _, row := range page.Data {
			got[row.ID.String()] = row.Columns
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	c, e := map[string]any{"lang": "go", "draft": false}, map[string]any{"year": 2001., "lang": "it's"}
	check("id=e&id=c", map[string]map[string]any{"c": c, "e": e})
	check("prefix=c", map[string]map[string]any{"c": c})
	var one struct {
		Columns map[string]any
		Row     *int64
		Vector  []float64
	}
	s.do("GET", "/v1/collections/films/rows/c", nil).want(200).into(&one)
	if d := cmp.Diff(c, one.Columns); d != "" || *one.Row != 2 || len(one.Vector) != 2 {
		t.Error(d, one)
	}
	s.do("PUT", "/v1/collections/films/rows", strings.NewReader(`{"id":"e","year":2002,"lang":"ru","v":[4,0]}`+"\n"+`{"id":"f","year":2010,"v":[4,0]}`+"\n"), "Content-Type", "application/x-ndjson").want(200)
	check("id=c&id=e&id=f", map[string]map[string]any{"c": c, "e": {"year": 2002., "lang": "ru"}, "f": {"year": 2010.}})
	s.do("GET", "/v1/collections/films/rows?id=c&id=nobody", nil).problem(404, "unknown-row")
	s.do("GET", "/v1/collections/films/rows?prefix=c&vectors=true", nil).problem(400, "invalid-value")
	s.do("GET", "/v1/collections/films/rows?prefix=c&vectors=false", nil).want(200)
	s.do("GET", "/v1/collections/films/rows?id=c&vectors=perhaps", nil).problem(400, "invalid-value")
	s.do("PUT", "/v1/collections/dots?wait&metric=ip", `{"source":{"vectors":[[1,0.5],[0.1,1]],"ids":[".",".."]}}`, "Content-Type", jsonType).want(201)
	var dots api.Rows
	s.do("GET", "/v1/collections/dots/rows?id=..&id=.&vectors=true", nil).want(200).into(&dots)
	if len(dots.Data) != 2 || dots.Data[0].ID.String() != ".." || !slices.Equal(dots.Data[0].Vector, []float64{float64(float32(0.1)), 1}) || !slices.Equal(dots.Data[1].Vector, []float64{1, 0.5}) {
		t.Errorf("ids that no path can end in: %+v", dots.Data)
	}
	dots = api.Rows{}
	s.do("GET", "/v1/collections/dots/rows?id=.", nil).want(200).into(&dots)
	if len(dots.Data) != 1 || dots.Data[0].Vector != nil {
		t.Errorf("vectors that were not asked for: %+v", dots.Data)
	}
	s.do("GET", "/v1/collections/films/rows?id=c&prefix=c", nil).problem(400, "invalid-value")
	s.do("GET", "/v1/collections/films/rows?limit=101", nil).problem(400, "invalid-value")
	s.do("GET", "/v1/collections/films/rows?"+strings.Repeat("id=c&", 101), nil).problem(400, "over-limit")
	s.do("GET", "/v1/collections/none/rows", nil).problem(404, "unknown-collection")
}

// TestLongTextsEndAPage: no page has more than a mebibyte of texts, but for its first row, and none is lost.
func TestLongTextsEndAPage(t *testing.T) {
	s := start(t, nil)
	long := strings.Repeat("x", maxPageText/2+1)
	s.made("/v1/collections/long?wait&metric=ip", `{"source":{"vectors":[[1],[2],[3]],"columns":{"t":["`+long+`","`+long+`","y"]}}}`, "Content-Type", jsonType)
	var page api.Rows
	s.do("GET", "/v1/collections/long/rows", nil).want(200).into(&page)
	if len(page.Data) != 1 || !page.HasMore {
		t.Errorf("%d rows, more %v", len(page.Data), page.HasMore)
	}
	if got := s.idsOf("long", "", 100); len(got) != 3 {
		t.Errorf("ids %v", got)
	}
	var named api.Rows
	s.do("GET", "/v1/collections/long/rows?id=0"+strings.Repeat("&id=1", 99), nil).want(200).into(&named)
	if len(named.Data) != 1 || !named.HasMore {
		t.Errorf("of given ids %d rows, more %v", len(named.Data), named.HasMore)
	}
}

// TestWideVectorsEndAPage: of given ids no page has more than 2^20 values of vectors.
func TestWideVectorsEndAPage(t *testing.T) {
	s, dim := start(t, nil), 1<<14
	s.made("/v1/collections/wide?wait&metric=ip", `{"source":{"vectors":[[`+strings.Repeat("1,", dim-1)+`1]]}}`, "Content-Type", jsonType)
	for vectors, want := range map[string]int{"": problem.MaxPage, "&vectors=true": maxPageValues / dim} {
		var page api.Rows
		s.do("GET", "/v1/collections/wide/rows?id=0"+strings.Repeat("&id=0", problem.MaxPage-1)+vectors, nil).want(200).into(&page)
		if len(page.Data) != want || page.HasMore != (want < problem.MaxPage) || len(page.Data[want-1].Vector) != min(len(vectors), 1)*dim {
			t.Errorf("%q: %d rows of %d values, more %v", vectors, len(page.Data), len(page.Data[want-1].Vector), page.HasMore)
		}
	}
}

// TestMethodsOfACollection: a collection lists the methods that search it and no others, also once it changes by rows.
func TestMethodsOfACollection(t *testing.T) {
	s := start(t, nil)
	made := gaussian(3, 200*64)
	for _, c := range []struct {
		name, options string
		dim           int
	}{{"rotated", "metric=cosine", 64}, {"raw", "metric=ip&basis=raw", 64}, {"distances", "metric=l2&basis=raw", 64}, {"narrow", "metric=ip", 2}, {"wide", "metric=ip&basis=raw&dtype=float64", 64}} {
		rows := made[:200*c.dim]
		s.made("/v1/collections/"+c.name+"?wait&"+c.options, npy(rows, c.dim), "Content-Type", npyType)
		for _, form := range []string{"as made", "changed by rows"} {
			var info api.Collection
			s.do("GET", "/v1/collections/"+c.name, nil).want(200).into(&info)
			if len(info.Methods) < 3 {
				t.Errorf("%s, %s: methods %v", c.name, form, info.Methods)
			}
			for _, m := range described(t).Tree["components"].(map[string]any)["schemas"].(map[string]any)["Method"].(map[string]any)["enum"].([]any) {
				a := s.do("POST", "/v1/collections/"+c.name+"/search?k=1&method="+m.(string), npy(rows[:c.dim], c.dim), "Content-Type", npyType)
				if can := slices.Contains(info.Methods, m.(string)); form == "as made" && can != (a.status == 200) || can && a.status != 200 {
					t.Errorf("%s, %s: method %s is listed: %v, and a search by it answers %d", c.name, form, m, can, a.status)
				}
			}
			if form == "as made" {
				s.do("DELETE", "/v1/collections/"+c.name+"/rows?ids=7&wait", nil).want(200)
			}
		}
	}
}

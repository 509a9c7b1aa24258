package service

import (
	"strings"
	"testing"
)

// TestReading: the limits of readers follow from the memory of collections, unless read_limit says more.
func TestReading(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		block  int64
		word   string
	}{
		{Limits{Memory: 1 << 30}, 256 << 20, "limits.memory"}, {Limits{Memory: 1}, 16 << 20, "limits.memory"},
		{Limits{Memory: 1 << 20, Read: 1 << 30}, 1 << 30, "read_limit"}, {Limits{}, 0, "read_limit"},
	} {
		if b := c.limits.reading(); b.Block != c.block || !strings.Contains(b.Word, c.word) {
			t.Errorf("%+v: %+v, want a block of %d by %s", c.limits, b, c.block, c.word)
		}
	}
}

// TestFilesHaveBudgets: what exceeds a limit of a reader is refused as such, in collections, added rows and batches,
// with the row, the limit and what sets it.
func TestFilesHaveBudgets(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Memory = 64 << 20 })
	long := "[1,2]\n[1," + strings.Repeat(" ", 5<<20) + "2]\n"
	const kind, detail = "application/x-ndjson", "line 2 is longer than 4194304 bytes (read_limit, or else limits.memory, sets the limit)"
	s.do("PUT", "/v1/collections/a?metric=ip&wait=true", []byte("[1,2]\n[3,4]\n"), "Content-Type", kind).want(201)
	for _, refused := range []*answer{
		s.do("PUT", "/v1/collections/b?metric=ip&wait=true", []byte(strings.TrimPrefix(long, "[1,2]\n")), "Content-Type", kind),
		s.do("POST", "/v1/collections/a/rows?wait=true", []byte(strings.TrimPrefix(long, "[1,2]\n")), "Content-Type", kind),
	} {
		p := refused.problem(400, "over-limit")
		if want := strings.Replace(detail, "line 2", "line 1", 1); !strings.Contains(p.Detail, want) || p.Index == nil || *p.Index != 0 || p.Limit != float64(4<<20) {
			t.Errorf("%+v lacks %q, row or limit", p, want)
		}
	}
	s.do("PUT", "/v1/collections/c?metric=ip&wait=true", []byte(long), "Content-Type", kind)
	if text := s.do("GET", "/v1/collections/c", nil); !strings.Contains(string(text.body), "longer than 4194304 bytes") {
		t.Errorf("a later row: %s", text.body)
	}
	id := `{"id":"` + strings.Repeat("a", 1025) + `","v":[1,2]}`
	p := s.do("PUT", "/v1/collections/d?metric=ip&wait=true", []byte(id), "Content-Type", kind).problem(400, "over-limit")
	if !strings.Contains(p.Detail, "id of 1025 bytes, at most 1024 (the service sets the limit)") {
		t.Error(p.Detail)
	}
}

// TestListsFitMemory: vectors and ids in JSON are refused once collections cannot have them.
func TestListsFitMemory(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Memory = 1 << 16 })
	row := "[" + strings.Repeat("1,", 65536) + "1]"
	p := s.do("PUT", "/v1/collections/a?metric=ip", `{"source":{"vectors":[`+row+`]}}`).problem(507, "memory-budget")
	if p.Field != fieldVectors || p.Index == nil || *p.Index != 0 || !strings.Contains(p.Detail, "more than 65536 values") {
		t.Errorf("%+v", p)
	}
	ids := "[" + strings.Repeat("1,", 65536) + "1]"
	p = s.do("PUT", "/v1/collections/a?metric=ip", `{"source":{"ids":`+ids+`,"vectors":[[1]]}}`).problem(400, "over-limit")
	if !strings.Contains(p.Detail, "more than 65536 elements") {
		t.Errorf("%+v", p)
	}
}

// TestLongQuery: a query of too many values is counted, not kept.
func TestLongQuery(t *testing.T) {
	s := start(t, nil)
	s.fill()
	p := s.do("POST", searchFilms, `{"queries":[[`+strings.Repeat("1,", 1<<16)+`1]]}`).problem(400, "wrong-dimension")
	if !strings.Contains(p.Detail, "query 0 has 65537 values") {
		t.Errorf("%+v", p)
	}
	p = s.do("POST", searchFilms, `{"queries":[[`+strings.Repeat("1,", dim)+`nan]]}`).problem(400, "not-finite")
	if p.Index == nil || *p.Index != 0 {
		t.Errorf("%+v", p)
	}
}

package wire

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"

	"thresher/service/problem"
)

// bounded runs decode and fails if it allocates more than a small multiple of the body, or if
// its error is not a problem that a client can cause.
func bounded(t *testing.T, body int, floor uint64, decode func() error) {
	t.Helper()
	before := allocated()
	err := decode()
	if used := allocated() - before; used > floor+64*uint64(body) {
		t.Fatalf("%d bytes of memory for %d bytes of body", used, body)
	}
	if p := problem.Of(err); err != nil && (p.Kind.Status() >= 500 || p.Detail == "") {
		t.Fatalf("%v is status %d", err, p.Kind.Status())
	}
}

// sound checks the invariants of a decoded Search.
func sound(t *testing.T, s *Search, dim int) {
	t.Helper()
	if s.M < 1 || s.Dim != dim || len(s.Queries) != s.M*dim || s.K < 1 && s.MinScore == nil || s.Delta < 0 || s.Delta >= 1 || s.Deadline < 0 {
		t.Fatalf("%+v", s)
	}
	if s.Goals != nil && len(s.Goals) != s.M {
		t.Fatalf("%d goals of %d queries", len(s.Goals), s.M)
	}
	for j, g := range s.Goals {
		if g.K < 1 && g.MinScore == nil && s.MinScore == nil {
			t.Fatalf("goal %d: %+v", j, g)
		}
	}
	for i, v := range s.Queries {
		if v-v != 0 {
			t.Fatalf("value %d is %v", i, v)
		}
	}
}

// FuzzDecodeSearch also compares with encoding/json, which must accept everything that the
// decoder accepts.
func FuzzDecodeSearch(f *testing.F) {
	for _, s := range []string{
		`{"queries":[[1,-2.5,0.1],[4,5,6]],"k":7,"delta":0.05}`,
		`{"queries":[[1,2,3]],"allow":[3,-1],"deny":["a","é"],"include":["rounds","certificate"],"method":"certain","plan":"64,rescore"}`,
		`{"queries":[[1e-45,3.4028236e38,16777217]],"min_score":-0.5,"timeout_ms":0.25,"cut_k":true,"relative":false,"epsilon":1e-9}`,
		`{"queries":[[1,2,3],[4,5,6]],"k":3,"goals":[{"k":2,"min_score":-1,"max_score":2.5,"exclude":[3,4],"candidates":["a"]},{}]}`,
		`{"queries":[[1,2,3]],"goals":[{"exclude":[],"exclude":[]}]}`, `{"goals":[{},{},{}]}`, `{"queries":[[1,2,NaN]]}`, `{"queries":[1,2,3]}`, `{"k":1e9}`, `{"queries":[[[[[[`, `{"\u0071ueries":[[1,2,3]],"k":9223372036854775808}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, l := range []Limits{{Queries: 1 << 16}, {Queries: 2, K: 20, Listed: 3}} {
			bounded(t, len(body), 1<<20, func() error {
				s, err := DecodeSearch(body, dim, l)
				if err != nil {
					return err
				}
				sound(t, s, dim)
				var other struct{ Queries [][]float32 }
				if err := json.Unmarshal(body, &other); err != nil {
					t.Fatalf("%q is accepted; encoding/json says %v", body, err)
				}
				for i, row := range other.Queries {
					for j, v := range row {
						if s.Queries[i*dim+j] != v {
							t.Fatalf("query %d, coordinate %d of %q is %v, want %v", i, j, body, s.Queries[i*dim+j], v)
						}
					}
				}
				return nil
			})
		}
	})
}

func FuzzDecodeSearchNPY(f *testing.F) {
	good := npyOf(f, 2, 3, 1, 2, 3, 4, 5, 6)
	f.Add(good, "k=7&delta=0.05&include=rounds,certificate")
	f.Add(good[:len(good)-3], "allow=1,2&deny=a")
	f.Add(append(npyHead("<f8", "(3,)"), make([]byte, 24)...), "method=exact&cut_k=true")
	f.Add(append(npyHead(">f2", "(1000000000, 3)"), make([]byte, 12)...), "timeout_ms=1&min_score=0")
	f.Add(good, `goals=[{"k":1},{"candidates":[1,2]}]`)
	f.Add(append(npyHead("|i1", "(9223372036854775807, 3)"), 1, 2, 3), "k=")
	f.Fuzz(func(t *testing.T, body []byte, query string) {
		options, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var copied, shared *Search
		var refused, refusedToo error
		bounded(t, len(body)+len(query), 4<<20, func() error {
			if copied, refused = decodeNPY(body, options, dim, Limits{}); refused == nil {
				sound(t, copied, dim)
			}
			return refused
		})
		bounded(t, len(body)+len(query), 4<<20, func() error {
			shared, refusedToo = DecodeSearchNPY(body, options, dim, Limits{})
			return refusedToo
		})
		if !reflect.DeepEqual(copied, shared) || (refused == nil) != (refusedToo == nil) {
			t.Fatalf("%+v, %v shared; %+v, %v copied", shared, refusedToo, copied, refused)
		}
	})
}

func FuzzDecodeLine(f *testing.F) {
	for _, s := range []string{
		`{"custom_id":"a","method":"POST","url":"/v1/collections/m/search","body":{"queries":[[1,2]],"k":3}}`,
		`{"body":{"a":[{"b":"\u00e9}"}]},"custom_id":"\ud83d\ude00"}`, `{"custom_id":7}`, `{"body":{`, "[]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		bounded(t, len(line), 1<<20, func() error {
			l, err := DecodeLine(line)
			if err == nil && (l.CustomID == "" || l.Method != "POST" || l.URL == "" || !json.Valid(l.Body) || l.Body[0] != '{') {
				t.Fatalf("%+v", l)
			}
			return err
		})
	})
}

func FuzzDecodeStated(f *testing.F) {
	for _, s := range []string{
		`{"queries":[[1,2,3],[4,5,6]],"answers":[[1,2],{"ids":[3],"scores":[0.5]}],"k":1,"include":["rounds"]}`,
		`{"answers":[["a","b"],[]],"queries":[[1,2,3],[4,5,6]],"method":"exact"}`,
		`{"queries":[[1,2,3]],"answers":[{"scores":[1],"ids":["\u00e9"]}]}`, `{"queries":[[1,2,3]],"answers":[{"ids":[1],"ids":[2]}]}`, `{"answers":[[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, l := range []Limits{{Queries: 1 << 16}, {Queries: 2, K: 2, Listed: 3}} {
			bounded(t, len(body), 1<<20, func() error {
				s, err := DecodeStated(body, dim, l, nil, nil)
				if err != nil {
					return err
				}
				sound(t, s.Search, dim)
				if len(s.Answers) != s.M || s.K < 1 || l.Listed > 0 && s.Listed() > l.Listed || s.Method == "" {
					t.Fatalf("%+v", s)
				}
				for j, a := range s.Answers {
					if a.Scores != nil && len(a.Scores) != a.IDs.Len() {
						t.Fatalf("answer %d: %+v", j, a)
					}
				}
				return nil
			})
		}
	})
}

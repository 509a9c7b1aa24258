package service

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorTable sends invalid requests of every kind: each gets its status, kind, field,
// index and limit, and none is an internal error.
func TestErrorTable(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.npy"), npy(gaussian(1, 4*dim), dim), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.npy"), filepath.Join(root, "link.npy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "folder")); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) {
		o.Roots = []string{root}
		o.Limits = Limits{Body: 1 << 16, Queries: 4, K: 200, Collections: 3, Upload: 1 << 20, Memory: 1 << 20}
	})
	s.fill()
	s.do("PUT", "/v1/collections/second?metric=ip&wait", npy(gaussian(1, 4*dim), dim), "Content-Type", npyType).want(201)
	const films, search = "/v1/collections/films", "/v1/collections/films/search"
	ones := "[" + strings.Repeat("1,", dim-1) + "1]"
	queries := func(extra string) string { return `{"queries":[` + ones + `]` + extra + `}` }
	none := -1
	type refusal struct {
		name, method, path string
		body               any
		kind               string // Content-Type, JSON for text
		status             int
		problem, field     string
		index              int
		limit              string // as printed; "" is not checked
	}
	huge := npy(nil, 0+dim)
	huge = []byte(strings.Replace(string(huge), "(0, 8)", "(1000000000, 8)", 1))
	for _, c := range []refusal{
		{"dimension", "POST", search, `{"queries":[` + ones + `,[1,2,3]]}`, "", 400, "wrong-dimension", "queries", 1, "8"},
		{"dimension of npy", "POST", search, npy(gaussian(1, 6), 3), npyType, 400, "wrong-dimension", "queries", none, "8"},
		{"a number beyond float32", "POST", search, strings.Replace(queries(""), "1,", "1e300,", 1), "", 400, "not-finite", "queries", 0, ""},
		{"NaN in JSON", "POST", search, strings.Replace(queries(""), "1,", "NaN,", 1), "", 400, "not-finite", "queries", 0, ""},
		{"k of 0", "POST", search, queries(`,"k":0`), "", 400, "invalid-value", "k", none, ""},
		{"negative k", "POST", search, queries(`,"k":-3`), "", 400, "invalid-value", "k", none, ""},
		{"fractional k", "POST", search, queries(`,"k":1.5`), "", 400, "invalid-value", "k", none, ""},
		{"k above the limit", "POST", search, queries(`,"k":201`), "", 400, "over-limit", "k", none, "200"},
		{"k of a billion", "POST", search, queries(`,"k":1000000000`), "", 400, "over-limit", "k", none, "200"},
		{"k above n", "POST", "/v1/collections/second/search", queries(`,"k":5`), "", 400, "over-limit", "k", none, "4"},
		{"k is a text", "POST", search, queries(`,"k":"many"`), "", 400, "invalid-value", "k", none, ""},
		{"delta of 0", "POST", search, queries(`,"delta":0`), "", 400, "invalid-value", "delta", none, ""},
		{"delta of 1", "POST", search, queries(`,"delta":1`), "", 400, "invalid-value", "delta", none, ""},
		{"negative epsilon", "POST", search, queries(`,"epsilon":-1`), "", 400, "invalid-value", "epsilon", none, ""},
		{"method", "POST", search, queries(`,"method":"faiss"`), "", 400, "unknown-method", "method", none, ""},
		{"method of another basis", "POST", search, queries(`,"method":"strict"`), "", 400, "invalid-value", "method", none, ""},
		{"plan", "POST", search, queries(`,"plan":"sideways"`), "", 400, "invalid-value", "plan", none, ""},
		{"no queries", "POST", search, `{"queries":[]}`, "", 400, "no-queries", "queries", none, ""},
		{"no member queries", "POST", search, `{"k":1}`, "", 400, "no-queries", "queries", none, ""},
		{"npy of no rows", "POST", search, npy(nil, dim), npyType, 400, "no-queries", "", none, ""},
		{"too many queries", "POST", search, `{"queries":[` + strings.Repeat(ones+",", 4) + ones + `]}`, "", 400, "over-limit", "queries", none, "4"},
		{"npy of too many queries", "POST", search, npy(gaussian(1, 5*dim), dim), npyType, 400, "over-limit", "queries", none, "4"},
		{"npy that promises a billion", "POST", search, huge, npyType, 400, "over-limit", "queries", none, "4"},
		{"field", "POST", search, queries(`,"topk":3`), "", 400, "unknown-field", "topk", none, ""},
		{"parameter", "POST", search + "?topk=3", npy(gaussian(1, dim), dim), npyType, 400, "unknown-field", "topk", none, ""},
		{"parameter of another path", "GET", "/v1/collections?limit=3", nil, "", 400, "unknown-field", "limit", none, ""},
		{"options beside JSON", "POST", search + "?k=3", queries(""), "", 400, "invalid-value", "k", none, ""},
		{"parameters that cannot be read", "GET", "/v1/files?limit=%zz", nil, "", 400, "malformed-body", "query", none, ""},
		{"k as a parameter", "POST", search + "?k=many", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "k", none, ""},
		{"id", "POST", search, queries(`,"allow":[1,999]`), "", 400, "unknown-id", "allow", 1, ""},
		{"id of another kind", "POST", search, queries(`,"deny":["a"]`), "", 400, "unknown-id", "deny", 0, "int"},
		{"not JSON", "POST", search, `{"queries":[[1,`, "", 400, "malformed-body", "", none, ""},
		{"garbage", "POST", search, "\x00\xff\xfegarbage", "", 400, "malformed-body", "", none, ""},
		{"an empty body", "POST", search, "", "", 400, "malformed-body", "", none, ""},
		{"null", "POST", "/v2/repository/index", ` null `, "", 400, "malformed-body", "", none, ""},
		{"a list", "POST", search, `[1,2]`, "", 400, "malformed-body", "", none, ""},
		{"garbage npy", "POST", search, []byte("\x93NUMPY garbage"), npyType, 400, "malformed-body", "", none, ""},
		{"half of an npy", "POST", search, npy(gaussian(1, dim), dim)[:140], npyType, 400, "malformed-body", "", none, ""},
		{"npy of text", "POST", search, []byte(strings.Replace(string(npy(gaussian(1, dim), dim)), "<f4", "<U4", 1)), npyType, 400, "malformed-body", "", none, ""},
		{"body too large", "POST", search, strings.Repeat(" ", 1<<16+1), "", 413, "body-too-large", "", none, "65536"},
		{"media type", "POST", search, []byte("1 2 3"), "text/csv", 415, "unsupported-media", "Content-Type", none, ""},
		{"no media type", "POST", search, []byte("1 2 3"), "", 415, "unsupported-media", "Content-Type", none, ""},
		{"collection", "POST", "/v1/collections/none/search", queries(""), "", 404, "unknown-collection", "", none, ""},
		{"collection of rows", "POST", "/v1/collections/none/rows", npy(gaussian(1, dim), dim), npyType, 404, "unknown-collection", "", none, ""},
		{"rows of another dimension", "POST", films + "/rows?wait", npy(gaussian(1, 6), 3), npyType, 400, "wrong-dimension", "", none, ""},
		{"row", "GET", films + "/rows/999", nil, "", 404, "unknown-row", "id", 0, ""},
		{"row with a leading zero", "GET", films + "/rows/01", nil, "", 404, "unknown-row", "id", none, ""},
		{"row with a sign", "GET", films + "/rows/+1", nil, "", 404, "unknown-row", "id", none, ""},
		{"row below zero", "GET", films + "/rows/-0", nil, "", 404, "unknown-row", "id", none, ""},
		{"id with a leading zero", "POST", search + "?deny=01", npy(gaussian(1, dim), dim), npyType, 400, "unknown-id", "deny", 0, ""},
		{"ids of both kinds", "DELETE", films + "/rows", `{"ids":[1,"a"]}`, "", 400, "invalid-value", "ids", 1, ""},
		{"ids that are none", "DELETE", films + "/rows", `{"ids":[1,null]}`, "", 400, "invalid-value", "ids", 1, ""},
		{"no ids", "DELETE", films + "/rows", `{"ids":[]}`, "", 400, "invalid-value", "ids", none, ""},
		{"ids that are no list", "DELETE", films + "/rows", `{"ids":7}`, "", 400, "invalid-value", "ids", none, ""},
		{"fractional ids", "DELETE", films + "/rows", `{"ids":[1.5]}`, "", 400, "invalid-value", "ids", 0, ""},
		{"name taken", "PUT", films, npy(gaussian(1, dim), dim), npyType, 409, "name-taken", "", none, ""},
		{"name", "PUT", "/v1/collections/a%2Fb?metric=ip", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "name", none, ""},
		{"name that climbs", "PUT", "/v1/collections/..%2F..%2Fetc?metric=ip", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "name", none, ""},
		{"metric", "PUT", "/v1/collections/new?metric=angular", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "metric", none, ""},
		{"no metric", "PUT", "/v1/collections/new", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "metric", none, ""},
		{"no metric of a body", "PUT", "/v1/collections/new", `{"source":{"vectors":[[1,2]]}}`, "", 400, "invalid-value", "metric", none, ""},
		{"two metrics", "PUT", "/v1/collections/new?metric=ip", `{"source":{"vectors":[[1,2]]},"metric":"ip"}`, "", 400, "invalid-value", "metric", none, ""},
		{"basis", "PUT", "/v1/collections/new?metric=ip&basis=b", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "basis", none, ""},
		{"seed", "PUT", "/v1/collections/new?metric=ip&seed=-1", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "seed", none, ""},
		{"kind of ids", "PUT", "/v1/collections/new?metric=ip&id_kind=uuid", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "", none, ""},
		{"truth", "PUT", "/v1/collections/new?metric=ip&wait=perhaps", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "wait", none, ""},
		{"given twice", "PUT", "/v1/collections/new?metric=ip&metric=l2", npy(gaussian(1, dim), dim), npyType, 400, "invalid-value", "metric", none, ""},
		{"in body and parameter", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"a.npy"},"metric":"l2"}`, "", 400, "invalid-value", "metric", none, ""},
		{"no source", "PUT", "/v1/collections/new?metric=ip", `{}`, "", 400, "invalid-value", "source", none, ""},
		{"two sources", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"a","file_id":"b"}}`, "", 400, "invalid-value", "source", none, ""},
		{"field of a source", "PUT", "/v1/collections/new?metric=ip", `{"source":{"url":"http://a"}}`, "", 400, "unknown-field", "url", none, ""},
		{"source of a file that is not", "PUT", "/v1/collections/new?metric=ip", `{"source":{"file_id":"file-0"}}`, "", 404, "unknown-file", "", none, ""},
		{"empty upload", "PUT", "/v1/collections/new?metric=ip&wait", []byte{}, npyType, 400, "malformed-body", "", none, ""},
		{"upload of garbage", "PUT", "/v1/collections/new?metric=ip&wait", []byte("garbage"), npyType, 400, "malformed-body", "", none, ""},
		{"upload too large", "PUT", "/v1/collections/new?metric=ip", make([]byte, 1<<20+1), npyType, 413, "body-too-large", "", none, "1.048576e+06"},
		{"upload of no rows", "PUT", "/v1/collections/new?metric=ip&wait", npy(nil, dim), npyType, 400, "", "", none, ""},
		{"upload that promises more than it has", "PUT", "/v1/collections/new?metric=ip", huge, npyType, 400, "malformed-body", "", none, ""},
		{"upload beyond memory", "PUT", "/v1/collections/new?metric=ip", npy(make([]float32, 30_000*dim), dim), npyType, 507, "memory-budget", "", none, ""},
		{"upload of NaN", "PUT", "/v1/collections/new?metric=ip&wait", []byte("[1,2]\n[3,1e99]\n"), "application/x-ndjson", 400, "", "", none, ""},
		{"path that climbs", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"../` + filepath.Base(outside) + `/secret.npy"}}`, "", 400, "", "", none, ""},
		{"absolute path", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"` + outside + `/secret.npy"}}`, "", 400, "", "", none, ""},
		{"link out", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"link.npy"}}`, "", 400, "", "", none, ""},
		{"folder link out", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"folder/secret.npy"}}`, "", 400, "", "", none, ""},
		{"path that is not", "PUT", "/v1/collections/new?metric=ip", `{"source":{"path":"none.npy"}}`, "", 400, "", "", none, ""},
		{"file", "GET", "/v1/files/file-0", nil, "", 404, "unknown-file", "", none, ""},
		{"file that climbs", "GET", "/v1/files/..%2F..%2Fmeta.db/content", nil, "", 404, "unknown-file", "", none, ""},
		{"page of files", "GET", "/v1/files?limit=0", nil, "", 400, "invalid-value", "limit", none, "[1 1000]"},
		{"no order of files", "GET", "/v1/files?order=", nil, "", 400, "invalid-value", "order", none, ""},
		{"timeout of next to nothing", "POST", search, queries(`,"timeout_ms":5e-324`), "", 400, "invalid-value", "timeout_ms", none, ""},
		{"order of files", "GET", "/v1/files?order=asc", nil, "", 400, "invalid-value", "order", none, ""},
		{"batch", "GET", "/v1/batches/batch-0", nil, "", 404, "unknown-batch", "", none, ""},
		{"cancelling no batch", "POST", "/v1/batches/batch-0/cancel", nil, "", 404, "unknown-batch", "", none, ""},
		{"deleting no batch", "DELETE", "/v1/batches/batch-0", nil, "", 404, "unknown-batch", "", none, ""},
		{"page of batches", "GET", "/v1/batches?limit=101", nil, "", 400, "invalid-value", "limit", none, "[1 100]"},
		{"batch of nothing", "POST", "/v1/batches", `{}`, "", 400, "invalid-value", "input_file_id", none, ""},
		{"batch of no file", "POST", "/v1/batches", `{"input_file_id":"file-0","endpoint":"/v1/collections/films/search"}`, "", 404, "unknown-file", "", none, ""},
		{"endpoint of a batch", "POST", "/v1/batches", `{"input_file_id":"file-0","endpoint":"/v1/embeddings"}`, "", 400, "invalid-value", "endpoint", none, ""},
		{"field of a batch", "POST", "/v1/batches", `{"model":"x"}`, "", 400, "unknown-field", "model", none, ""},
		{"media of a batch", "POST", "/v1/batches", []byte("{}"), "text/plain", 415, "unsupported-media", "Content-Type", none, ""},
		{"model", "POST", "/v2/models/none/infer", `{}`, "", 404, "unknown-collection", "", none, ""},
		{"version", "GET", "/v2/models/films/versions/9", nil, "", 404, "unknown-collection", "", none, ""},
		{"version with a leading zero", "GET", "/v2/models/films/versions/01", nil, "", 404, "unknown-collection", "version", none, ""},
		{"version that is no number", "GET", "/v2/models/films/versions/latest", nil, "", 404, "unknown-collection", "version", none, ""},
		{"inference without inputs", "POST", "/v2/models/films/infer", `{"inputs":[]}`, "", 400, "", "", none, ""},
		{"media of an inference", "POST", "/v2/models/films/infer", []byte("a,b"), "text/csv", 415, "unsupported-media", "Content-Type", none, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.in(t)
			h := []string{}
			if c.kind != "" {
				h = []string{"Content-Type", c.kind}
			}
			a := s.do(c.method, c.path, c.body, h...)
			if a.status != c.status {
				t.Fatalf("status %d, want %d: %.400s", a.status, c.status, a.body)
			}
			var p refused
			a.into(&p)
			if c.problem != "" {
				p = a.problem(c.status, c.problem)
			}
			if p.Detail == "" || strings.Contains(p.Detail, root) || strings.Contains(p.Detail, "goroutine") {
				t.Errorf("detail %q", p.Detail)
			}
			if c.field != "" && p.Field != c.field {
				t.Errorf("field %q, want %q: %s", p.Field, c.field, a.body)
			}
			if c.index >= 0 && (p.Index == nil || *p.Index != c.index) {
				t.Errorf("index %v, want %d: %s", p.Index, c.index, a.body)
			}
			if got := fmt.Sprint(p.Limit); c.limit != "" && got != c.limit {
				t.Errorf("limit %s, want %s: %s", got, c.limit, a.body)
			}
			said, plain := p.Error.(string)
			if !plain {
				e := p.Error.(map[string]any)
				said, _ = e["message"].(string)
				if field, _ := e["param"].(string); e["code"] != strings.TrimPrefix(p.Type, "/problems/") || field != p.Field {
					t.Errorf("the member error is %v", p.Error)
				}
			}
			if plain != strings.HasPrefix(c.path, "/v2") || said != p.Detail {
				t.Errorf("the member error is %v", p.Error)
			}
		})
	}
	s.do("POST", search, queries(""), "Accept", "text/html").problem(406, "not-acceptable")
	s.do("POST", search, []byte("x"), "Content-Type", jsonType, "Content-Encoding", "br").problem(415, "unsupported-media")
	for _, key := range []string{strings.Repeat("k", 256), "a\u00e9"} {
		if p := s.do("PUT", "/v1/collections/new?metric=ip", npy(gaussian(1, dim), dim), "Content-Type", npyType, "Idempotency-Key", key).problem(400, "invalid-value"); p.Field != "Idempotency-Key" {
			t.Errorf("%+v", p)
		}
	}
	s.do("DELETE", "/v1/collections/new", nil).want(http.StatusNoContent) // a collection that failed to build can be viewed and deleted
	s.do("PUT", "/v1/collections/third?metric=ip&wait", npy(gaussian(1, 4*dim), dim), "Content-Type", npyType).want(http.StatusCreated)
	s.do("PUT", "/v1/collections/fourth?metric=ip&wait", npy(gaussian(1, 4*dim), dim), "Content-Type", npyType).problem(400, "over-limit")
	if text := string(s.do("GET", "/metrics", nil).body); !strings.Contains(text, `{reason="internal"} 0`) {
		t.Error("the server counts failures of its own")
	}
}

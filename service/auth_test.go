package service

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"thresher/service/fair"
	"thresher/service/oip/inferencepb"
)

// guarded sets the options of a server with tokens of each scope.
func guarded(o *Options) {
	o.Tokens = []Token{
		{Name: "reader", Hash: sha256.Sum256([]byte("r-secret"))},
		{Name: "writer", Write: true, Hash: sha256.Sum256([]byte("w-secret"))},
		{Name: "another", Write: true, Hash: sha256.Sum256([]byte("a-secret"))},
		{Name: "scraper", Metrics: true, Hash: sha256.Sum256([]byte("m-secret"))},
	}
}

// TestWhoMay sends every kind of token to every route of the table.
func TestWhoMay(t *testing.T) {
	s := start(t, guarded)
	for _, rt := range s.routes() {
		path := strings.NewReplacer("{name}", "none", "{id}", "none", "{kind}", "internal", "{version}", "1", "{$}", "", "{file}", "none").Replace(rt.pattern)
		for _, c := range []struct {
			header string
			may    scope // the highest permitted scope
		}{{"", open}, {"Bearer wrong", open}, {"Bearer ", open}, {"Basic r-secret", open}, {"r-secret", open}, {"Bearer r-secret", read}, {"bearer r-secret", read}, {"Bearer w-secret", write}, {"Bearer m-secret", someMetrics}} {
			h := []string{}
			if c.header != "" {
				h = []string{"Authorization", c.header}
			}
			a := s.do(rt.method, path, nil, h...)
			name := fmt.Sprintf("%s %s with %q", rt.method, path, c.header)
			switch {
			case c.may >= rt.scope:
				if a.status == 401 || a.status == 403 {
					t.Errorf("%s: %d", name, a.status)
				}
			case c.may == open:
				if p := a.problem(401, "unauthorized"); p.Field != "Authorization" || !strings.HasPrefix(a.header.Get("Www-Authenticate"), "Bearer") {
					t.Errorf("%s: %+v", name, p)
				}
			default:
				a.problem(403, "forbidden")
			}
		}
	}
	if text := s.log.String(); strings.Contains(text, "secret") || !strings.Contains(text, `"token":"reader"`) {
		t.Error("the log has secrets, or no names of tokens")
	}
}

// TestOnlyTheTokenItself: neither a part of a token nor its hash, nor a token elsewhere than in
// the header, permits anything.
func TestOnlyTheTokenItself(t *testing.T) {
	s := start(t, guarded)
	s.token = "w-secret"
	s.fill()
	s.token = ""
	for _, header := range []string{"Bearer wrong w-secret", "Bearer w-secret w-secret", "Basic w-secret", "Bearer", "w-secret", "Bearer w-secre", "Bearer w-secrets",
		fmt.Sprintf("Bearer %x", sha256.Sum256([]byte("w-secret")))} {
		s.do("DELETE", "/v1/collections/films", nil, "Authorization", header).problem(401, "unauthorized")
	}
	s.do("DELETE", "/v1/collections/films?token=w-secret&access_token=w-secret", nil).problem(401, "unauthorized")
	s.do("DELETE", "/v1/collections/films", nil, bearer("m-secret")...).problem(403, "forbidden")
	s.do("GET", "/v1/collections/films", nil, bearer("r-secret")...).want(200)
}

// TestScopesAreAsDescribed: routes that change nothing need only a token to read, but for the one that
// shows paths on the server.
func TestScopesAreAsDescribed(t *testing.T) {
	reading := []string{"POST /v1/collections/{name}/search", "POST /v1/collections/{name}/recall", "POST /v1/collections/{name}/certify", "POST /v1/collections/{name}/pursuit", "POST /v2/models/{name}/infer", "POST /v2/models/{name}/versions/{version}/infer", "POST /v2/repository/index"}
	for _, rt := range (&Server{}).routes() {
		name := rt.method + " " + rt.pattern
		if changes := rt.method != "GET" && !slices.Contains(reading, name) || name == "GET /v1/backup"; changes != (rt.scope == write) {
			t.Errorf("%s: scope %d", name, rt.scope)
		}
	}
}

// TestWhatMetricsShow: readers, and whoever reads open metrics, do not see what certificates
// withhold from readers; tokens for metrics and for writing do, and everybody does without tokens.
func TestWhatMetricsShow(t *testing.T) {
	hidden := []string{"thresher_pulls_total", "thresher_dense_pulls_total", "thresher_rescored_rows_total", "thresher_round_survivor_ratio", "go_memstats_"}
	shows := func(s *site, secret string, all bool) {
		t.Helper()
		h := []string{}
		if secret != "" {
			h = bearer(secret)
		}
		text := string(s.do("GET", "/metrics", nil, h...).want(200).body)
		if !strings.Contains(text, "thresher_queries_total{") || !strings.Contains(text, "thresher_search_seconds_bucket{") {
			t.Errorf("%s: the rest is not shown", secret)
		}
		for _, name := range hidden {
			if strings.Contains(text, "\n"+name) != all {
				t.Errorf("%q sees %s: %v, want %v", secret, name, !all, all)
			}
		}
	}
	for _, open := range []bool{false, true} {
		s := start(t, func(o *Options) { guarded(o); o.OpenMetrics = open })
		s.token = "w-secret"
		s.fill()
		s.do("POST", searchFilms, oneQuery("")).want(200)
		s.token = ""
		shows(s, "r-secret", false)
		shows(s, "m-secret", true)
		shows(s, "w-secret", true)
		if !open {
			s.do("GET", "/metrics", nil).problem(401, "unauthorized")
			continue
		}
		shows(s, "", false)
		shows(s, "wrong", false)
		s.do("GET", "/v1/version", nil).problem(401, "unauthorized")
	}
	s := start(t, nil)
	s.fill()
	s.do("POST", searchFilms, oneQuery("")).want(200)
	shows(s, "", true)
}

// TestWrongTokensAreSlowed: wrong tokens of an address are counted, and after many of them it
// has to wait; tokens that were used from there before do not.
func TestWrongTokensAreSlowed(t *testing.T) {
	var seconds atomic.Int64
	s := start(t, func(o *Options) {
		guarded(o)
		o.guesses = &fair.GuessesOptions{Rate: wrongRate, Burst: 5, Clients: 10, Uses: 10, Now: func() time.Time { return time.Unix(seconds.Load(), 0) }}
	})
	get := func(secret string) *answer { return s.do("GET", "/v1/version", nil, bearer(secret)...) }
	get("r-secret").want(200)
	for range 5 {
		get("wrong").problem(401, "unauthorized")
	}
	for _, secret := range []string{"wrong", "w-secret"} { // a right guess looks like a wrong one
		a := get(secret)
		if p := a.problem(429, "rate-limited"); p.Field != "Authorization" || a.header.Get("Retry-After") != "1" {
			t.Errorf("%+v %v", p, a.header)
		}
	}
	get("r-secret").want(200)
	s.do("GET", "/v1/version", nil).problem(401, "unauthorized") // no token is no guess
	s.do("GET", "/healthz", nil, bearer("wrong")...).want(200)
	s.token = "w-secret"
	if _, err := s.calls().ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("over gRPC: %v", err)
	}
	s.token = ""
	if text := string(s.do("GET", "/metrics", nil, bearer("r-secret")...).body); !strings.Contains(text, `thresher_wrong_tokens_total{outcome="refused"} 5`) || !strings.Contains(text, `thresher_wrong_tokens_total{outcome="unchecked"} 4`) {
		t.Error("wrong tokens are not counted")
	}
	seconds.Add(1)
	get("w-secret").want(200)
	s.stopAll()
	if text := s.log.String(); strings.Count(text, "many wrong tokens") != 1 || strings.Contains(text, "secret") {
		t.Error("the log does not say once that an address is slowed, or has secrets")
	}
}

// TestHosts: a page that reaches this server under a name of its own (DNS rebinding) is
// refused, unless tokens protect the server anyway.
func TestHosts(t *testing.T) {
	s := start(t, nil)
	for host, ok := range map[string]bool{
		"": true, "localhost": true, "localhost:8080": true, "a.localhost:1": true, "127.0.0.1": true, "[::1]:80": true, "10.1.2.3:80": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
	} {
		a := s.do("GET", "/healthz", nil, "Host", host)
		if ok && a.status != 200 {
			t.Errorf("host %q: %d", host, a.status)
		}
		if !ok {
			a.problem(403, "forbidden")
		}
	}
	any := start(t, func(o *Options) { o.AnyHost = true })
	any.do("GET", "/healthz", nil, "Host", "thresher.example").want(200)
	tokens := start(t, guarded)
	tokens.do("GET", "/healthz", nil, "Host", "thresher.example").want(200)
}

func TestOrigins(t *testing.T) {
	const friend, stranger = "https://friend.example", "https://stranger.example"
	closed := start(t, nil)
	a := closed.do("GET", "/v1/collections", nil, "Origin", friend, "Sec-Fetch-Site", "cross-site").want(200)
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin may read the answer")
	}
	// A form that a page can send without a preflight request.
	body, kind := form(t, [2]string{"file:a", "x"})
	closed.do("POST", "/v1/files", body, "Content-Type", kind, "Origin", friend, "Sec-Fetch-Site", "cross-site").problem(403, "forbidden")
	closed.do("OPTIONS", "/v1/files", nil, "Origin", friend, "Access-Control-Request-Method", "POST").want(204)
	if h := closed.do("OPTIONS", "/v1/collections", nil, "Origin", friend, "Access-Control-Request-Method", "GET").header; h.Get("Access-Control-Allow-Origin") != "" {
		t.Error("preflight allows a stranger")
	}

	s := start(t, func(o *Options) { guarded(o); o.Origins = []string{friend} })
	p := s.do("OPTIONS", "/v1/collections/films", nil, "Origin", friend, "Access-Control-Request-Method", "PUT").want(204)
	if p.header.Get("Access-Control-Allow-Origin") != friend || !strings.Contains(p.header.Get("Access-Control-Allow-Methods"), "PUT") ||
		!strings.Contains(p.header.Get("Access-Control-Allow-Headers"), "Authorization") || p.header.Get("Vary") != "Origin" {
		t.Errorf("%v", p.header)
	}
	got := s.do("GET", "/v1/collections", nil, "Origin", friend, "Authorization", "Bearer r-secret", "Sec-Fetch-Site", "cross-site").want(200)
	if got.header.Get("Access-Control-Allow-Origin") != friend || got.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v", got.header)
	}
	s.do("POST", "/v1/files", body, "Content-Type", kind, "Origin", stranger, "Sec-Fetch-Site", "cross-site", "Authorization", "Bearer w-secret").problem(403, "forbidden")
	s.do("POST", "/v1/files", body, "Content-Type", kind, "Origin", friend, "Sec-Fetch-Site", "cross-site", "Authorization", "Bearer w-secret").want(200)

	all := start(t, func(o *Options) { o.Origins = []string{"*"} })
	if h := all.do("GET", "/v1/collections", nil, "Origin", stranger).header; h.Get("Access-Control-Allow-Origin") != stranger {
		t.Errorf("%v", h)
	}
}

func TestMethods(t *testing.T) {
	s := start(t, nil)
	s.fill()
	p := s.do("PATCH", "/v1/collections/films", nil)
	p.problem(405, "method-not-allowed")
	if p.header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, PUT" {
		t.Errorf("Allow: %s", p.header.Get("Allow"))
	}
	if a := s.do("OPTIONS", "/v1/batches", nil).want(204); a.header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow: %s", a.header.Get("Allow"))
	}
	get := s.do("GET", "/v1/collections/films", nil).want(200)
	head := s.do("HEAD", "/v1/collections/films", nil).want(200)
	if len(head.body) != 0 || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
		t.Errorf("HEAD: %d bytes, %v", len(head.body), head.header)
	}
	s.do("GET", "/v1/collections/films/search", nil).problem(405, "method-not-allowed")
	for _, path := range []string{"/v1", "/v3", "/v1/collections/", "/v1/collections/a/b", "/v1/collections/films/search/x", "/problems/none"} {
		s.do("GET", path, nil).problem(404, "unknown-path")
	}
	s.do("GET", "/", nil).want(200)
	s.do("GET", "/web/icon.svg", nil).want(200)
	s.do("GET", "/web/none.js", nil).want(404)
}

package service

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// guarded sets the options of a server with tokens of each scope.
func guarded(o *Options) {
	o.Tokens = []Token{
		{Name: "reader", Hash: sha256.Sum256([]byte("r-secret"))},
		{Name: "writer", Write: true, Hash: sha256.Sum256([]byte("w-secret"))},
		{Name: "another", Write: true, Hash: sha256.Sum256([]byte("a-secret"))},
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
		}{{"", open}, {"Bearer wrong", open}, {"Bearer ", open}, {"Basic r-secret", open}, {"r-secret", open}, {"Bearer r-secret", read}, {"bearer r-secret", read}, {"Bearer w-secret", write}} {
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

// TestScopesAreAsDescribed: routes that change nothing need only a token to read, but for the one that
// shows paths on the server.
func TestScopesAreAsDescribed(t *testing.T) {
	reading := []string{"POST /v1/collections/{name}/search", "POST /v1/collections/{name}/recall", "POST /v1/collections/{name}/certify", "POST /v2/models/{name}/infer", "POST /v2/models/{name}/versions/{version}/infer", "POST /v2/repository/index"}
	for _, rt := range (&Server{}).routes() {
		name := rt.method + " " + rt.pattern
		if changes := rt.method != "GET" && !slices.Contains(reading, name) || name == "GET /v1/backup"; changes != (rt.scope == write) {
			t.Errorf("%s: scope %d", name, rt.scope)
		}
	}
}

func TestOpenMetrics(t *testing.T) {
	s := start(t, func(o *Options) { guarded(o); o.OpenMetrics = true })
	s.do("GET", "/metrics", nil).want(200)
	s.do("GET", "/v1/version", nil).problem(401, "unauthorized")
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

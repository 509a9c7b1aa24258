package service

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestClients: a client with a token is identified by it, from any address; others by their
// address, of IPv6 its network, and behind trusted proxies by the last address that is not a
// proxy's.
func TestClients(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, x := range []struct{ who, remote, forwarded, want string }{
		{"ci", "192.0.2.1:5", "", "token ci"},
		{"", "192.0.2.1:5", "", "address 192.0.2.1"},
		{"", "192.0.2.1:5", "198.51.100.7", "address 192.0.2.1"}, // anybody can send the header
		{"", "10.0.0.1:5", "", "address 10.0.0.1"},
		{"", "10.0.0.1:5", "198.51.100.7", "address 198.51.100.7"},
		{"", "10.0.0.1:5", "203.0.113.9, 198.51.100.7", "address 198.51.100.7"}, // the client may have sent the first
		{"", "10.0.0.1:5", "198.51.100.7, 10.2.3.4", "address 198.51.100.7"},
		{"", "10.0.0.1:5", "198.51.100.7, unknown", "address 10.0.0.1"},
		{"", "[2001:db8:1::5]:5", "2001:db8:aa:bb:1:2:3:4", "address 2001:db8:aa:bb::/64"},
		{"", "[2001:db8:2:3:4:5:6:7]:5", "", "address 2001:db8:2:3::/64"},
		{"", "[::ffff:192.0.2.1]:5", "", "address 192.0.2.1"},
		{"", "@", "", "address @"},
	} {
		s := &Server{o: Options{Proxies: proxies}}
		r := &http.Request{RemoteAddr: x.remote, Header: http.Header{}}
		if x.forwarded != "" {
			r.Header.Set("X-Forwarded-For", x.forwarded)
		}
		if got := s.clientOf(&exchange{who: x.who}, r); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
	}
}

// TestClientLimits: a client that exceeds its limits is told when to retry; others are not
// affected.
func TestClientLimits(t *testing.T) {
	s := start(t, func(o *Options) {
		guarded(o)
		o.Limits.ClientRate, o.Limits.ClientBurst, o.Limits.ClientSearches = 1e-3, 3, 1
	})
	s.token = "w-secret"
	s.fill()
	row := "[" + strings.Repeat("1,", dim-1) + "1]"
	two := `{"queries":[` + row + `,` + row + `],"method":"exact"}`
	s.do("POST", searchFilms, two).want(200)
	late := s.do("POST", searchFilms, two)
	wait, err := strconv.Atoi(late.header.Get("Retry-After"))
	if p := late.problem(429, "rate-limited"); p.Limit != 1e-3 || err != nil || wait > 1000 || wait < 1000-int(soon.Seconds()) { // less the time between them
		t.Errorf("%+v, Retry-After %s", p, late.header.Get("Retry-After"))
	}
	s.do("POST", searchFilms, oneQuery("")).want(200) // one query is left
	s.do("POST", searchFilms, oneQuery("")).problem(429, "rate-limited")
	s.do("POST", searchFilms, `{"queries":[`+strings.TrimSuffix(strings.Repeat(row+",", 4), ",")+`]}`).problem(429, "rate-limited")

	s.token = "r-secret"
	if p := s.do("POST", searchFilms, `{"queries":[`+strings.TrimSuffix(strings.Repeat(row+",", 4), ",")+`]}`).problem(400, "over-limit"); p.Limit != 3. {
		t.Errorf("more than there may ever be: %+v", p)
	}
	begun, release := s.held()
	defer release()
	first := s.later(oneQuery(""))
	<-begun
	again := s.do("POST", searchFilms, oneQuery(""))
	if p := again.problem(429, "rate-limited"); p.Limit != 1. || again.header.Get("Retry-After") != "1" {
		t.Errorf("%+v", p)
	}
	release()
	(<-first).want(200)
	s.do("POST", searchFilms, oneQuery("")).want(200)
}

// TestUnpermitted: a request without a token is asked for one, and no answer mentions tokens
// on a server without any.
func TestUnpermitted(t *testing.T) {
	s := start(t, guarded)
	body, kind := form(t, [2]string{"file:a", "x"})
	a := s.do("POST", "/v1/files", body, "Content-Type", kind, "Origin", "https://stranger.example", "Sec-Fetch-Site", "cross-site")
	if p := a.problem(401, "unauthorized"); !strings.Contains(p.Detail, "Authorization: Bearer") || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("%+v %v", p, a.header)
	}
	open := start(t, nil)
	p := open.do("PUT", "/v1/collections/a?metric=ip", `{"source":{"path":"/etc/passwd"}}`).problem(403, "forbidden")
	if strings.Contains(fmt.Sprint(p), "token") {
		t.Errorf("%+v speaks of a token", p)
	}
}

// TestLameDuck: a server that shuts down listens for some time and answers 503.
func TestLameDuck(t *testing.T) {
	over := make(chan struct{})
	s := start(t, func(o *Options) { o.lameDuck = over })
	s.shut()
	<-s.draining.Done()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]int{"/readyz": 503, "/v1/collections": 503, "/healthz": 200} {
		resp, err := c.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || want == 503 && (!resp.Close || resp.Header.Get("Retry-After") == "") {
			t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
	}
	close(over)
	for { // until it no longer listens
		resp, err := c.Get(s.url + "/healthz")
		if err != nil {
			break
		}
		resp.Body.Close()
		runtime.Gosched()
	}
	s.stopAll()
}

// TestSetTokens: tokens can be replaced, but not removed altogether.
func TestSetTokens(t *testing.T) {
	s := start(t, guarded)
	s.token = "r-secret"
	s.do("GET", "/v1/collections", nil).want(200)
	if err := s.SetTokens(nil); err == nil {
		t.Error("everybody is let in")
	}
	if err := s.SetTokens(s.tokens()[:1]); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, secret := range []string{"r-secret", "w-secret"} {
		s.token = secret
		if s.do("GET", "/v1/collections", nil).status == 200 {
			known++
		}
	}
	if known != 1 {
		t.Errorf("%d tokens are good, want 1", known)
	}
}

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"thresher/config"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/service/client"
)

// answering runs an HTTP server that answers with h.
func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// TestHealth: the exit code says whether a server is ready, or with --live whether it answers.
func TestHealth(t *testing.T) {
	loading := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			w.Write([]byte(`{"status":"ok"}`))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(`{"type":"/problems/not-ready","status":503,"detail":"collections are being loaded"}`))
	})
	silent := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ready := startService(t)
	c, err := client.New(ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	for c.Ready(t.Context()) != nil { // its folder is read in the background
		runtime.Gosched()
	}
	for name, x := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"ready":                 {[]string{"--server", ready}, cli.ExitOK, ready + " is ready\n", ""},
		"ready, in JSON":        {[]string{"--server", ready, "--json"}, cli.ExitOK, `{"status":"ready","backends":[`, ""},
		"alive":                 {[]string{"--server", ready, "--live"}, cli.ExitOK, ready + " is alive\n", ""},
		"loading":               {[]string{"--server", loading}, cli.ExitWrong, "", "collections are being loaded (503 not-ready)"},
		"loading, and alive":    {[]string{"--server", loading, "--live"}, cli.ExitOK, loading + " is alive\n", ""},
		"silent":                {[]string{"--server", silent, "--deadline", "50ms"}, cli.ExitWrong, "", "no answer within --deadline 50ms"},
		"silent, asked live":    {[]string{"--server", silent, "--live", "--deadline", "50ms"}, cli.ExitWrong, "", "no answer within --deadline 50ms"},
		"no time":               {[]string{"--server", ready, "--deadline", "0s"}, cli.ExitInput, "", "--deadline 0s is not above 0"},
		"no address":            {[]string{"--server", "127.0.0.1:1"}, cli.ExitInput, "", "127.0.0.1:1"},
		"any port":              {[]string{"--listen", "127.0.0.1:0"}, cli.ExitInput, "", "give the server's address by --server"},
		"an argument":           {[]string{"now"}, cli.ExitInput, "", `health: unexpected argument "now"`},
		"what --listen listens": {[]string{"--listen", strings.TrimPrefix(ready, "http://")}, cli.ExitOK, ready + " is ready\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := thresher(t, append([]string{"health", "--deadline", "1m"}, x.args...)...)
			r.WantCode(t, x.code)
			if !strings.Contains(r.Out, x.out) || (r.Out == "") != (x.out == "") || !strings.Contains(r.Err, x.err) || (r.Err == "") != (x.err == "") {
				t.Errorf("stdout %q, stderr %q; want %q, %q", r.Out, r.Err, x.out, x.err)
			}
		})
	}
}

// TestHealthOfNothing: a port at which connections are cut is not ready.
func TestHealthOfNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	r := thresher(t, "health", "--deadline", "1m", "--server", "http://"+l.Addr().String())
	l.Close()
	<-cut
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Err, "no answer from "+l.Addr().String()) {
		t.Errorf("stderr %q", r.Err)
	}
}

// TestHealthOfOwnServer: without --server the settings of serve say where the server is; its
// certificate is not verified there, but that of a --server is.
func TestHealthOfOwnServer(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	s := serve(t, filepath.Join(dir, "data"), "--tls-cert="+cert, "--tls-key="+key)
	settings := filepath.Join(dir, "settings.yaml")
	clitest.WriteFile(t, dir, "settings.yaml", []byte("listen: "+strings.TrimPrefix(s.url, "https://")+"\ntls:\n  cert: "+cert+"\n"))
	r := thresher(t, "health", "--deadline", "1m", "--config", settings, "--live")
	if r.WantCode(t, cli.ExitOK); r.Out != s.url+" is alive\n" {
		t.Errorf("stdout %q", r.Out)
	}
	r = thresher(t, "health", "--deadline", "1m", "--server", s.url, "--live")
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Err, "certificate") {
		t.Errorf("stderr %q", r.Err)
	}
	s.stop().WantCode(t, cli.ExitOK)
}

func TestOwnServer(t *testing.T) {
	for listen, want := range map[string]string{
		":80": "http://localhost:80", "0.0.0.0:81": "http://localhost:81", "[::]:82": "http://localhost:82",
		"127.0.0.1:83": "http://127.0.0.1:83", "[::1]:84": "http://[::1]:84", "search:85": "http://search:85",
	} {
		a := &app{App: &cli.App{Config: &config.Config{Server: config.Server{Listen: listen}}}}
		if got, err := a.ownServer(); err != nil || got != want {
			t.Errorf("listen %s: %q, %v; want %q", listen, got, err, want)
		}
	}
}

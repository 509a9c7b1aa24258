package choiceclient

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"thresher/choice/serve/choiceapi"
	"thresher/service/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h as a server and returns a client of it: calls are serialised, and none runs after settle returns.
func serve(t *testing.T, h http.HandlerFunc) (c *Client, settle func()) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h(w, r)
	}))
	transport := &http.Transport{}
	settle = func() {
		transport.CloseIdleConnections()
		server.Close()
	}
	t.Cleanup(settle)
	all, err := client.New(server.URL+"/under/", &client.Options{HTTP: &http.Client{Transport: transport}, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return Of(all), settle
}

// TestAddresses: each method calls one path by one method, whose segments are escaped, with a key where the call
// must not be repeated.
func TestAddresses(t *testing.T) {
	var got string
	var keyed bool
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, keyed = r.Method+" "+r.URL.EscapedPath(), r.Header.Get("Idempotency-Key") != ""
		if r.URL.RawQuery != "" {
			got += "?" + r.URL.RawQuery
		}
		io.WriteString(w, "{}")
	})
	ctx := context.Background()
	for want, call := range map[string]func() error{
		"POST /under/v1/tournaments":                       func() error { _, err := c.CreateTournament(ctx, choiceapi.TournamentSpec{}, ""); return err },
		"GET /under/v1/tournaments/t":                      func() error { _, err := c.Tournament(ctx, "t"); return err },
		"GET /under/v1/tournaments?limit=2":                func() error { _, err := c.Tournaments(ctx, "", 2); return err },
		"DELETE /under/v1/tournaments/t":                   func() error { return c.DeleteTournament(ctx, "t") },
		"POST /under/v1/tournaments/t%2F/next":             func() error { _, err := c.NextDuels(ctx, "t/", 1, ""); return err },
		"POST /under/v1/tournaments/t/undo":                func() error { _, err := c.UndoDuel(ctx, "t", 3, ""); return err },
		"POST /under/v1/tournaments/t/report":              func() error { _, err := c.ReportDuels(ctx, "t", nil, false); return err },
		"POST /under/v1/tournaments/t/report?lenient=true": func() error { _, err := c.ReportDuels(ctx, "t", nil, true); return err },
		"GET /under/v1/tournaments/t/judgments": func() error {
			lines, err := c.Judgments(ctx, "t")
			if err == nil {
				err = lines.Close()
			}
			return err
		},
		"GET /under/v1/version": func() error { _, err := c.Version(ctx); return err }, // as client.Client does
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got != want {
			t.Errorf("called %s, want %s", got, want)
		}
		once := map[string]bool{"POST /under/v1/tournaments": true, "POST /under/v1/tournaments/t%2F/next": true, "POST /under/v1/tournaments/t/undo": true}
		if keyed != once[want] {
			t.Errorf("%s: an Idempotency-Key %v", want, keyed)
		}
	}
}

package client

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

// TestHealth: a server that loads collections is alive and not ready, which is asked once if the client
// is told so.
func TestHealth(t *testing.T) {
	asked := 0
	c, _ := serve(t, Options{Attempts: 1}, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/healthz" {
			w.Write([]byte(`{"status":"ok"}`))
			return
		}
		refuse(w, http.StatusServiceUnavailable, `{"type":"/problems/not-ready","detail":"collections are being loaded"}`)
	})
	var p *Problem
	if _, err := c.Readiness(context.Background()); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.Detail != "collections are being loaded" {
		t.Errorf("ready: %v", err)
	}
	if err := c.Alive(context.Background()); err != nil {
		t.Errorf("alive: %v", err)
	}
	if asked != 2 {
		t.Errorf("asked %d times, want twice", asked)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// TestData truncates a server's database: check lists what is intact, repair rebuilds it, and the
// collection answers; a start does the same and says so.
func TestData(t *testing.T) {
	dir := t.TempDir()
	c := &http.Client{}
	s := serve(t, dir)
	put := request(t, "PUT", s.url+"/v1/collections/films?metric=ip&ids=id&wait=true", []byte(`{"id":"alien","vector":[1,0]}`+"\n"+`{"id":"ran","vector":[0,1]}`+"\n"))
	put.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := c.Do(put)
	if err != nil || resp.StatusCode != 201 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	for _, verb := range []string{"check", "repair"} {
		thresher(t, "data", verb, "--data="+dir).WantError(t, "in use by another server")
	}
	s.stop().WantCode(t, cli.ExitOK)
	r := thresher(t, "data", "check", "--all", "--data="+dir)
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, "whole    collection films: version 1, 2 rows of 2 columns") {
		t.Error(r.Out)
	}

	meta := filepath.Join(dir, "meta.db")
	if err := os.Truncate(meta, 10_000); err != nil {
		t.Fatal(err)
	}
	r = thresher(t, "data", "check", "--json", "--data="+dir)
	var report struct {
		Whole bool
		Items []struct{ Kind, Name, Verdict, Detail string }
	}
	if r.WantCode(t, cli.ExitWrong); json.Unmarshal([]byte(r.Out), &report) != nil || report.Whole || report.Items[0].Verdict != "damaged" || report.Items[1].Name != "films" || report.Items[1].Verdict != "unknown" {
		t.Error(r.Out)
	}
	r = thresher(t, "data", "repair", "--data="+dir)
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, "collection films added") || !strings.Contains(r.Out, "meta.db: moved to "+filepath.Join("lost+found", "meta.db")) {
		t.Error(r.Out)
	}
	if info, err := os.Stat(filepath.Join(dir, "lost+found", "meta.db")); err != nil || info.Size() != 10_000 {
		t.Error("the database is not kept as it was:", err)
	}
	thresher(t, "data", "check", "--data="+dir).WantCode(t, cli.ExitOK)

	s = serve(t, dir)
	s.ready(t)
	if got := okBody(t, c, request(t, "GET", s.url+"/v1/collections/films/rows/ran", nil)); !bytes.Contains(got, []byte(`"ran"`)) {
		t.Errorf("%s", got)
	}
	s.stop().WantCode(t, cli.ExitOK)
	if err := os.Truncate(meta, 10_000); err != nil {
		t.Fatal(err)
	}
	s = serve(t, dir)
	s.ready(t)
	for _, path := range []string{"/v1/collections/films/rows/ran", "/readyz"} {
		if got := okBody(t, c, request(t, "GET", s.url+path, nil)); !bytes.Contains(got, []byte(`"ran"`)) && !bytes.Contains(got, []byte(`"damaged":2`)) {
			t.Errorf("%s: %s", path, got)
		}
	}
	s.stop().WantCode(t, cli.ExitOK)
	if info, err := os.Stat(filepath.Join(dir, "lost+found", "meta.db.1")); err != nil || info.Size() != 10_000 {
		t.Error("the database is not kept as it was:", err)
	}
	thresher(t, "data", "repair", "--json", "--data="+dir).WantCode(t, cli.ExitOK)
	thresher(t, "data", "check", "--data="+filepath.Join(dir, "no")).WantError(t, "data check", "no such file")
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

// TestJobGoals: columns and uploaded lists say what each row of a job asks for; the files are
// deleted if the batch is refused.
func TestJobGoals(t *testing.T) {
	server := startService(t)
	films(t, server, "")
	t.Setenv(remote.ServerVariable, server)
	write := func(name, content string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	queries := write("q.csv", "x,y,z,w,want,least\n1,2,3,4,5,\n4,3,2,1,,-1000000\n-1,0,0,1,2,\n")
	seen := write("seen.jsonl", "[]\n[0,1,2,3,4,5,6,7,8,9]\n[11]\n")
	theirs := write("theirs.jsonl", `{"query":0,"ids":[3]}`+"\n"+`{"query":1,"ids":[1,20]}`+"\n"+`{"query":2,"ids":[]}`+"\n")
	out := filepath.Join(t.TempDir(), "out.jsonl")
	r := thresher(t, "job", "submit", queries, "--collection", "films", "-k", "4", "--k-column", "want", "--min-score-column", "least",
		"--exclude", seen, "--candidates", theirs, "--wait", "--interval", "5ms", "--out", out)
	r.WantCode(t, cli.ExitOK)
	answers, err := dataset.OpenResults(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	for j, want := range []int{5, 4, 2} {
		a, err := answers.Next()
		if err != nil || len(a.Rows) != want {
			t.Errorf("row %d: %+v, %v; want %d ids", j, a, err, want)
		}
		for _, id := range a.Rows {
			if j == 1 && id < 10 || j == 2 && id == 11 {
				t.Errorf("row %d has %d, which it excludes", j, id)
			}
		}
	}
	if _, err := answers.Next(); err != io.EOF {
		t.Error(err)
	}

	c, err := client.New(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := func() string {
		page, err := c.Files(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range page.Data {
			names = append(names, f.Filename)
		}
		return fmt.Sprint(names)
	}
	before := files()
	thresher(t, "job", "submit", queries, "--collection", "nobody", "--exclude", seen, "--candidates", theirs).WantCode(t, cli.ExitInput)
	if after := files(); after != before || !strings.Contains(before, "seen.jsonl") {
		t.Errorf("files before a refused job %s, after it %s", before, after)
	}
	filtered := write("f.csv", "x,y,z,w,only\n1,2,3,4,\n4,3,2,1,year > 1999\n")
	r = thresher(t, "job", "submit", filtered, "--collection", "films", "-k", "4", "--filter-column", "only", "--wait", "--interval", "5ms")
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Err, `f.csv: row 1 (0-based), column "only"`) {
		t.Errorf("a filter of no column: %s", r.Err)
	}
	thresher(t, "job", "submit", write("g.csv", "x,y,z,w\n1,2,3,4\n"), "--collection", "films", "-k", "4", "--filter", "year > 1999").WantError(t, "filter: collection films has no columns")
	thresher(t, "job", "submit", queries, "--k-column", "want").WantError(t, "--collection")
	queries = write("q.csv", "x,y,z,w\n1,2,3,4\n")
	r = thresher(t, "job", "submit", queries, "--collection", "films", "--k-column", "nothing", "--wait", "--interval", "5ms", "--json")
	var b api.Batch
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil || b.Status != api.BatchFailed || !strings.Contains(b.Errors.Data[0].Message, `q.csv`) || !strings.Contains(b.Errors.Data[0].Message, `"nothing"`) {
		t.Errorf("%+v (%v) %s", b, err, r.Out)
	}
}

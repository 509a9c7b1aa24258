package serve_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"thresher/choice/serve/servetest"
	"thresher/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDescription: the parts of both extensions are whole where the API's document has them, and are what is served.
func TestDescription(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	s.Description.CheckWhole(t)
	var table []servicetest.Route
	var parts []byte
	for _, one := range s.Extensions {
		for _, r := range one.Routes() {
			table = append(table, servicetest.Route{Method: r.Method, Pattern: r.Pattern, Params: r.Params})
		}
		parts = append(parts, one.Description()...)
	}
	docs, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table {
		if r.Method != "GET" && !bytes.Contains(docs, []byte("`"+r.Method+" "+r.Pattern+"`")) {
			t.Errorf("docs/operations.md does not list %s %s among the audited changes", r.Method, r.Pattern)
		}
	}
	s.Description.CheckRoutes(t, table, func(path string) bool { return bytes.Contains(parts, []byte("\n  "+path+":\n")) })
}

// TestPages: the files of the pages of tournaments and slates keep to the policy, and refer to each other and to
// files of the service that there are.
func TestPages(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	files := map[string]string{}
	for _, folder := range []string{"pages", "slatepages"} {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) < 5 {
			t.Fatal(entries, err)
		}
		for _, e := range entries {
			at := "/web/" + e.Name()
			if files[at] != "" {
				t.Errorf("two pages have a file %s", e.Name())
			}
			files[at] = string(s.Do("GET", at, nil).Want(200).Body)
			if text, err := os.ReadFile(filepath.Join(folder, e.Name())); err != nil || string(text) != files[at] {
				t.Errorf("%s is served with %d bytes, and has %d, %v", e.Name(), len(files[at]), len(text), err)
			}
		}
	}
	served := func(at string) bool { return s.Do("GET", at, nil).Status == 200 }
	roots := []string{"/web/tournaments.html", "/web/slates.html"}
	servicetest.CheckPages(t, files, served, roots...)
	for _, page := range roots {
		if !strings.Contains(string(s.Do("GET", "/", nil).Want(200).Body), `"`+strings.TrimPrefix(page, "/")+`"`) {
			t.Errorf("the page does not link to %s", page)
		}
	}
}

var writeBodies = flag.Bool("write-bodies", false, "write testdata/bodies.txt, what the server is to answer")

// TestBodies compares answers of the server with testdata/bodies.txt, so that no change of one goes unnoticed. After a
// change that is meant, `go test ./choice/serve -run TestBodies -write-bodies` writes them, and git shows what changed.
func TestBodies(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	const jsonType = "application/json"
	servicetest.CompareBodies(t, s.Do, []servicetest.Exchange{
		{"POST", "/v1/tournaments", jsonType, `{"arms":["a","b"],"mode":"pac","epsilon":0.1,"delta":0.1,"horizon":1000,"seed":1}`},
		{"POST", "/v1/tournaments/ID/next", jsonType, `{"count":1}`},
		{"GET", "/v1/tournaments/ID", "", ""},
	}, "testdata/bodies.txt", *writeBodies)
}

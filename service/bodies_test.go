package service

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var writeBodies = flag.Bool("write-bodies", false, "write testdata/bodies.txt, what the server is to answer")

// bodies are requests and what they send, of which an empty one is none. ID in a path is the latest id that the
// server gave.
var bodies = []struct{ method, path, kind, body string }{
	{"PUT", "/v1/collections/trees?metric=ip&wait=true", "application/jsonl", `{"id":"ash","vector":[2,0,1]}` + "\n" + `{"id":"birch","vector":[0,3,0]}` + "\n" + `{"id":"oak","vector":[1,1,1]}` + "\n"},
	{"GET", "/v1/collections/trees", "", ""},
	{"GET", "/v1/collections", "", ""},
	{"GET", "/v1/collections/trees/rows/ash", "", ""},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[1,0,1],[0,1,0]],"k":2,"method":"exact"}`},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[1,0,1]],"k":1,"method":"exact","include":["certificate","rounds"]}`},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[0.1,0,0.7]],"k":2,"method":"exact","include":["rows","scores64"]}`},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[1,0,1]],"min_score":2,"method":"exact","exclude":["ash"]}`},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[1,0]],"k":1}`},
	{"POST", "/v1/collections/trees/search", jsonType, `{"queries":[[1,0,1]],"k":0}`},
	{"POST", "/v1/collections/oaks/search", jsonType, `{"queries":[[1,0,1]],"k":1}`},
	{"POST", "/v1/collections/trees/search?k=1&method=exact&include=certificate", npyType, string(npy([]float32{1, 0, 1, 0, 1, 0}, 3))},
	{"POST", "/v1/collections/trees/recall", jsonType, `{"queries":[[1,0,1],[0,1,0]],"answers":[["ash","oak"],["birch","ash"]],"method":"exact"}`},
	{"POST", "/v1/collections/trees/certify", jsonType, `{"queries":[[1,0,1],[0,1,0]],"answers":[["ash","oak"],["birch","ash"]],"method":"exact"}`},
	{"POST", "/v2/models/trees/infer", jsonType, `{"inputs":[{"name":"queries","datatype":"FP32","shape":[1,3],"data":[1,0,1]},{"name":"k","datatype":"INT32","shape":[1],"data":[2]}],"parameters":{"method":"exact"}}`},
	{"POST", "/v2/models/trees/infer", jsonType, `{"inputs":[{"name":"queries","datatype":"FP32","shape":[1,3],"data":[1,0,1]},{"name":"floors","datatype":"FP64","shape":[1],"data":[2.0000000001]}],"outputs":[{"name":"rows"},{"name":"scores64"}]}`},
	{"GET", "/v2/models/trees", "", ""},
	{"POST", "/v1/files", "multipart/form-data; boundary=part", "--part\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--part\r\nContent-Disposition: form-data; name=\"file\"; filename=\"q.jsonl\"\r\n\r\n" + `{"custom_id":"a","method":"POST","url":"/v1/collections/trees/search","body":{"queries":[[1,0,1]],"k":1,"method":"exact"}}` + "\n\r\n--part--\r\n"},
	{"GET", "/v1/files", "", ""},
	{"POST", "/v1/batches", jsonType, `{"input_file_id":"ID","endpoint":"/v1/collections/trees/search","completion_window":"24h"}`},
	{"POST", "/v1/tournaments", jsonType, `{"arms":["a","b"],"mode":"pac","epsilon":0.1,"delta":0.1,"horizon":1000,"seed":1}`},
	{"POST", "/v1/tournaments/ID/next", jsonType, `{"count":1}`},
	{"GET", "/v1/tournaments/ID", "", ""},
	{"POST", "/v1/collections/trees/rows", "application/jsonl", `{"id":"yew","vector":[2,1,1]}` + "\n"},
	{"DELETE", "/v1/collections/trees", "", ""},
}

// changing is what differs between two runs or processors.
var changing = regexp.MustCompile(`"(id|instance|input_file_id|seed|etag|[a-z_]*_at|predicted_ns|took_ms|took|bytes|ticket)":("[^"]*"|[0-9.e+-]+)|\b(file|batch|tournament)[-_][0-9a-z]{8,}\b`)

// TestBodies compares answers of the server with testdata/bodies.txt, so that no change of one goes
// unnoticed. After a change that is meant, `go test ./service -run TestBodies -write-bodies` writes them, and git
// shows what changed.
func TestBodies(t *testing.T) {
	s := start(t, nil)
	var all bytes.Buffer
	id, given := "", regexp.MustCompile(`"id":"([^"]+)"`)
	for _, b := range bodies {
		var body any
		if b.kind != "" {
			body = []byte(strings.ReplaceAll(b.body, "ID", id))
		}
		a := s.do(b.method, strings.ReplaceAll(b.path, "ID", id), body, "Content-Type", b.kind)
		if made := given.FindSubmatch(a.body); made != nil && b.method == http.MethodPost && a.status < 300 {
			id = string(made[1])
		}
		text := changing.ReplaceAllStringFunc(string(a.body), func(s string) string {
			if key, _, ok := strings.Cut(s, `":`); ok {
				return key + `":..`
			}
			return ".."
		})
		if strings.ContainsRune(text, 0) {
			text = fmt.Sprintf("%q", text)
		}
		fmt.Fprintf(&all, "%s %s\n%d %s\n%s\n\n", b.method, b.path, a.status, a.header.Get("Content-Type"), strings.TrimSpace(text))
	}
	const path = "testdata/bodies.txt"
	if *writeBodies {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(all.String(), "\n\n"), strings.Split(string(want), "\n\n")
	for i := range max(len(got), len(wanted)) {
		switch {
		case i >= len(got) || i >= len(wanted):
			t.Fatalf("%d answers, and %d are kept", len(got)-1, len(wanted)-1)
		case got[i] != wanted[i]:
			t.Errorf("got\n%s\nwant\n%s", got[i], wanted[i])
		}
	}
}

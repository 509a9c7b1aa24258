package service

import (
	"flag"
	"testing"

	"thresher/service/servicetest"
)

var writeBodies = flag.Bool("write-bodies", false, "write testdata/bodies.txt, what the server is to answer")

// bodies are requests to which the answers are kept.
var bodies = []servicetest.Exchange{
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
	{"POST", "/v1/collections/trees/rows", "application/jsonl", `{"id":"yew","vector":[2,1,1]}` + "\n"},
	{"DELETE", "/v1/collections/trees", "", ""},
}

// TestBodies compares answers of the server with testdata/bodies.txt, so that no change of one goes
// unnoticed. After a change that is meant, `go test ./service -run TestBodies -write-bodies` writes them, and git
// shows what changed.
func TestBodies(t *testing.T) {
	s := start(t, nil)
	do := func(method, path string, body any, h ...string) *servicetest.Answer {
		return s.do(method, path, body, h...).checked()
	}
	servicetest.CompareBodies(t, do, bodies, "testdata/bodies.txt", *writeBodies)
}

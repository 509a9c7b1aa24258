package service

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"thresher/service/oip"
)

func TestInference(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	var server struct {
		Name, Version string
		Extensions    []string
	}
	s.do("GET", "/v2", nil).want(200).into(&server)
	if server.Name != "thresher" || server.Version != "(test)" || len(server.Extensions) == 0 {
		t.Errorf("%+v", server)
	}
	for _, path := range []string{"/v2/health/live", "/v2/health/ready", "/v2/models/films", "/v2/models/films/ready", "/v2/models/films/versions/1", "/v2/models/films/versions/1/ready"} {
		s.do("GET", path, nil).want(200)
	}

	q := gaussian(3, 2*dim)
	data, _ := json.Marshal(q)
	ask := fmt.Sprintf(`{"id":"7","parameters":{"method":"exact"},"inputs":[{"name":"queries","datatype":"FP32","shape":[2,%d],"data":%s},{"name":"k","datatype":"INT32","shape":[1],"data":[3]}]}`, dim, data)
	var answer struct {
		ID      string
		Name    string `json:"model_name"`
		Version string `json:"model_version"`
		Outputs []struct {
			Name, Datatype string
			Shape          []int
			Data           []json.RawMessage
		}
	}
	for _, path := range []string{"/v2/models/films/infer", "/v2/models/films/versions/1/infer"} {
		s.do("POST", path, ask).want(200).into(&answer)
		if answer.ID != "7" || answer.Name != "films" || answer.Version != "1" || len(answer.Outputs) < 4 {
			t.Fatalf("%+v", answer)
		}
		ids := answer.Outputs[0]
		if ids.Name != "ids" || ids.Datatype != "INT64" || len(ids.Data) != 6 || string(ids.Data[0]) != itoa(best(rows, q[:dim])) || string(ids.Data[3]) != itoa(best(rows, q[dim:])) {
			t.Errorf("%+v", ids)
		}
	}

	head := fmt.Sprintf(`{"parameters":{"method":"exact","binary_data_output":true},"inputs":[{"name":"queries","datatype":"FP32","shape":[2,%d],"parameters":{"binary_data_size":%d}}],"outputs":[{"name":"ids"}]}`, dim, 8*dim)
	a := s.do("POST", "/v2/models/films/infer", append([]byte(head), floats(q)...), "Content-Type", binType, oip.HeaderLength, strconv.Itoa(len(head))).want(200)
	length, err := strconv.Atoi(a.header.Get(oip.HeaderLength))
	if err != nil || a.header.Get("Content-Type") != binType || len(a.body) != length+2*10*8 {
		t.Fatalf("%v, %d bytes of which %d JSON", a.header, len(a.body), length)
	}
	if id := int64(binary.LittleEndian.Uint64(a.body[length:])); id != best(rows, q[:dim]) {
		t.Errorf("found %d, best is %d", id, best(rows, q[:dim]))
	}
	for _, bad := range []string{"-1", "x", "99999", "1"} {
		p := s.do("POST", "/v2/models/films/infer", append([]byte(head), floats(q)...), "Content-Type", binType, oip.HeaderLength, bad)
		if p.status != 400 || !strings.Contains(string(p.body), `"error":`) {
			t.Errorf("length %s: %d %s", bad, p.status, p.body)
		}
	}
}

package service

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"thresher/service/oip/inferencepb"
)

// TestFormerNames: requests by former names are answered as by the present ones, and the answer says so.
func TestFormerNames(t *testing.T) {
	s := start(t, nil)
	s.fill()
	for _, c := range []struct{ former, now string }{
		{`"deny":[5]`, `"exclude":[5]`},
		{`"allow":[5,6]`, `"filter":[5,6]`},
		{`"timeout_ms":50000`, `"deadline_ms":50000`},
	} {
		name := strings.Split(c.former, `"`)[1]
		now := s.do("POST", searchFilms, oneQuery(","+c.now)).want(200)
		if strings.Contains(string(now.body), "former") || now.header.Get("Deprecation") != "" {
			t.Errorf("%s is noted: %s", c.now, now.body)
		}
		before := s.do("POST", searchFilms, oneQuery(","+c.former)).want(200)
		if before.header.Get("Deprecation") == "" || !strings.Contains(string(before.body), `"warnings":["`+name+` is called `) {
			t.Errorf("%s is not noted: %v, %s", name, before.header, before.body)
		}
		s.do("POST", searchFilms, oneQuery(","+c.former+","+c.now)).problem(400, "invalid-value")
	}
	for _, c := range []struct {
		query string
		code  int
	}{{"&overwrite", 201}, {"&replace", 201}, {"&overwrite&replace", 400}} {
		a := s.do("PUT", "/v1/collections/films?metric=ip&wait"+c.query, npy(gaussian(3, 20*dim), dim), "Content-Type", npyType).want(c.code)
		if told := a.header.Get("Deprecation") != ""; told != (c.query == "&replace") {
			t.Errorf("%s: Deprecation %v", c.query, told)
		}
	}
	if a := s.do("GET", "/v1/collections/films", nil).want(200); !strings.Contains(string(a.body), `"dim":`) || !strings.Contains(string(a.body), `"dimension":`) {
		t.Errorf("dim or its former name is missing: %s", a.body)
	}
	body := statedBody(t, gaussian(34, 2*dim), `[[1,2,3],[4,5,6]]`, "")
	if a := s.do("POST", recallFilms, body).want(200); !strings.Contains(string(a.body), `"missed":[{`) || !strings.Contains(string(a.body), `"misses":[{`) {
		t.Errorf("missed or its former name is missing: %.500s", a.body)
	}
}

// TestLimitsOfMetrics: limits by the names that they have by another metric are refused, and the right one is named.
func TestLimitsOfMetrics(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.do("PUT", "/v1/collections/far?metric=l2&wait", npy(gaussian(3, 20*dim), dim), "Content-Type", npyType).want(201)
	for _, c := range []struct{ path, member, right string }{
		{searchFilms, "max_distance", "min_score"},
		{searchFilms, "min_distance", "max_score"},
		{"/v1/collections/far/search", "min_score", "max_distance"},
		{"/v1/collections/far/search", "max_score", "min_distance"},
	} {
		if p := s.do("POST", c.path, oneQuery(`,"`+c.member+`":2`)).problem(400, "invalid-value"); p.Field != c.member || !strings.Contains(p.Detail, c.right+" says it") {
			t.Errorf("%s: %+v", c.member, p)
		}
		s.do("POST", c.path, oneQuery(`,"`+c.right+`":2`)).want(200)
		if p := s.do("POST", c.path, oneQuery(`,"goals":[{"`+c.member+`":2}]`)).problem(400, "invalid-value"); p.Field != "goals[0]."+c.member {
			t.Errorf("goal, %s: %+v", c.member, p)
		}
	}
}

// TestFormerNamesByRPC: the metadata of an answer by gRPC tells of former names, and only then.
func TestFormerNamesByRPC(t *testing.T) {
	s := start(t, nil)
	s.fill()
	c := connect.NewClient[inferencepb.ModelInferRequest, inferencepb.ModelInferResponse](s.http2(), s.grpc+inferencepb.GRPCInferenceServiceModelInferProcedure, connect.WithGRPC())
	for name, told := range map[string]bool{"deadline_ms": false, "timeout_ms": true} {
		a, err := c.CallUnary(t.Context(), connect.NewRequest(&inferencepb.ModelInferRequest{
			ModelName: "films",
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "queries", Datatype: "FP32", Shape: []int64{1, dim},
				Contents: &inferencepb.InferTensorContents{Fp32Contents: gaussian(7, dim)}}},
			Parameters: map[string]*inferencepb.InferParameter{name: {ParameterChoice: &inferencepb.InferParameter_DoubleParam{DoubleParam: 60_000}}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Header().Get("Deprecation") != ""; got != told {
			t.Errorf("%s: Deprecation %v", name, a.Header())
		}
	}
}

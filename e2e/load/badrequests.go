//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// request is a request sent by a hostile.
type request struct {
	method, path string
	body         *body
	status       int
	kind         string // of the problem
}

const (
	jsonKind = "application/json"
	npyKind  = "application/x-npy"
	hostPath = "/v1/collections/" + hostName
	toSearch = hostPath + "/search"
	toInfer  = "/v2/models/" + hostName + "/infer"
)

// text is a JSON body.
func text(s string) *body { return bare(jsonKind, []byte(s)) }

// npyBody returns the npy of a matrix with replacements made in its header.
func npyBody(rows int, replace ...string) *body {
	b := gaussian(rows, hostDim, 5).npy()
	return bare(npyKind, []byte(strings.NewReplacer(replace...).Replace(string(b))))
}

// badRequests returns invalid requests with the expected problems. {i} in a path is replaced
// by a new number each time, since requests run concurrently.
func badRequests() []request {
	query := strings.TrimSuffix(strings.Repeat("1,", hostDim), ",")
	with := func(option string) *body { return text(`{"queries":[[` + query + `]]` + option + `}`) }
	nan := gaussian(2, hostDim, 5)
	nan.data[hostDim+3] = float32(math.NaN())
	infinite := gaussian(1, hostDim, 5)
	infinite.data[0] = float32(math.Inf(-1))
	nested := strings.Repeat("[", 1<<20)
	return []request{
		{"POST", toSearch, text(`{"queries":[[1,2`), 400, "malformed-body"},
		{"POST", toSearch, text("\x00\x01garbage\xff"), 400, "malformed-body"},
		{"POST", toSearch, text(""), 400, "malformed-body"},
		{"POST", toSearch, text(nested), 400, "malformed-body"},
		{"POST", toSearch, text(`{"queries":` + nested), 400, ""},
		{"POST", toSearch, text(`{"queries":[[` + query + `]],"extra":` + nested), 400, ""},
		{"POST", toSearch, text(strings.Repeat(`{"a":`, 200_000)), 400, ""},
		{"POST", toSearch, text(`{"queries":[["1"]]}`), 400, ""},
		{"POST", toSearch, text(`{"queries":[[1,2,3]]}`), 400, "wrong-dimension"},
		{"POST", toSearch, text(`{"queries":[]}`), 400, "no-queries"},
		{"POST", toSearch, text(`{"queries":[[` + strings.Replace(query, "1", "1e999", 1) + `]]}`), 400, "not-finite"},
		{"POST", toSearch, text(`{"queries":[[` + strings.Replace(query, "1", "NaN", 1) + `]]}`), 400, "not-finite"},
		{"POST", toSearch, with(`,"k":1000000000`), 400, "over-limit"},
		{"POST", toSearch, with(`,"k":-1`), 400, "invalid-value"},
		{"POST", toSearch, with(`,"k":5000`), 400, "over-limit"},
		{"POST", toSearch, with(`,"k":99999999999999999999999`), 400, "invalid-value"},
		{"POST", toSearch, with(`,"delta":2`), 400, "invalid-value"},
		{"POST", toSearch, with(`,"deadline_ms":-5`), 400, "invalid-value"},
		{"POST", toSearch, with(`,"method":"magic"`), 400, "unknown-method"},
		{"POST", toSearch, with(`,"nothing":1`), 400, "unknown-field"},
		{"POST", toSearch, with(`,"filter":[9999999]`), 400, "unknown-id"},
		{"POST", toSearch, with(`,"goals":[]`), 400, "invalid-value"},
		{"POST", toSearch, with(`,"goals":[` + strings.Repeat("{},", 200_000) + `{}]`), 400, "over-limit"},
		{"POST", toSearch, with(`,"goals":[{"exclude":[9999999]}]`), 400, "unknown-id"},
		{"POST", toSearch, with(`,"goals":[{"candidates":` + nested + `}]`), 400, ""},
		{"POST", toSearch, with(`,"goals":[{"min_score":NaN}]`), 400, "malformed-body"},
		{"POST", toSearch, with(`,"goals":[{"k":1000000000}]`), 400, "over-limit"},
		{"POST", hostPath + "/recall", with(`,"answers":[[-1]]`), 400, "unknown-id"},
		{"POST", hostPath + "/recall", with(`,"answers":[{"ids":[1],"scores":[1e999]}]`), 400, "malformed-body"},
		{"POST", hostPath + "/recall", with(`,"answers":` + nested), 400, ""},
		{"POST", hostPath + "/certify", with(`,"answers":[[1],[2]]`), 400, "invalid-value"},
		{"POST", hostPath + "/certify", with(""), 400, "invalid-value"},
		{"POST", toSearch, nan.body(""), 400, "not-finite"},
		{"POST", toSearch, infinite.body(""), 400, "not-finite"},
		{"POST", toSearch, npyBody(1, "<f4", "<U4"), 400, "malformed-body"},
		{"POST", toSearch, npyBody(1, "(1, 16)", "(1000000000, 16)"), 400, ""},
		{"POST", toSearch, npyBody(1, "(1, 16)", "(1, 9223372036854775807)"), 400, ""},
		{"POST", toSearch, npyBody(1, "(1, 16)", "(-1, -16)"), 400, ""},
		{"POST", toSearch + "?k=1000000000", npyBody(1), 400, "over-limit"},
		{"POST", toSearch, bare(npyKind, []byte("\x93NUMPY\x01\x00\xff\xff{")), 400, "malformed-body"},
		{"POST", toSearch, bare("text/plain", []byte("x")), 415, "unsupported-media"},
		{"POST", toSearch, bare(jsonKind, make([]byte, bodyLimit+1)), 413, "body-too-large"},
		{"POST", "/v1/collections/none/search", with(""), 404, "unknown-collection"},
		{"POST", "/v1/collections/%00/search", with(""), 404, "unknown-collection"},
		{"GET", "/v1/collections/" + strings.Repeat("a", 10_000), nil, 404, "unknown-collection"},
		{"GET", "/v1/../../../etc/passwd", nil, 0, ""},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", nil, 0, ""},
		{"GET", hostPath + "/rows/99999999999999999999", nil, 404, "unknown-row"},
		{"PATCH", hostPath, nil, 405, "method-not-allowed"},
		{"PUT", hostPath + "?metric=ip", npyBody(3), 409, "name-taken"},
		{"PUT", "/v1/collections/new{i}?metric=ip&wait", nan.body(""), 400, ""},
		{"PUT", "/v1/collections/new{i}?metric=ip&wait", npyBody(1, "(1, 16)", "(1000000000, 16)"), 400, ""},
		{"PUT", "/v1/collections/..%2f..%2fx?metric=ip", npyBody(3), 400, "invalid-value"},
		{"PUT", "/v1/collections/new{i}", text(`{"metric":"ip","source":{"path":"/etc/passwd"}}`), 403, "forbidden"},
		{"PUT", "/v1/collections/new{i}", text(`{"metric":"ip","source":{"path":"../../etc/passwd"}}`), 403, "forbidden"},
		{"PUT", "/v1/collections/new{i}?metric=ip", bare(npyKind, make([]byte, 8<<20+1)), 413, "body-too-large"},
		{"POST", hostPath + "/rows", gaussian(2, 3, 1).body(""), 400, "wrong-dimension"},
		{"DELETE", hostPath + "/rows", text(`{"ids":[1e400]}`), 400, ""},
		{"DELETE", hostPath + "/rows", text(`{"ids":` + nested + `}`), 400, ""},
		{"POST", "/v1/files", text("{}"), 415, "unsupported-media"},
		{"POST", "/v1/files", bare("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf")), 400, "malformed-body"},
		{"POST", "/v1/files", bare("multipart/form-data; boundary=x", []byte("--x\r\n"+strings.Repeat("A: b\r\n", 50_000))), 400, "malformed-body"},
		{"POST", "/v1/files", bare("multipart/form-data", []byte("--")), 400, "malformed-body"},
		{"POST", "/v1/batches", text(`{"input_file_id":"file-none","endpoint":"` + toSearch + `","completion_window":"24h"}`), 404, "unknown-file"},
		{"POST", "/v1/batches", text(`{"endpoint":7}`), 400, ""},
		{"POST", "/v1/batches", text(`{"input_file_id":"file-none","endpoint":"` + toSearch + `","goals":{"exclude_file_id":7}}`), 400, ""},
		{"POST", "/v1/batches", text(nested[:1<<19]), 400, ""},
		{"POST", "/v1/batches/none/cancel", nil, 404, "unknown-batch"},
		{"POST", toInfer, text(`{"inputs":[{"name":"queries","shape":[1000000000,16],"datatype":"FP32","data":[1]}]}`), 400, ""},
		{"POST", toInfer, text(`{"inputs":[{"name":"queries","shape":[-1,16],"datatype":"FP32","data":[1]}]}`), 400, ""},
		{"POST", toInfer, text(`{"inputs":[{"name":"queries","shape":[1,16],"datatype":"BYTES","data":["a"]}]}`), 400, ""},
		{"POST", toInfer, text(`{"inputs":[{"name":"floors","shape":[4611686018427387904],"datatype":"FP32","data":[1]}]}`), 400, ""},
		{"POST", toInfer, text(`{"inputs":[{"name":"exclude","shape":[3037000500,3037000500],"datatype":"INT64","parameters":{"binary_data_size":8}}]}`), 400, ""},
		{"POST", toInfer, text(nested), 400, ""},
	}
}

// parallel calls do n times, 16 at once.
func parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// table sends all invalid requests.
func (h *hostile) table(ctx context.Context) error {
	all := badRequests()
	return parallel(ctx, h.o.rounds*len(all), func(ctx context.Context, i int) error {
		r := all[i%len(all)]
		got, err := h.call(ctx, r.method, strings.ReplaceAll(r.path, "{i}", fmt.Sprint(i)), r.body)
		asked := fmt.Sprintf("%s %.80s (request %d)", r.method, r.path, i%len(all))
		if err != nil {
			return fmt.Errorf("%s: %w", asked, err)
		}
		if err := h.count(got, asked); err != nil {
			return err
		}
		if r.status != 0 && got.status != r.status || r.kind != "" && got.problem().Type != "/problems/"+r.kind {
			return fmt.Errorf("%s: status %d, problem %q, should be %d %s: %.300s", asked, got.status, got.problem().Type, r.status, r.kind, got.data)
		}
		return nil
	})
}

// seeds returns valid requests.
func seeds() []request {
	queries := gaussian(3, hostDim, 8)
	lines := make([][]float32, queries.rows())
	for i := range lines {
		lines[i] = queries.row(i)
	}
	tensor := map[string]any{"name": "queries", "shape": []int{3, hostDim}, "datatype": "FP32", "data": queries.data}
	binaryTensor := map[string]any{"name": "queries", "shape": []int{3, hostDim}, "datatype": "FP32", "parameters": map[string]any{"binary_data_size": len(queries.data) * 4}}
	head, _ := json.Marshal(map[string]any{"inputs": []any{binaryTensor}})
	raw, _ := binary.Append(nil, binary.LittleEndian, queries.data) // float32
	jsonl := requestLines(queries, map[string]any{"k": 3}, 90)
	return []request{
		{method: "POST", path: toSearch, body: jsonBody(map[string]any{"queries": lines, "k": 5, "delta": .1, "include": []string{"certificate", "rounds"}}, "")},
		{method: "POST", path: toSearch + "?k=5&delta=0.1", body: queries.body("")},
		{method: "POST", path: toInfer, body: jsonBody(map[string]any{"inputs": []any{tensor}, "parameters": map[string]any{"k": 3}}, "")},
		{method: "POST", path: toInfer, body: &body{kind: "application/octet-stream", data: slices.Concat(head, raw), head: len(head)}},
		{method: "POST", path: "/v1/batches", body: text(`{"input_file_id":"file-0123","endpoint":"` + toSearch + `","completion_window":"24h","metadata":{"a":"b"}}`)},
		{method: "PUT", path: hostPath + "?metric=ip", body: queries.body("")},
		{method: "PUT", path: hostPath + "?metric=ip", body: bare("application/x-ndjson", []byte("[1,2,3]\n[4,5,6]\n"))},
		{method: "DELETE", path: hostPath + "/rows", body: text(`{"ids":[99999999,1000000000]}`)},
		{method: "POST", path: "/v1/files", body: upload("lines.jsonl", jsonl, "")},
	}
}

// mutate sends valid requests with some bytes changed, removed or doubled.
func (h *hostile) mutate(ctx context.Context) error {
	all := seeds()
	base := h.r.Uint64()
	err := parallel(ctx, h.o.mutations, func(ctx context.Context, i int) error {
		r := all[i%len(all)]
		b := *r.body
		b.data = mutated(b.data, rand.New(rand.NewPCG(base, uint64(i))))
		got, err := h.call(ctx, r.method, r.path, &b)
		asked := fmt.Sprintf("mutation %d of %s %s", i, r.method, r.path)
		if err != nil {
			return fmt.Errorf("%s: %w", asked, err)
		}
		return h.count(got, asked)
	})
	if err != nil {
		return err
	}
	// Delete what was stored anyway.
	files, err := h.files(ctx)
	if err != nil {
		return err
	}
	return parallel(ctx, len(files), func(ctx context.Context, i int) error {
		got, err := h.call(ctx, "DELETE", "/v1/files/"+files[i].ID, nil)
		if err != nil {
			return err
		}
		return got.into(nil, 200)
	})
}

// mutated returns b with a few changes.
func mutated(b []byte, r *rand.Rand) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		from := r.IntN(len(b))
		to := from + r.IntN(min(40, len(b)-from)+1)
		switch r.IntN(5) {
		case 0:
			b[from] ^= 1 << r.IntN(8)
		case 1:
			b[from] = byte(r.Uint32())
		case 2:
			b = slices.Delete(b, from, to)
		case 3:
			b = slices.Insert(b, to, bytes.Clone(b[from:to])...)
		default:
			tokens := []string{"1e999", "-0", "null", "[[", "}", "\"", "9223372036854775808", "\x00", "NaN", "-1"}
			b = slices.Insert(b, from, []byte(tokens[r.IntN(len(tokens))])...)
		}
	}
	return b
}

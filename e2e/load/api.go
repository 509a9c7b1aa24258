//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// api is a client of one server. It never retries: what was answered, or that nothing was, is
// what these commands test.
type api struct {
	url    string
	client *http.Client
}

// callWait is the time limit of any answer.
const callWait = 10 * time.Minute

func newAPI(url string) *api {
	dial := &net.Dialer{Timeout: callWait}
	t := &http.Transport{DialContext: dial.DialContext, MaxIdleConnsPerHost: 64, DisableCompression: true}
	return &api{url: url, client: &http.Client{Transport: t}}
}

// forget closes idle connections.
func (a *api) forget() { a.client.CloseIdleConnections() }

// body is a request body.
type body struct {
	kind string // media type
	data []byte
	key  string // idempotency key; "" for none
	head int    // bytes of JSON before binary tensors; 0 for none
}

func bare(kind string, data []byte) *body { return &body{kind: kind, data: data} }

// answer is a complete response.
type answer struct {
	status int
	kind   string // media type
	data   []byte
}

// problem is the server's description of a failure.
type problem struct {
	Type   string `json:"type"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
}

// problem returns the answer's problem; its Type is "" if it is not one.
func (a *answer) problem() (p problem) {
	if a.kind == "application/problem+json" {
		_ = json.Unmarshal(a.data, &p) // otherwise there is no type
	}
	return p
}

// into decodes an answer with one of these statuses into v.
func (a *answer) into(v any, statuses ...int) error {
	if !slices.Contains(statuses, a.status) {
		return fmt.Errorf("status %d, not %v: %.500s", a.status, statuses, a.data)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(a.data, v); err != nil {
		return fmt.Errorf("%w in %.200q", err, a.data)
	}
	return nil
}

// errNoAnswer: there was no complete answer.
var errNoAnswer = errors.New("no answer")

// errSlow ends the wait for an answer.
var errSlow = fmt.Errorf("not within %v", callWait)

// call sends one request; a nil body sends none. Its only error is errNoAnswer.
func (a *api) call(ctx context.Context, method, path string, b *body) (*answer, error) {
	ctx, stop := patiently(ctx, callWait, errSlow)
	defer stop()
	var content io.Reader
	if b != nil {
		content = bytes.NewReader(b.data)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	req.GetBody = nil // otherwise net/http resends the request if a connection breaks
	if b != nil {
		req.Header.Set("Content-Type", b.kind)
		if b.key != "" {
			req.Header.Set("Idempotency-Key", b.key)
		}
		if b.head > 0 {
			req.Header.Set("Inference-Header-Content-Length", strconv.Itoa(b.head))
		}
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return &answer{status: resp.StatusCode, kind: resp.Header.Get("Content-Type"), data: data}, nil
}

// get decodes the answer of a path into v.
func (a *api) get(ctx context.Context, path string, v any) error {
	got, err := a.call(ctx, "GET", path, nil)
	if err != nil {
		return err
	}
	if err := got.into(v, 200); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// post sends v as JSON and decodes the answer.
func (a *api) post(ctx context.Context, path string, v, into any) error {
	got, err := a.call(ctx, "POST", path, jsonBody(v, ""))
	if err != nil {
		return err
	}
	if err := got.into(into, 200); err != nil {
		return fmt.Errorf("POST %s: %w", path, err)
	}
	return nil
}

func jsonBody(v any, key string) *body {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own types
	}
	return &body{kind: "application/json", data: text, key: key}
}

// upload returns the form that stores a file.
func upload(name string, content []byte, key string) *body {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	// A repeated request must have the same bytes.
	if err := w.SetBoundary("------------------------thresherload"); err != nil {
		panic(err)
	}
	_ = w.WriteField("purpose", "batch")
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = w.Close() // memory takes everything
	return &body{kind: w.FormDataContentType(), data: b.Bytes(), key: key}
}

// collectionInfo, fileInfo and batchInfo are the fields of the API's objects used here.
type collectionInfo struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Next    int64  `json:"next_version"`
	State   string `json:"state"`
	Count   int64  `json:"count"`
	// Writes are those of a collection that changes by rows.
	Writes    *uint64 `json:"writes"`
	Dimension int     `json:"dimension"`
	Error     string  `json:"error"`
}

// writes are the changes by rows of the version.
func (i *collectionInfo) writes() uint64 {
	if i.Writes == nil {
		return 0
	}
	return *i.Writes
}

type fileInfo struct {
	ID    string `json:"id"`
	Name  string `json:"filename"`
	Bytes int64  `json:"bytes"`
}

type batchInfo struct {
	ID     string  `json:"id"`
	Status string  `json:"status"`
	Output *string `json:"output_file_id"`
	Failed *string `json:"error_file_id"`
	Counts struct {
		Total, Completed, Failed int
	} `json:"request_counts"`
	Errors *struct {
		Data []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"data"`
	} `json:"errors"`
}

func (b *batchInfo) final() bool {
	return slices.Contains([]string{"completed", "failed", "expired", "cancelled"}, b.Status)
}

// settled waits until a collection is not being built.
func (a *api) settled(ctx context.Context, name string) (collectionInfo, error) {
	for {
		var info collectionInfo
		if err := a.get(ctx, "/v1/collections/"+name, &info); err != nil {
			return info, err
		}
		if (info.State == "ready" || info.State == "failed") && info.Next == 0 {
			return info, nil
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return info, err
		}
	}
}

// files lists all stored files.
func (a *api) files(ctx context.Context) ([]fileInfo, error) {
	var all []fileInfo
	for after := ""; ; {
		var page struct {
			Data    []fileInfo `json:"data"`
			HasMore bool       `json:"has_more"`
		}
		if err := a.get(ctx, "/v1/files?limit=100&after="+after, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore {
			return all, nil
		}
		after = all[len(all)-1].ID
	}
}

// content returns the content of a file.
func (a *api) content(ctx context.Context, id string) ([]byte, error) {
	got, err := a.call(ctx, "GET", "/v1/files/"+id+"/content", nil)
	if err != nil {
		return nil, err
	}
	return got.data, got.into(nil, 200)
}

// found is the answer to one query.
type found struct {
	IDs    []int64   `json:"ids"`
	Scores []float64 `json:"scores"`
}

// search returns the exact k best of every row.
func (a *api) search(ctx context.Context, name string, queries *matrix, k int) (version int64, results []found, err error) {
	got, err := a.call(ctx, "POST", fmt.Sprintf("/v1/collections/%s/search?k=%d&method=exact", name, k), queries.body(""))
	if err != nil {
		return 0, nil, err
	}
	var reply struct {
		Version int64   `json:"version"`
		Results []found `json:"results"`
	}
	err = got.into(&reply, 200)
	return reply.Version, reply.Results, err
}

// pause waits for d, or fails if ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

package servicetest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
)

const jsonType = "application/json"

// Caller sends requests to a server.
type Caller struct {
	T    testing.TB // fails if there is no answer
	URL  string     // of the server, without a path
	HTTP *http.Client
	// Token is sent with every request, "" for none.
	Token string
	// Description, if not nil, is what answers are compared with.
	Description *Description
}

// Answer is a response.
type Answer struct {
	T      testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and reads the answer, whatever its status. body is nil, []byte, a string of JSON, an io.Reader or a
// value to send as JSON; header are names and values in turn.
func (c *Caller) Do(method, path string, body any, header ...string) *Answer {
	c.T.Helper()
	var r io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	case string:
		r, kind = strings.NewReader(b), jsonType
	case io.Reader:
		r = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.T.Fatal(err)
		}
		r, kind = bytes.NewReader(text), jsonType
	}
	req, err := http.NewRequest(method, c.URL+path, r)
	if err != nil {
		c.T.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		c.T.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatalf("%s %s: %v", method, path, err)
	}
	a := &Answer{T: c.T, Status: resp.StatusCode, Header: resp.Header, Body: text}
	if c.Description != nil {
		c.Description.Check(c.T, method, req.URL.EscapedPath(), a)
	}
	return a
}

// Want fails the test unless the answer has this status.
func (a *Answer) Want(status int) *Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("status %d, want %d: %.600s", a.Status, status, a.Body)
	}
	return a
}

// Into decodes a JSON answer.
func (a *Answer) Into(v any) {
	a.T.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		a.T.Fatalf("%v in %.600s", err, a.Body)
	}
}

// Refused is a problem as clients see it.
type Refused struct {
	Type, Title, Detail, Instance, Field string
	Status                               int
	Index                                *int
	Limit                                any
	Error                                any
}

// Problem decodes the answer, which must be a problem of this status and kind.
func (a *Answer) Problem(status int, kind string) Refused {
	a.T.Helper()
	var p Refused
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.T.Fatalf("status %d, Content-Type %q: %.600s", a.Status, got, a.Body)
	}
	a.Into(&p)
	if a.Status != status || p.Status != status || p.Type != "/problems/"+kind {
		a.T.Fatalf("status %d, problem %+v, want %d %s", a.Status, p, status, kind)
	}
	if p.Instance == "" || p.Instance != a.Header.Get("X-Request-Id") {
		a.T.Errorf("instance %q, request id %q", p.Instance, a.Header.Get("X-Request-Id"))
	}
	return p
}

// NPY returns a float32 matrix, rows of dim values, as an npy file.
func NPY(rows []float32, dim int) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(rows)/dim, dim)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), Floats(rows)...)
}

// Floats returns the bytes of float32 values, little-endian.
func Floats(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

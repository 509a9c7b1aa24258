package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configure a Client; nil means defaults.
type Options struct {
	// Token is sent as a bearer token; "" sends none.
	Token string
	// HTTP makes the calls; nil means http.DefaultClient, which has no timeout: a call is
	// bounded by its context.
	HTTP *http.Client
	// Attempts is the number of attempts of a call that can be retried; 0 means 5, 1 never
	// retries.
	Attempts int
	// Backoff is the wait before the second attempt, doubled for each later one; a longer
	// Retry-After of the server takes precedence. 0 means 250 ms.
	Backoff time.Duration
	// MaxWait bounds each wait; 0 means 30 s. If the server asks for more, the call is not
	// retried.
	MaxWait time.Duration
}

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base *url.URL
	o    Options
	wait func(context.Context, time.Duration) error
}

// New returns a client of the server at base, http://127.0.0.1:8080 for instance.
func New(base string, o *Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", base, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("server %q: no http:// or https:// address", base)
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("server %q: an address has no query, fragment or user", base)
	}
	c := &Client{base: u, wait: sleep}
	if o != nil {
		c.o = *o
	}
	c.o.HTTP = cmp.Or(c.o.HTTP, http.DefaultClient)
	c.o.Attempts = cmp.Or(max(c.o.Attempts, 0), 5)
	c.o.Backoff = cmp.Or(max(c.o.Backoff, 0), 250*time.Millisecond)
	c.o.MaxWait = cmp.Or(max(c.o.MaxWait, 0), 30*time.Second)
	return c, nil
}

// Server returns the address.
func (c *Client) Server() string { return c.base.String() }

// call is one request, which may be attempted several times.
type call struct {
	method string
	path   []string   // segments, not escaped
	query  url.Values // may be nil
	header http.Header
	// body opens the body anew for each attempt; nil if there is none.
	body func() (io.ReadCloser, error)
	// length of the body in bytes, -1 if unknown.
	length int64
	// removes says that 404 counts as success if an earlier attempt may have arrived.
	removes bool
}

// jsonBody sets the body of the call to v.
func (k *call) jsonBody(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	k.body = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	k.length = int64(len(text))
	k.set("Content-Type", "application/json")
	return nil
}

func (k *call) set(name, value string) {
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set(name, value)
}

// url returns the URL of the call.
func (c *Client) url(k *call) string {
	u := c.base.JoinPath(escaped(k.path)...)
	u.RawQuery = k.query.Encode()
	return u.String()
}

func escaped(segments []string) []string {
	out := make([]string, len(segments))
	for i, s := range segments {
		out[i] = url.PathEscape(s)
		if s == "." || s == ".." {
			out[i] = strings.ReplaceAll(s, ".", "%2E") // JoinPath would resolve it
		}
	}
	return out
}

// do makes the call and returns an answer of status 2xx, whose body the caller closes. Other
// answers are a *Problem.
func (c *Client) do(ctx context.Context, k *call) (*http.Response, error) {
	backoff, arrived := c.o.Backoff, false
	for attempt := 1; ; attempt++ {
		resp, err := c.attempt(ctx, k)
		if err == nil {
			return resp, nil
		}
		if arrived && k.removes && isNotFound(err) {
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
		}
		pause, again := c.again(err, backoff)
		arrived = arrived || isLost(err) || isBehind(err)
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if !again || attempt >= c.o.Attempts {
			return nil, err
		}
		if err := c.wait(ctx, pause); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, c.o.MaxWait)
	}
}

// again reports whether a failed call is retried, and after what pause.
func (c *Client) again(err error, backoff time.Duration) (time.Duration, bool) {
	var p *Problem
	switch {
	case errors.As(err, &p) && p.Passing():
		pause := max(backoff, p.RetryAfter)
		return pause, pause <= c.o.MaxWait
	case errors.As(err, &p):
		return 0, false
	}
	return backoff, isLost(err)
}

func (c *Client) attempt(ctx context.Context, k *call) (*http.Response, error) {
	var body io.ReadCloser
	if k.body != nil {
		var err error
		if body, err = k.body(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.url(k), body)
	if err != nil {
		return nil, err
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	if k.body != nil {
		req.ContentLength = k.length
	}
	if c.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	source := &watched{ReadCloser: body}
	if body != nil {
		req.Body = source
	}
	resp, err := c.o.HTTP.Do(req)
	if failed := source.failure(); failed != nil {
		if err == nil {
			resp.Body.Close()
		}
		return nil, failed // a local read error is not the server's fault
	}
	if err != nil {
		return nil, &LostError{Server: c.base.Host, Err: err}
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, readProblem(resp)
	}
	return resp, nil
}

// answer makes the call and decodes its JSON into v unless v is nil. If the answer breaks
// off, the call is repeated.
func (c *Client) answer(ctx context.Context, k *call, v any) error {
	backoff := c.o.Backoff
	for attempt := 1; ; attempt++ {
		resp, err := c.do(ctx, k)
		if err != nil {
			return err
		}
		if v == nil {
			return resp.Body.Close()
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close() // only read
		if err == nil {
			return decode(text, v, k)
		}
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if attempt >= c.o.Attempts {
			return &LostError{Server: c.base.Host, Err: err}
		}
		if err := c.wait(ctx, backoff); err != nil {
			return err
		}
	}
}

// answerAs makes the call and returns its decoded JSON.
func answerAs[T any](ctx context.Context, c *Client, k *call) (T, error) {
	var v T
	err := c.answer(ctx, k, &v)
	return v, err
}

func decode(text []byte, v any, k *call) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s /%s: the answer is none of this API: %w", k.method, strings.Join(k.path, "/"), err)
	}
	return nil
}

// ended returns the reason why ctx has ended.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// sleep waits for d or the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

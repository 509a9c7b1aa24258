package client

import (
	"context"
	"io"
	"net/url"
)

// Call is a call that Client has no method for, such as one to an extension of the service.
type Call struct {
	Method string
	Path   []string   // segments, not escaped
	Query  url.Values // may be nil
	Body   any        // sent as JSON; nil sends none
	Key    string     // the Idempotency-Key, such as NewKey returns; "" for none
	// Removes says that 404 counts as success if an earlier attempt may have arrived.
	Removes bool
}

// call returns the call as Client makes it.
func (k Call) call() (*call, error) {
	one := &call{method: k.Method, path: k.Path, query: k.Query, removes: k.Removes}
	if k.Key != "" {
		one.keyed(k.Key)
	}
	if k.Body == nil {
		return one, nil
	}
	return one, one.jsonBody(k.Body)
}

// Do makes a call and decodes its JSON answer into v, unless v is nil. The error is a *Problem if the server
// refuses.
func (c *Client) Do(ctx context.Context, k Call, v any) error {
	one, err := k.call()
	if err != nil {
		return err
	}
	return c.answer(ctx, one, v)
}

// Stream makes a call and returns the body of its answer, which the caller closes.
func (c *Client) Stream(ctx context.Context, k Call) (io.ReadCloser, error) {
	one, err := k.call()
	if err != nil {
		return nil, err
	}
	resp, err := c.do(ctx, one)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

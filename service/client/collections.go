package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"thresher/service/api"
)

// Body is a body of any media type, read from its start for each attempt.
type Body struct {
	Type string // media type
	Size int64  // bytes
	Open func() (io.ReadCloser, error)
}

// Collections lists the collections.
func (c *Client) Collections(ctx context.Context) ([]api.Collection, error) {
	return answerAs[listOf[api.Collection]](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "collections"}})
}

// Collection describes a collection.
func (c *Client) Collection(ctx context.Context, name string) (api.Collection, error) {
	return answerAs[api.Collection](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "collections", name}})
}

// CreateCollection creates a collection of the vectors in body; options are the query
// parameters of the call (metric, basis, ids, replace, wait, ..). key is the Idempotency-Key,
// "" draws one.
func (c *Client) CreateCollection(ctx context.Context, name string, body Body, options url.Values, key string) (api.Collection, error) {
	return c.change(ctx, http.MethodPut, []string{"v1", "collections", name}, body, options, key)
}

// CreateCollectionFrom creates a collection as spec, encoded as JSON, says: for instance
// {"source":{"path":"films.npy"}}.
func (c *Client) CreateCollectionFrom(ctx context.Context, name string, spec any, options url.Values, key string) (api.Collection, error) {
	return c.changeJSON(ctx, http.MethodPut, []string{"v1", "collections", name}, spec, options, key)
}

// DeleteCollection removes a collection.
func (c *Client) DeleteCollection(ctx context.Context, name string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: []string{"v1", "collections", name}, removes: true}, nil)
}

// AppendRows makes a version with the vectors of body after the existing ones.
func (c *Client) AppendRows(ctx context.Context, name string, body Body, options url.Values, key string) (api.Collection, error) {
	return c.change(ctx, http.MethodPost, []string{"v1", "collections", name, "rows"}, body, options, key)
}

// PutRows writes the vectors of body under their ids, durably: those that are there are replaced.
func (c *Client) PutRows(ctx context.Context, name string, body Body, options url.Values, key string) (api.Collection, error) {
	return c.change(ctx, http.MethodPut, []string{"v1", "collections", name, "rows"}, body, options, key)
}

// Rows lists rows of a collection: at most limit whose ids begin with prefix and come after another, "" for none; 0 is the
// service's limit.
func (c *Client) Rows(ctx context.Context, name, prefix, after string, limit int) (api.Rows, error) {
	query := url.Values{}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	if after != "" {
		query.Set("after", after)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return answerAs[api.Rows](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "collections", name, "rows"}, query: query})
}

// DeleteRows makes a version without the atoms of these ids, integers or strings.
func (c *Client) DeleteRows(ctx context.Context, name string, ids []api.ID, key string) (api.Collection, error) {
	spec := map[string]any{"ids": ids}
	return c.changeJSON(ctx, http.MethodDelete, []string{"v1", "collections", name, "rows"}, spec, nil, key)
}

func (c *Client) change(ctx context.Context, method string, path []string, body Body, options url.Values, key string) (api.Collection, error) {
	k := (&call{method: method, path: path, query: options, body: body.Open, length: body.Size}).keyed(key)
	k.set("Content-Type", body.Type)
	return answerAs[api.Collection](ctx, c, k)
}

func (c *Client) changeJSON(ctx context.Context, method string, path []string, spec any, options url.Values, key string) (api.Collection, error) {
	k := (&call{method: method, path: path, query: options}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return api.Collection{}, err
	}
	return answerAs[api.Collection](ctx, c, k)
}

// Search finds the best atoms of each query.
func (c *Client) Search(ctx context.Context, collection string, s api.Search) (api.Found, error) {
	return ask[api.Found](ctx, c, collection, "search", s)
}

// Recall measures the recall of answers of any origin.
func (c *Client) Recall(ctx context.Context, collection string, s api.Stated) (api.Recall, error) {
	return ask[api.Recall](ctx, c, collection, "recall", s)
}

// Certify proves or corrects answers of any origin.
func (c *Client) Certify(ctx context.Context, collection string, s api.Stated) (api.Certified, error) {
	return ask[api.Certified](ctx, c, collection, "certify", s)
}

// Pursuit writes signals as sums of vectors.
func (c *Client) Pursuit(ctx context.Context, collection string, p api.Pursuit) (api.Pursued, error) {
	return ask[api.Pursued](ctx, c, collection, "pursuit", p)
}

// ask sends a JSON body to an endpoint of a collection and returns the decoded answer.
func ask[T any](ctx context.Context, c *Client, collection, endpoint string, body any) (T, error) {
	k := &call{method: http.MethodPost, path: []string{"v1", "collections", collection, endpoint}}
	if err := k.jsonBody(body); err != nil {
		var none T
		return none, err
	}
	return answerAs[T](ctx, c, k)
}

// Version returns the server's build and backend.
func (c *Client) Version(ctx context.Context) (json.RawMessage, error) {
	return answerAs[json.RawMessage](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "version"}})
}

// Ready returns nil once the server's collections are loaded.
func (c *Client) Ready(ctx context.Context) error {
	return c.answer(ctx, &call{method: http.MethodGet, path: []string{"readyz"}}, nil)
}

// Readiness returns the backends that search, once the server's collections are loaded, and why GPUs do not.
func (c *Client) Readiness(ctx context.Context) (api.Readiness, error) {
	return answerAs[api.Readiness](ctx, c, &call{method: http.MethodGet, path: []string{"readyz"}})
}

// Alive returns nil if the server answers, ready or not.
func (c *Client) Alive(ctx context.Context) error {
	return c.answer(ctx, &call{method: http.MethodGet, path: []string{"healthz"}}, nil)
}

// listOf decodes a list that is the whole JSON, or the member data of an object.
type listOf[T any] []T

func (l *listOf[T]) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]T)(l))
	}
	var page struct {
		Data []T `json:"data"`
	}
	err := json.Unmarshal(text, &page)
	*l = page.Data
	return err
}

func joined(segments ...string) string { return strings.Join(escaped(segments), "/") }

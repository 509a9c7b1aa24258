package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Collection is a collection on the server.
type Collection struct {
	Name      string    `json:"name"`
	Version   int64     `json:"version"`
	State     string    `json:"state"` // "building", "loading", "ready", "failed"
	Count     int64     `json:"count"`
	Dimension int       `json:"dimension"`
	Metric    string    `json:"metric"`
	Basis     string    `json:"basis"`
	IDs       string    `json:"ids"`   // "row", "int", "string"
	Bytes     int64     `json:"bytes"` // of memory
	Backend   string    `json:"backend"`
	CreatedAt time.Time `json:"created_at"`
	// Next, if not 0, is the version that is being built; Progress in [0, 1] is its.
	Next     int64   `json:"next_version"`
	Progress float64 `json:"progress"`
	Error    string  `json:"error"`
}

// Body is a body of any media type, read from the start for each attempt.
type Body struct {
	Type string // media type
	Size int64  // bytes
	Open func() (io.ReadCloser, error)
}

// Collections lists the collections.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	return answerAs[listOf[Collection]](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "collections"}})
}

// Collection describes a collection.
func (c *Client) Collection(ctx context.Context, name string) (Collection, error) {
	return answerAs[Collection](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "collections", name}})
}

// CreateCollection makes a collection of the vectors in body; options are the query
// parameters of the call (metric, basis, ids, replace, wait, ..). key is the
// Idempotency-Key, "" makes one.
func (c *Client) CreateCollection(ctx context.Context, name string, body Body, options url.Values, key string) (Collection, error) {
	return c.change(ctx, http.MethodPut, []string{"v1", "collections", name}, body, options, key)
}

// CreateCollectionFrom makes a collection of what spec, as JSON, says: for instance
// {"source":{"path":"films.npy"}}.
func (c *Client) CreateCollectionFrom(ctx context.Context, name string, spec any, options url.Values, key string) (Collection, error) {
	return c.changeJSON(ctx, http.MethodPut, []string{"v1", "collections", name}, spec, options, key)
}

// DeleteCollection removes a collection.
func (c *Client) DeleteCollection(ctx context.Context, name string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: []string{"v1", "collections", name}, removes: true}, nil)
}

// AppendRows makes a version with the vectors of body behind the others.
func (c *Client) AppendRows(ctx context.Context, name string, body Body, options url.Values, key string) (Collection, error) {
	return c.change(ctx, http.MethodPost, []string{"v1", "collections", name, "rows"}, body, options, key)
}

// DeleteRows makes a version without the atoms of these ids, integers or texts.
func (c *Client) DeleteRows(ctx context.Context, name string, ids []any, key string) (Collection, error) {
	spec := map[string]any{"ids": ids}
	return c.changeJSON(ctx, http.MethodDelete, []string{"v1", "collections", name, "rows"}, spec, nil, key)
}

func (c *Client) change(ctx context.Context, method string, path []string, body Body, options url.Values, key string) (Collection, error) {
	k := (&call{method: method, path: path, query: options, body: body.Open, length: body.Size}).keyed(key)
	k.set("Content-Type", body.Type)
	return answerAs[Collection](ctx, c, k)
}

func (c *Client) changeJSON(ctx context.Context, method string, path []string, spec any, options url.Values, key string) (Collection, error) {
	k := (&call{method: method, path: path, query: options}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return Collection{}, err
	}
	return answerAs[Collection](ctx, c, k)
}

// Search asks a collection; the zero values of what is not asked for are left out.
type Search struct {
	Queries   [][]float32 `json:"queries"`
	K         int         `json:"k,omitempty"`
	Delta     float64     `json:"delta,omitempty"`
	Epsilon   float64     `json:"epsilon,omitempty"`
	Method    string      `json:"method,omitempty"`
	TimeoutMS float64     `json:"timeout_ms,omitempty"`
	Allow     []any       `json:"allow,omitempty"`
	Deny      []any       `json:"deny,omitempty"`
	Include   []string    `json:"include,omitempty"`
}

// Found is the answer to a Search.
type Found struct {
	Version int64    `json:"version"`
	Results []Result `json:"results"`
	TookMS  float64  `json:"took_ms"`
}

// Result is the answer to one query, best first.
type Result struct {
	IDs         []any           `json:"ids"` // float64 or string
	Scores      []float32       `json:"scores"`
	Complete    bool            `json:"complete"`
	Certificate json.RawMessage `json:"certificate"` // a batch.Certificate without looks
}

// Search finds the best atoms of each query.
func (c *Client) Search(ctx context.Context, collection string, s Search) (Found, error) {
	k := &call{method: http.MethodPost, path: []string{"v1", "collections", collection, "search"}}
	if err := k.jsonBody(s); err != nil {
		return Found{}, err
	}
	return answerAs[Found](ctx, c, k)
}

// Version is the server's build and backend, as it tells them.
func (c *Client) Version(ctx context.Context) (json.RawMessage, error) {
	return answerAs[json.RawMessage](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "version"}})
}

// Ready returns nil once the server's collections are loaded.
func (c *Client) Ready(ctx context.Context) error {
	return c.answer(ctx, &call{method: http.MethodGet, path: []string{"readyz"}}, nil)
}

// listOf reads a list that stands alone, or as the member data of an object.
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

package client

import (
	"context"
	"net/http"

	"thresher/service/api"
)

// SearchPath is the endpoint of searches in a collection.
func SearchPath(collection string) string {
	return "/" + joined("v1", "collections", collection, "search")
}

// CreateBatch creates a batch. key is the Idempotency-Key; if it is "", a random one is sent.
func (c *Client) CreateBatch(ctx context.Context, spec api.BatchSpec, key string) (api.Batch, error) {
	k := (&call{method: http.MethodPost, path: []string{"v1", "batches"}}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return api.Batch{}, err
	}
	return answerAs[api.Batch](ctx, c, k)
}

// Batch returns the batch with this id.
func (c *Client) Batch(ctx context.Context, id string) (api.Batch, error) {
	return answerAs[api.Batch](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "batches", id}})
}

// Batches lists batches, newest first: those created before the batch with id after, or from the
// newest on if after is "". limit 0 means the server's default.
func (c *Client) Batches(ctx context.Context, after string, limit int) (api.Page[api.Batch], error) {
	return answerAs[api.Page[api.Batch]](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "batches"}, query: Paging(after, limit)})
}

// CancelBatch cancels a batch. Answers that were already computed are kept.
func (c *Client) CancelBatch(ctx context.Context, id string) (api.Batch, error) {
	return answerAs[api.Batch](ctx, c, &call{method: http.MethodPost, path: []string{"v1", "batches", id, "cancel"}})
}

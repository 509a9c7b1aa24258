package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// BatchSpec asks for a batch.
type BatchSpec struct {
	InputFileID      string            `json:"input_file_id"`
	Endpoint         string            `json:"endpoint"`
	CompletionWindow string            `json:"completion_window,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	Search           json.RawMessage   `json:"search,omitempty"`
	OutputFormat     string            `json:"output_format,omitempty"`
}

// SearchPath is the endpoint of searches in a collection.
func SearchPath(collection string) string {
	return "/" + joined("v1", "collections", collection, "search")
}

// Batch is a batch on the server. Times are Unix seconds.
type Batch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Endpoint         string            `json:"endpoint"`
	Errors           *BatchErrors      `json:"errors"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           string            `json:"status"`
	OutputFileID     *string           `json:"output_file_id"`
	ErrorFileID      *string           `json:"error_file_id"`
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	CompletedAt      *int64            `json:"completed_at"`
	FailedAt         *int64            `json:"failed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CancelledAt      *int64            `json:"cancelled_at"`
	RequestCounts    BatchCounts       `json:"request_counts"`
	Metadata         map[string]string `json:"metadata"`
	Collections      []BatchCollection `json:"collections"`
	Search           json.RawMessage   `json:"search,omitempty"`
	OutputFormat     string            `json:"output_format,omitempty"`
	Progress         BatchProgress     `json:"progress"`
}

// BatchErrors is why a batch failed as a whole.
type BatchErrors struct {
	Data []BatchError `json:"data"`
}

// BatchError is one reason; Line counts from 1.
type BatchError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int64  `json:"line"`
}

// BatchCounts are requests; Total is 0 until the server has counted.
type BatchCounts struct {
	Total     int64 `json:"total"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// BatchCollection is a version that answers.
type BatchCollection struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// BatchProgress is how the work goes.
type BatchProgress struct {
	Position         int      `json:"position"` // batches that come first
	Queries          int64    `json:"queries"`
	QueriesPerSecond float64  `json:"queries_per_second"`
	Pulls            int64    `json:"pulls"`
	DensePulls       int64    `json:"dense_pulls"`
	Saving           float64  `json:"saving"`
	SecondsLeft      *float64 `json:"seconds_left"`
}

// Batches is a part of the list of batches, newest first.
type Batches struct {
	Data    []Batch `json:"data"`
	HasMore bool    `json:"has_more"`
}

// Final reports whether nothing changes any more.
func (b *Batch) Final() bool {
	switch b.Status {
	case "completed", "failed", "expired", "cancelled":
		return true
	}
	return false
}

// CreateBatch makes a batch; key is its Idempotency-Key, "" makes one.
func (c *Client) CreateBatch(ctx context.Context, spec BatchSpec, key string) (Batch, error) {
	k := (&call{method: http.MethodPost, path: []string{"v1", "batches"}}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return Batch{}, err
	}
	return answerAs[Batch](ctx, c, k)
}

// Batch describes a batch.
func (c *Client) Batch(ctx context.Context, id string) (Batch, error) {
	return answerAs[Batch](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "batches", id}})
}

// Batches lists batches, those after the batch of this id; limit 0 is the server's.
func (c *Client) Batches(ctx context.Context, after string, limit int) (Batches, error) {
	return answerAs[Batches](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "batches"}, query: paging(after, limit)})
}

// CancelBatch ends a batch; what is answered stays.
func (c *Client) CancelBatch(ctx context.Context, id string) (Batch, error) {
	return answerAs[Batch](ctx, c, &call{method: http.MethodPost, path: []string{"v1", "batches", id, "cancel"}})
}

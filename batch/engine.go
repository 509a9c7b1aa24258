package batch

import (
	"context"

	"thresher/backend"
	"thresher/collection"
)

// Engine answers batches of queries over one collection. It is safe for
// concurrent use.
type Engine struct{}

// Open loads c on b and returns an engine over it. The caller keeps c and b,
// which must outlive the engine.
func Open(ctx context.Context, c *collection.Collection, b backend.Backend, o *Options) (*Engine, error) {
	panic("draft")
}

// Search answers req. A context or timeout that ends the search gives the best
// answers so far and no error: their certificates say so.
func (e *Engine) Search(ctx context.Context, req Request) (*Response, error) { panic("draft") }

// Close frees what the engine holds.
func (e *Engine) Close() error { panic("draft") }

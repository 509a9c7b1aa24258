package api

import "encoding/json"

// BatchStatus is how far a batch is.
type BatchStatus string

// The statuses; the last four are final.
const (
	BatchValidating BatchStatus = "validating" // also while it waits for its turn
	BatchInProgress BatchStatus = "in_progress"
	BatchFinalizing BatchStatus = "finalizing"
	BatchCancelling BatchStatus = "cancelling"
	BatchCompleted  BatchStatus = "completed"
	BatchFailed     BatchStatus = "failed"
	BatchExpired    BatchStatus = "expired"
	BatchCancelled  BatchStatus = "cancelled"
)

// BatchStatuses lists all of them.
func BatchStatuses() []BatchStatus {
	return []BatchStatus{BatchValidating, BatchInProgress, BatchFinalizing, BatchCancelling, BatchCompleted, BatchFailed, BatchExpired, BatchCancelled}
}

// Final reports whether nothing changes any more.
func (s BatchStatus) Final() bool {
	return s == BatchCompleted || s == BatchFailed || s == BatchExpired || s == BatchCancelled
}

// BatchSpec asks for a batch.
type BatchSpec struct {
	InputFileID string `json:"input_file_id"`
	// Endpoint is /v1/collections/{name}/search with the name of a collection,
	// whose current version answers all lines that name it.
	Endpoint string `json:"endpoint"`
	// CompletionWindow is how long the batch may take, "24h" or "90m"; "" is 24h.
	CompletionWindow string            `json:"completion_window,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	// Search holds the options of a matrix file, as the body of a search has them,
	// without queries. A JSONL file with it is read as a matrix.
	Search json.RawMessage `json:"search,omitempty"`
	// OutputFormat of a matrix file: "jsonl", "npz" or "parquet"; "" is jsonl.
	OutputFormat string `json:"output_format,omitempty"`
}

// Batch is a batch of requests: the batch object of the OpenAI API and, from Collections
// on, members of our own. Times are Unix seconds.
type Batch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"` // "batch"
	Endpoint         string            `json:"endpoint"`
	Errors           *BatchErrors      `json:"errors"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           BatchStatus       `json:"status"`
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

	// Collections are the versions that answer.
	Collections  []BatchCollection `json:"collections"`
	Search       json.RawMessage   `json:"search,omitempty"`
	OutputFormat string            `json:"output_format,omitempty"`
	Progress     BatchProgress     `json:"progress"`
}

// BatchErrors is why a batch failed as a whole.
type BatchErrors struct {
	Object string       `json:"object"` // "list"
	Data   []BatchError `json:"data"`
}

// BatchError is one reason. Code is the kind of a problem or one of the batches' own; Line
// counts from 1.
type BatchError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int64  `json:"line"`
}

// BatchCounts are requests: lines of a file of requests, rows of a matrix. Total is 0
// until validation has counted.
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

// BatchProgress is how the work goes. Rates are of the time that was spent at work,
// restarts included.
type BatchProgress struct {
	// Position is how many batches come first; 0 means at work, or done.
	Position int `json:"position"`
	// Queries are those answered; a request may have several.
	Queries          int64   `json:"queries"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	// Pulls are the coordinates of atoms that were read, DensePulls those that dense
	// scans read, and Saving is how many times fewer the former are; 1 if there are none.
	Pulls      int64   `json:"pulls"`
	DensePulls int64   `json:"dense_pulls"`
	Saving     float64 `json:"saving"`
	// SecondsLeft is what the rest is expected to take; null when nothing tells.
	SecondsLeft *float64 `json:"seconds_left"`
}

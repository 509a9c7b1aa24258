package api

import "encoding/json"

// BatchStatus is the state of a batch.
type BatchStatus string

// The statuses; the last four are final.
const (
	BatchValidating BatchStatus = "validating" // also while the batch is queued
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

// Final reports whether the status never changes again.
func (s BatchStatus) Final() bool {
	return s == BatchCompleted || s == BatchFailed || s == BatchExpired || s == BatchCancelled
}

// BatchSpec is the request that creates a batch.
type BatchSpec struct {
	InputFileID string `json:"input_file_id"`
	// Endpoint is /v1/collections/{name}/search. The collection's current version answers all
	// lines that name it.
	Endpoint string `json:"endpoint"`
	// CompletionWindow is how long the batch may take, "24h" or "90m"; "" is 24h.
	CompletionWindow string            `json:"completion_window,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	// Search holds the options of a matrix file, as the body of a search does, without
	// queries. If it is set, a JSONL file is read as a matrix.
	Search json.RawMessage `json:"search,omitempty"`
	// OutputFormat of a matrix file: "jsonl", "npz", "csv" or "parquet"; "" is jsonl.
	OutputFormat string `json:"output_format,omitempty"`
	// Goals, if not nil, says what each row of a matrix file asks for itself.
	Goals *BatchGoals `json:"goals,omitempty"`
	// Column names the columns of a matrix file that make the vectors, and Header says whether the
	// first line of CSV names its columns, yes or no; "" of either decides what has one reading.
	Column string `json:"column,omitempty"`
	Header string `json:"header,omitempty"`
}

// BatchGoals names what the rows of a matrix file ask for themselves, in addition to what
// BatchSpec.Search asks for all; "" names nothing.
type BatchGoals struct {
	// KColumn, MinScoreColumn and MaxScoreColumn are columns of the input file with k and the
	// least and the greatest score of each row; null takes that of BatchSpec.Search. Of the metric l2
	// MaxDistanceColumn and MinDistanceColumn are those with the greatest and the least squared distance.
	KColumn           string `json:"k_column,omitempty"`
	MinScoreColumn    string `json:"min_score_column,omitempty"`
	MaxScoreColumn    string `json:"max_score_column,omitempty"`
	MaxDistanceColumn string `json:"max_distance_column,omitempty"`
	MinDistanceColumn string `json:"min_distance_column,omitempty"`
	// FilterColumn is a column of the input file with an expression for each row that says which vectors its answer may have, in
	// place of the filter of BatchSpec.Search; null is none.
	FilterColumn string `json:"filter_column,omitempty"`
	// ExcludeFileID is the id of a file of lists, one a row, of the ids that the row may not
	// return: a sparse matrix of scipy (.npz), .jsonl or .ivecs.
	ExcludeFileID string `json:"exclude_file_id,omitempty"`
	// Zeros says whether a zero that the sparse matrix of that file stores excludes its id: keep or
	// drop; "" makes such a zero an error.
	Zeros string `json:"zeros,omitempty"`
	// CandidatesFileID is the id of a file of answers to the rows, of any origin, whose atoms
	// are scored first.
	CandidatesFileID string `json:"candidates_file_id,omitempty"`
}

// Batch is a batch of requests: the batch object of the OpenAI API, followed, from
// Collections on, by thresher's extensions. Times are Unix seconds.
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
	Goals        *BatchGoals       `json:"goals,omitempty"`
	Column       string            `json:"column,omitempty"`
	Header       string            `json:"header,omitempty"`
	Progress     BatchProgress     `json:"progress"`
}

// BatchErrors lists the reasons why a whole batch failed.
type BatchErrors struct {
	Object string       `json:"object"` // "list"
	Data   []BatchError `json:"data"`
}

// BatchError is one reason. Code is a kind of problem or one of the codes of batches; Line
// counts from 1.
type BatchError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int64  `json:"line"`
}

// BatchCounts counts requests: the lines of a file of requests, or the rows of a matrix.
// Total is 0 until validation has counted them.
type BatchCounts struct {
	Total     int64 `json:"total"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// BatchCollection is a pinned version that answers the batch.
type BatchCollection struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// BatchProgress describes the progress of a batch. Rates refer to the time spent working,
// across restarts.
type BatchProgress struct {
	// Position is the number of batches ahead in the queue; 0 means running or final.
	Position int `json:"position"`
	// Queries is the number of answered queries; a request may have several.
	Queries          int64   `json:"queries"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	// Pulls counts the coordinates of atoms that were read, DensePulls those that dense scans
	// would have read; Saving is DensePulls / Pulls, 1 if there are none. They are -1, -1 and 0
	// for clients that may not write.
	Pulls      int64   `json:"pulls"`
	DensePulls int64   `json:"dense_pulls"`
	Saving     float64 `json:"saving"`
	// SecondsLeft is the expected remaining time; null if it is unknown.
	SecondsLeft *float64 `json:"seconds_left"`
}

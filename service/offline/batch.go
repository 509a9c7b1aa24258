package offline

import (
	"time"

	"thresher/service/api"
)

// What clients see of batches.
type (
	Batch    = api.Batch
	Spec     = api.BatchSpec
	Status   = api.BatchStatus
	Errors   = api.BatchErrors
	Error    = api.BatchError
	Counts   = api.BatchCounts
	Pinned   = api.BatchCollection
	Progress = api.BatchProgress
	Page     = api.Page[Batch]
)

// The statuses of a batch; the last four are final.
const (
	Validating = api.BatchValidating // also while it is queued
	InProgress = api.BatchInProgress
	Finalizing = api.BatchFinalizing
	Cancelling = api.BatchCancelling
	Completed  = api.BatchCompleted
	Failed     = api.BatchFailed
	Expired    = api.BatchExpired
	Cancelled  = api.BatchCancelled
)

// defaultWindow is how long a batch may take that does not say.
const defaultWindow = 24 * time.Hour

package offline

import (
	"time"

	"thresher/service/api"
)

// The types of batches that clients see.
type (
	Batch = api.Batch
	Spec  = api.BatchSpec

	BatchGoals = api.BatchGoals

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

// defaultWindow is the completion window of a batch that names none.
const defaultWindow = 24 * time.Hour

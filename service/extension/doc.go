// Package extension is how the service knows of what it serves beside collections, files and offline jobs.
//
// An [Extension] keeps things of its own in the data folder, in the service's database or in one beside it,
// and answers requests for them: the service opens, checks, repairs and backs up what it keeps, gives it a
// share of the memory, and calls its [Route]s with a [Call] for each request that was admitted.
package extension

// Package batch is the library's front door: an Engine that answers batches of
// queries over one collection, the driver of the elimination rounds, and the
// certificate of every answer. Package batch/plan chooses how.
package batch

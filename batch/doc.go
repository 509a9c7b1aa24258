// Package batch searches collections: an Engine answers batches of queries over one
// collection, drives the elimination rounds, and gives every answer a certificate.
// Package batch/plan chooses the looks.
package batch

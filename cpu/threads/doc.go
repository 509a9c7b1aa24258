// Package threads runs the steps of searches on several goroutines: a crew for each collection, whose goroutines share
// out the queries of a step, and helpers that take pieces of the work of runs of one query. It says when a context is
// to be checked.
package threads

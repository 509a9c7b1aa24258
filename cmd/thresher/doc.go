// Command thresher finds the k largest inner products of many queries against
// many vectors by elimination, from files to files.
//
// Verbs are one file each. A verb reads its settings from package config,
// vectors from package dataset, and leaves the search to package batch and the
// durable progress of long runs to package jobs. Only this package chooses a
// backend.
//
// Exit codes: 0 ok, 1 wrong answers found by verify or a batch of job that is not
// completed, 2 usage or bad input, 3 deadline with a partial answer, 4 backend
// unavailable, 130 interrupted.
package main

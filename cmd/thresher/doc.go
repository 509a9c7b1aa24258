// Command thresher finds the k largest inner products of many queries against
// many vectors by elimination, from files to files.
//
// A verb has the file VERB.go, or GROUP_VERB.go, and its parts lie beside it as
// VERB_NOUN.go; a noun alone names what several verbs use. A verb reads its settings from package config,
// vectors from package dataset, and leaves the search to package batch and the
// durable progress of long runs to package jobs. Only this package chooses a
// backend.
//
// Exit codes: 0 ok, 1 wrong answers found by verify or a batch of job that is not
// completed, 2 usage or bad input, 3 deadline with a partial answer, 4 backend
// unavailable, 130 interrupted.
package main

// Command thresher finds the k largest inner products of many queries against
// many vectors by elimination, from files to files.
//
// The file of a verb is VERB.go, or GROUP_VERB.go, and its parts are VERB_NOUN.go; a file
// named by a noun alone serves several verbs. A verb reads its settings through package
// config and vectors through package dataset; package batch searches, and package jobs makes
// the progress of long runs durable. Only this package chooses a backend,
// and only it adds the commands and the extensions of the service that are in the folder choice.
//
// Exit codes: 0 ok, 1 wrong answers found by verify or a batch of job that did not complete,
// 2 usage or bad input, 3 deadline with a partial answer, 4 backend unavailable, 130
// interrupted.
package main

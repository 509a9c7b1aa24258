// Package service answers searches, offline jobs and the Open Inference Protocol
// over HTTP.
//
// There are only a few types. A [Server] holds one data folder: its collections, files and
// batches. [Options] determine what it may do and for whom. One table, in routes.go, has
// every path with its methods, required scopes and parameters; openapi.yaml describes the
// same paths, and a test compares the two. What else a server offers are [Extensions], which package
// extension describes; the caller chooses them.
//
// # Processing of a request
//
// A request gets an identity (request id, trace) and is checked by host, origin and token;
// the table finds the handler. Handlers return errors; one place converts them to problems
// (RFC 9457), so that an error caused by a client is never an internal one. The body of a
// search is read before it waits for a slot. The numbers of concurrent and waiting searches
// and the memory of their bodies are bounded.
//
// # Slow and hostile clients
//
// There is no timeout for a whole request, because uploads may be large. Instead, each read
// of a body extends its deadline by the bytes received; a body that falls below a minimum
// rate is aborted, as is an answer that the client does not read.
package service

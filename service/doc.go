// Package service answers searches, offline jobs and the Open Inference Protocol
// over HTTP.
//
// There are only a few types. A [Server] holds one data folder: its collections,
// files and batches. [Options] say what it may do and for whom. One table, in
// routes.go, has every path with its methods, who may ask, and which parameters
// there are; openapi.yaml describes the same paths, and a test compares the two.
//
// # A request's way
//
// Whoever asks gets an identity (request id, trace), then is let through by its
// host, origin and token; the table finds the handler. Handlers return errors;
// one place makes problems (RFC 9457) of them, so that what a client can cause is
// never an internal one. A search enters the gate before its body is read: so
// many at once, so many bytes of bodies, so many that wait.
//
// # Slow and hostile clients
//
// No timeout is for a whole request, because uploads may be large. Instead, each
// read of a body extends its deadline by what came, and a body that falls below a
// rate is given up, as is an answer that nobody takes.
package service

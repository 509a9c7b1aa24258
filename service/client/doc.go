// Package client calls the /v1 API of a thresher server with net/http alone.
//
// A [Client] is an address and a token. Its methods take a context, return what the
// server says, and fail with a [*Problem] when the server refuses. A connection that
// is lost and a server that is busy or not there (429, 502, 503, 504) are tried again,
// so many times and after what Retry-After says; calls that create something carry
// an Idempotency-Key, so that what is tried again is done once. Downloads that break
// off go on where they were.
package client

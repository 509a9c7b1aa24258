// Package client calls the /v1 API of a thresher server with net/http alone.
//
// A [Client] is an address and a token. Its methods take a context, return the server's
// answer, and fail with a [*Problem] if the server refuses. Lost connections and the statuses
// 429, 502, 503 and 504 are retried a limited number of times, with the waits of Retry-After;
// calls that create something carry an Idempotency-Key, so that a retry does not repeat their
// effect. Interrupted downloads are resumed.
package client

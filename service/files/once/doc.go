// Package once remembers what was done under an idempotency key.
//
// A key is recorded in the transaction that records what was made, with a
// fingerprint of the request: so whoever asks again, after an answer that was lost or
// a crash, finds the first result, and a key is never taken for another request.
package once

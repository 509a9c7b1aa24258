// Package wire is what goes in and out of a search over HTTP: decoders of
// bodies (JSON, npy, lines of a batch) and encoders of answers (JSON, npz).
// Everything here is a pure function; every error that a body can cause is a
// *problem.Problem that names the field, the element and the limit, and no body
// takes more memory than a small multiple of its own length.
package wire

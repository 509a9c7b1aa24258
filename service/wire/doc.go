// Package wire decodes the bodies of searches (JSON, npy, lines of a batch) and encodes
// answers (JSON, npz). All functions are pure; every error that a body can cause is a
// *problem.Problem that names field, element and limit, and decoding takes at most a small
// multiple of the body's length in memory.
package wire

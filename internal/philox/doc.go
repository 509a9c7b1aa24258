// Package philox is the seeded counter generator behind every random choice:
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
//
// A counter generator has no hidden state: the i-th number of a stream is a
// function of (seed, stream, i) alone. Coordinate orders, sign flips and
// generated test data are therefore the same at any thread count, batch split
// or backend, and a value in the middle of a huge matrix can be computed
// without the values before it.
//
// It is a statistical generator, not a cryptographic one.
package philox

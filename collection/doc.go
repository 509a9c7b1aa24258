// Package collection prepares atoms for elimination: a head of principal directions, a
// random rotation of the rest, int8 codes in panels, the terms of every bound, and the
// original rows.
//
// All arithmetic uses the kernels of package simd that suit the processor. They differ in
// the last bits, so a collection built on another processor has slightly different codes,
// each with terms that bound it: a file keeps the guarantee wherever it was built. What
// scores are made of, the rows and their squared norms, is the same bit for bit everywhere.
//
// A Collection is immutable. It is built from rows in memory or streamed from a
// dataset.Reader, can be saved to one file, and opened again by mapping that.
package collection

// Package collection makes atoms ready for elimination: a head of principal
// directions, a random rotation of the rest, int8 codes in slabs, the terms of
// every bound, and the original rows kept as given.
//
// All arithmetic is by the kernels of simd that suit the processor. They
// differ in last bits: a collection built on another processor has slightly
// other codes, each with the terms that bound it, so that a file built anywhere
// answers everywhere as the guarantee says. What scores are made of, the rows and
// their squared norms, is the same bit for bit wherever it was built.
//
// A Collection is immutable. It is built from rows in memory or streamed from
// a dataset.Reader, can be saved to one file, and opened again by mapping it.
package collection

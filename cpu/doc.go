// Package cpu is the reference backend. It runs on all cores, with the kernels of package simd
// for the processor's instruction set, or portable Go.
//
// The queries of a run read the collection together, chunk by chunk; they share the rows that are
// read, and no results. The plan alone determines the boundaries of chunks, so an answer does
// not depend on the batch, its size or the number of threads. The threads divide the
// queries among them or, if there are fewer queries than threads, the atoms of each chunk.
//
// Packages scan, revisit and dense take the steps of a run; this one leads queries through them and ends runs.
package cpu

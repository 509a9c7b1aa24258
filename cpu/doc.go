// Package cpu is the reference backend: elimination over all cores, with the
// kernels of simd that the processor runs, portable Go among them.
//
// Queries walk through the collection side by side, chunk by chunk at boundaries
// that only the plan decides, and share nothing but what is read, so an answer
// does not depend on the batch, its size or the number of threads. Queries are
// split over threads; fewer queries than threads share the atoms of each chunk.
package cpu

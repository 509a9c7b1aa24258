// Package cpu is the reference backend: elimination over all cores, with the
// kernels of simd that the processor runs, portable Go among them.
//
// The queries of a run read the collection together, chunk by chunk, and share nothing
// but what is read. The plan alone determines the boundaries of chunks, so an answer does
// not depend on the batch, its size or the number of threads. The threads divide the
// queries among them or, if there are fewer queries than threads, the atoms of each chunk.
package cpu

// Package cpu is the reference backend: elimination in pure Go over all cores.
//
// Every query of a batch walks through the collection by itself, chunk by
// chunk at boundaries that only the plan decides, so an answer does not depend
// on the batch, its size or the number of threads. Large batches are split
// over threads by queries, small ones by atoms within each chunk.
package cpu

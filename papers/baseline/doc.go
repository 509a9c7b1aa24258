// Package baseline has the methods of maximum inner product search that the papers compare theirs with, plainly, one file a
// method: LSH-MIPS, Greedy-MIPS, PCA-MIPS, and the naive scan. They exist for the papers' figures and are no methods of a search.
//
// A method is built once from [Vectors] and then answers queries at different settings, each a [Searcher]. Work is counted as
// the papers count it: a multiplication is of one coordinate of an atom, or of what was computed from atoms beforehand, by
// one number. Answers are deterministic, whatever the number of threads.
package baseline

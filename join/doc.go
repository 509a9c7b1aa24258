// Package join compares the atoms of a collection with each other instead of with queries: the
// graph of the k nearest neighbours of every atom, and all pairs of atoms that score at least
// a limit.
//
// A join asks a [batch.Engine] for the atoms in blocks, as queries that may not return
// themselves. So every row of a graph and every pair has the guarantee that a search by the
// same method has. What is found is handed on block by block. Pairs are never all in
// memory; the rows of a graph are if pairs of atoms are searched, 12 bytes a neighbour.
// [PairLog] keeps the pairs of blocks on disk and merges them in order, and [Components] are
// what they connect.
//
// A join by keys is one of two tables: for each row of the left one, the best of the rows of the [Right] one
// whose keys are equal. Rows with equal keys are a group, of which the caller says the number. Each group is
// searched by an engine of its own or, where few pairs are to be scored, scanned, with the same answers.
package join

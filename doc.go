// Package thresher finds the k best of many vectors for each of many queries by elimination, with a
// certificate for every answer: the largest inner products, the largest cosines, or the smallest
// squared Euclidean distances. There is nothing to train or tune.
//
// An [Index] holds vectors that are prepared once; [KNN] is for vectors that are searched once. Beside
// [Index.Search] there is what tells how good answers of any origin are ([Index.Recall],
// [Index.Certify], [Index.Verify]), ground truth ([Index.Truth]), and what compares the vectors with
// each other ([Index.Graph], [Index.Pairs]).
//
// Vectors and queries are rows of a matrix, one after the other in one slice, of float32 or float64.
// Answers have their row numbers, from 0 on, and what the program calls them, if [Options] say so by
// [IDsOf]. Scores are inner products, cosines or squared distances,
// best first, ties by ascending row number.
//
// Searches run on the CPU unless [Options] name another backend. What they promise, and how it is
// proven, is in docs/guarantee.md.
package thresher

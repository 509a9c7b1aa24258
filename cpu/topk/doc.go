// Package topk selects the k best of many scores: structures that hold the k best pushed so far and know the k-th,
// selections from lists of bounds, and sorting by score.
package topk

// Package thresher finds the k best of many vectors for each of many queries by elimination, with a
// certificate for every answer: the largest inner products, the largest cosines, or the smallest
// squared Euclidean distances. There is nothing to train or tune.
//
// An [Index] holds vectors that are prepared once; [KNN] is for vectors that are searched once. Beside
// [Index.Search] there is what tells how good answers of any origin are ([Index.Recall],
// [Index.Certify], [Index.Verify]), ground truth ([Index.Truth]), and what compares the vectors with
// each other ([Index.Graph], [Index.Pairs]).
//
// The vectors can change: [Index.Upsert] and [Index.Remove] write and remove them by their ids. A search sees
// what there was when it began. From the first change on, all methods but Search and Truth prepare what is there
// once more, at their first call after a change.
//
// Vectors and queries are rows of a matrix, one after the other in one slice, of float32 or float64.
// Answers have their row numbers, from 0 on, and what the program calls them, if [Options] say so by
// [IDsOf]. Scores are inner products, cosines or squared distances,
// best first, ties by ascending row number.
//
// A whole program, which certifies what another one answered and prints what is now promised:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"thresher"
//	)
//
//	func main() {
//		index, err := thresher.New(context.Background(), []float32{9, 8, 0, 9, 0, 8, 0, 0, 7}, 3, thresher.Options{Metric: thresher.Cosine})
//		if err != nil {
//			log.Fatal(err)
//		}
//		proven, summary, err := index.Certify(context.Background(), thresher.Request{Queries: []float32{1, 0, 1}, K: 2}, []thresher.Stated{{Rows: []int64{0, 1}}}, nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(summary.Before(), proven.Answers[0].Rows, thresher.Promise(&proven.Answers[0].Certificate, 2))
//	}
//
// Searches run on the CPU unless [Options] name another backend. What they promise, and how it is
// proven, is in docs/guarantee.md.
package thresher

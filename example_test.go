package thresher_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"thresher"
)

// Eight words in a space of four meanings: royal, male, female, fruit.
var (
	words   = []string{"king", "queen", "prince", "princess", "man", "woman", "apple", "pear"}
	meaning = []float32{
		9, 8, 0, 0,
		9, 0, 8, 0,
		7, 6, 0, 0,
		7, 0, 6, 0,
		0, 9, 0, 0,
		0, 0, 9, 0,
		0, 0, 0, 9,
		0, 0, 1, 8,
	}
)

// indexed returns an index of the words, which tests of errors do not need.
func indexed(metric thresher.Metric) *thresher.Index {
	index, err := thresher.New(context.Background(), meaning, 4, thresher.Options{Metric: metric})
	if err != nil {
		log.Fatal(err)
	}
	return index
}

func Example() {
	ctx := context.Background()
	index, err := thresher.New(ctx, meaning, 4, thresher.Options{Metric: thresher.InnerProduct})
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()

	// something royal and female, and some fruit
	found, err := index.Search(ctx, thresher.Request{Queries: []float32{1, 0, 2, 0, 0, 0, 0, 1}, K: 2})
	if err != nil {
		log.Fatal(err)
	}
	for j, a := range found.Answers {
		fmt.Println(j, words[a.Rows[0]], a.Scores[0], words[a.Rows[1]], a.Scores[1])
		fmt.Println(" ", thresher.Promise(&a.Certificate, 2))
	}
	// Output:
	// 0 queen 25 princess 19
	//   these are the true 2 best, beyond chance
	// 1 apple 9 pear 8
	//   these are the true 2 best, beyond chance
}

// A least score in place of k asks for every vector that reaches it; for l2 that is every vector
// within a squared distance.
func ExampleIndex_Search() {
	index := indexed(thresher.Euclidean)
	defer index.Close()
	within := 10.0
	found, err := index.Search(context.Background(), thresher.Request{Queries: meaning, MinScore: &within, ExcludeSelf: true})
	if err != nil {
		log.Fatal(err)
	}
	for j, a := range found.Answers {
		for i, row := range a.Rows {
			fmt.Println(words[j], words[row], a.Scores[i])
		}
	}
	// Output:
	// king prince 8
	// queen princess 8
	// prince king 8
	// princess queen 8
	// apple pear 2
	// pear apple 2
}

// Answers call vectors what the program calls them.
func ExampleIDsOf() {
	ctx := context.Background()
	o := thresher.Options{Metric: thresher.Cosine, IDs: thresher.IDsOf(words)}
	index, err := thresher.New(ctx, meaning, 4, o)
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	kings, err := index.Rows(thresher.IDsOf([]string{"king"}))
	if err != nil {
		log.Fatal(err)
	}
	found, err := index.Search(ctx, thresher.Request{
		Queries: meaning[:4], K: 2, Goals: []thresher.QueryGoal{{Exclude: kings}},
	})
	if err != nil {
		log.Fatal(err)
	}
	a := found.Answers[0]
	fmt.Println(a.TextIDs, a.Rows, a.Guarantee, a.Complete)
	_, err = index.Pairs(ctx, thresher.PairOptions{MinScore: .995}, func(p thresher.Pair) error {
		fmt.Println(index.IDs().Text(p.A), index.IDs().Text(p.B))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// [prince man] [2 4] exact true
	// king prince
	// queen princess
}

// An index is saved, and opened again without preparing its vectors.
func ExampleOpen() {
	ctx := context.Background()
	metric, err := thresher.ParseMetric("cosine") // as a program's user writes it
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "words.thresher")
	made := indexed(metric)
	if err := errors.Join(made.Save(ctx, path, false), made.Close()); err != nil {
		log.Fatal(err)
	}

	index, err := thresher.Open(ctx, path, thresher.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	fmt.Println(index.Len(), "x", index.Dim(), index.Metric())
	plans, err := index.Engine().Plans(thresher.Request{Queries: meaning[:4], K: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("it would be searched by plan", plans[0].Plan)
	// Output:
	// 8 x 4 cosine
	// it would be searched by plan dense
}

// Vectors that are searched once need no index.
func ExampleKNN() {
	found, err := thresher.KNN(context.Background(), []float64{8, 7.5, .5, 0}, []float64{9, 8, 0, 0, 7, 6, 0, 0, 0, 9, 0, 0}, 4, 1, thresher.Euclidean)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words[found.Answers[0].Rows[0]], found.Answers[0].Scores)
	// Output: king [1.5]
}

// What another program answered is proven, or corrected.
func ExampleIndex_Certify() {
	index := indexed(thresher.InnerProduct)
	defer index.Close()
	req := thresher.Request{Queries: []float32{1, 0, 2, 0, 0, 0, 0, 1}, K: 2}
	theirs := []thresher.Stated{{Rows: []int64{1, 0}}, {Rows: []int64{6, 7}}}
	proven, summary, err := index.Certify(context.Background(), req, theirs, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Before())
	for j, a := range proven.Answers {
		fmt.Println(j, words[a.Rows[0]], words[a.Rows[1]])
	}
	// Output:
	// recall 0.7500; 1 of 2 answers were right
	// 0 queen princess
	// 1 apple pear
}

func ExampleIndex_Recall() {
	index := indexed(thresher.InnerProduct)
	defer index.Close()
	req := thresher.Request{Queries: []float32{1, 0, 2, 0, 0, 0, 0, 1}}
	theirs := []thresher.Stated{{Rows: []int64{1, 0}}, {Rows: []int64{6, 7}}}
	summary, err := index.Recall(context.Background(), req, theirs, func(c *thresher.Compared) error {
		fmt.Println(c.Query, c.Recall, c.Missed)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("recall", summary.Recall)
	// Output:
	// 0 0.5 [3]
	// 1 1 []
	// recall 0.75
}

// Answers are compared with scores that other code computes.
func ExampleIndex_Verify() {
	ctx := context.Background()
	index := indexed(thresher.Cosine)
	defer index.Close()
	req := thresher.Request{Queries: meaning, K: 1, ExcludeSelf: true}
	found, err := index.Truth(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	found.Answers[2].Rows[0] = 4 // the answer for prince is not king any more
	summary, err := index.Verify(ctx, req, found.Answers, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Wrong+summary.Malformed, "of", summary.Checked)
	// Output: 1 of 8
}

// What each word is most like.
func ExampleIndex_Graph() {
	index := indexed(thresher.Cosine)
	defer index.Close()
	summary, err := index.Graph(context.Background(), thresher.GraphOptions{K: 1, Mutual: true}, func(row int64, neighbours []int64, scores []float32) error {
		for i, other := range neighbours {
			fmt.Printf("%s %s %.3f\n", words[row], words[other], scores[i])
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Certificate.WrongAllowed, "of", summary.Rows, "rows may be wrong")
	// Output:
	// king prince 1.000
	// queen princess 1.000
	// prince king 1.000
	// princess queen 1.000
	// apple pear 0.992
	// pear apple 0.992
	// 0 of 8 rows may be wrong
}

func ExampleIndex_Pairs() {
	index := indexed(thresher.Euclidean)
	defer index.Close()
	summary, err := index.Pairs(context.Background(), thresher.PairOptions{MinScore: 8}, func(p thresher.Pair) error {
		fmt.Println(words[p.A], words[p.B], p.Score)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Promise)
	// Unordered output:
	// king prince 8
	// queen princess 8
	// apple pear 2
	// exact: no pair is missing
}

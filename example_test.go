package thresher_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"thresher"
	"thresher/columns"
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
func ExampleIndex_Filter() {
	ctx := context.Background()
	kinds, err := columns.New(columns.Of("fruit", []bool{6: true, 7: true}), columns.Of("letters", []int{4, 5, 6, 8, 3, 5, 5, 4}))
	if err != nil {
		log.Fatal(err)
	}
	index, err := thresher.New(ctx, meaning, 4, thresher.Options{Metric: thresher.InnerProduct, Columns: kinds})
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	for _, of := range index.Columns().Fields() {
		fmt.Println(of.Name, of.Type)
	}
	short, err := index.Filter("letters <= 4 and not fruit")
	if err != nil {
		log.Fatal(err)
	}
	found, err := index.Search(ctx, thresher.Request{Queries: []float32{1, 0, 0, 0}, K: 1, Filter: short})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words[found.Answers[0].Rows[0]])

	// The same in the form of Qdrant's filters.
	short, err = index.FilterJSON([]byte(`{"must": [{"key": "letters", "range": {"lte": 4}}], "must_not": [{"key": "fruit", "match": {"value": true}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(short)
	// Output:
	// fruit bool
	// letters int64
	// king
	// [0 4]
}

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
	fmt.Println(words[found.Answers[0].Rows[0]], found.Answers[0].Scores, found.Complete())
	// Output: king [1.5] true
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

// A chord is written as the sum of its notes.
func ExampleIndex_Pursuit() {
	ctx := context.Background()
	names := []string{"C4", "E4", "G4", "C5", "E5"}
	frequencies := []float64{256, 330, 392, 512, 660}
	const rate = 2000 // samples of a second
	note := func(i, at int) float64 { return math.Sin(2 * math.Pi * frequencies[i] * float64(at) / rate) }
	var notes, chord []float32
	for i := range names {
		for at := range rate {
			notes = append(notes, float32(note(i, at)))
		}
	}
	for at := range rate {
		chord = append(chord, float32(2*note(2, at)+note(0, at)-.5*note(4, at)))
	}
	index, err := thresher.New(ctx, notes, rate, thresher.Options{Metric: thresher.Cosine, IDs: thresher.IDsOf(names)})
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	summary, err := index.Pursuit(ctx, chord, thresher.PursuitOptions{Terms: 3}, func(m thresher.Term) error {
		fmt.Printf("%s %.3f, left %.2f\n", index.IDs().Text(m.Row), m.Coefficient, m.Residual)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Terms, summary.Method)
	// Output:
	// G4 2.000, left 35.36
	// C4 1.000, left 15.81
	// E5 -0.500, left 0.00
	// 3 certain
}

func ExampleMerge() {
	req := thresher.Request{Queries: []float32{1, 0}, K: 2, Method: "exact"}
	var parts []*thresher.Response
	for _, vectors := range [][]float32{{1, 0, 3, 0}, {2, 0, 0, 9}} {
		index, err := thresher.New(context.Background(), vectors, 2, thresher.Options{Metric: thresher.InnerProduct})
		if err != nil {
			log.Fatal(err)
		}
		defer index.Close()
		found, err := index.Search(context.Background(), req)
		if err != nil {
			log.Fatal(err)
		}
		if found.Covers, err = index.Covers(req); err != nil {
			log.Fatal(err)
		}
		fmt.Println(index.Dtype(), "answers for", found.Covers.Shards[0].Rows, "vectors")
		parts = append(parts, found)
	}
	all, err := thresher.Merge(context.Background(), parts, &thresher.MergeOptions{Offsets: []int64{0, 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all.Answers[0].Rows, all.Answers[0].Scores64)
	// Output:
	// float32 answers for 2 vectors
	// float32 answers for 2 vectors
	// [1 2] [3 2]
}

// An index changes while it is searched: vectors are written and removed by their ids.
func ExampleIndex_Upsert() {
	ctx := context.Background()
	index, err := thresher.New(ctx, []float32{1, 0, 0, 1}, 2, thresher.Options{Metric: thresher.InnerProduct, IDs: thresher.IDsOf([]string{"fig", "pear"})})
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	replaced, err := index.Upsert(ctx, thresher.IDsOf([]string{"pear", "plum"}), []float32{0, 2, 3, 3})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := index.UpsertFloat64(ctx, thresher.IDsOf([]string{"kiwi"}), []float64{0.1, 0.1}); err != nil {
		log.Fatal(err)
	}
	if err := index.Remove(ctx, thresher.IDsOf([]string{"fig"})); err != nil {
		log.Fatal(err)
	}
	found, err := index.Search(ctx, thresher.Request{Queries: []float32{1, 1}, K: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(replaced, index.Len(), found.Answers[0].TextIDs, found.Answers[0].Rows)
	// Output:
	// 1 3 [plum pear kiwi] [2 1 3]
}

package batch_test

import (
	"context"
	"fmt"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// eight words in a space of four meanings: royal, male, female, fruit
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

func Example() {
	ctx := context.Background()
	atoms, err := collection.Build(ctx, meaning, 4, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := batch.Open(ctx, atoms, cpu.New(cpu.Options{}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	// a batch of two queries: something royal and female, some fruit
	resp, err := engine.Search(ctx, batch.Request{Queries: []float32{1, 0, 2, 0, 0, 0, 0, 1}, K: 2})
	if err != nil {
		log.Fatal(err)
	}
	for j, a := range resp.Answers {
		for i, id := range a.IDs {
			fmt.Println(j, words[id], a.Scores[i])
		}
	}
	// Output:
	// 0 queen 25
	// 0 princess 19
	// 1 apple 9
	// 1 pear 8
}

// A certificate states the guarantee of an answer, its cost, and its looks.
func ExampleCertificate() {
	ctx := context.Background()
	// 4,096 rows of 64 coordinates, each with weight on one coordinate in eight
	const n, dim = 4096, 64
	rows := make([]float32, n*dim)
	for i := range n {
		for j := i % 8; j < dim; j += 8 {
			rows[i*dim+j] = float32((i*31+j*17)%101) / 100
		}
	}
	atoms, err := collection.Build(ctx, rows, dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := batch.Open(ctx, atoms, cpu.New(cpu.Options{}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	resp, err := engine.Search(ctx, batch.Request{Queries: rows[:dim], K: 3, Method: batch.Certain, Plan: "whole,rescore"})
	if err != nil {
		log.Fatal(err)
	}
	c := resp.Answers[0].Certificate
	fmt.Println("method", c.Method, "guarantee", c.Guarantee, "exact", c.Exact, "stopped by", c.StoppedBy)
	fmt.Println("read less than a quarter of the coordinates of rows:", 4*c.RowsScored < n)
	fmt.Println("nothing left open:", c.OpenBound == nil)
	fmt.Println("no better atom can have been dropped below", *c.Threshold >= float64(resp.Answers[0].Scores[2])-1e-6)
	// Output:
	// method certain guarantee certain exact true stopped by done
	// read less than a quarter of the coordinates of rows: true
	// nothing left open: true
	// no better atom can have been dropped below true
}

// A least score in place of k asks for every atom that reaches it; for l2 that
// is every atom within a squared distance.
func ExampleEngine_Search_range() {
	ctx := context.Background()
	atoms, err := collection.Build(ctx, meaning, 4, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := batch.Open(ctx, atoms, cpu.New(cpu.Options{}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	within := 10.0
	resp, err := engine.Search(ctx, batch.Request{Queries: meaning, MinScore: &within, ExcludeSelf: true})
	if err != nil {
		log.Fatal(err)
	}
	for j, a := range resp.Answers {
		for i, id := range a.IDs {
			fmt.Println(words[j], words[id], a.Scores[i])
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

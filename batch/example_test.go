package batch_test

import (
	"context"
	"fmt"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

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
	fmt.Println("no better vector can have been dropped below", *c.Threshold >= float64(resp.Answers[0].Scores[2])-1e-6)
	// Output:
	// method certain guarantee certain exact true stopped by done
	// read less than a quarter of the coordinates of rows: true
	// nothing left open: true
	// no better vector can have been dropped below true
}

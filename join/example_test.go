package join_test

import (
	"context"
	"fmt"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/join"
)

// The graph of the two nearest neighbours of each of six points, and which are mutual.
func ExampleGraph() {
	ctx := context.Background()
	points := []float32{0, 0, 1, 0, 0, 1, 9, 9, 9, 8, 4, 4}
	atoms, err := collection.Build(ctx, points, 2, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := batch.Open(ctx, atoms, cpu.New(cpu.Options{}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	graph, err := join.NewGraph(engine, join.GraphOptions{K: 2})
	if err != nil {
		log.Fatal(err)
	}
	rows := func(do func(i int64, r *dataset.Result) error) error {
		certificate, err := graph.Each(ctx, nil, func(r *dataset.Result) error { return do(r.Query, r) })
		if err == nil {
			fmt.Println(certificate.Exact, "exact rows of", certificate.Rows)
		}
		return err
	}
	mutual, err := join.NewUndirected(rows, atoms.N, graph.K(), true, true)
	if err != nil {
		log.Fatal(err)
	}
	if err := mutual.Each(func(i int64, r *dataset.Result) error {
		fmt.Println(i, r.Rows, r.Scores)
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 6 exact rows of 6
	// 0 [1 2] [1 1]
	// 1 [0 2] [1 2]
	// 2 [0 1] [1 2]
	// 3 [4] [1]
	// 4 [3] [1]
	// 5 [] []
}

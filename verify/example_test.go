package verify_test

import (
	"context"
	"fmt"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/verify"
)

// All answers of a search are checked, and one that was changed.
func Example() {
	ctx := context.Background()
	// 2,000 rows of 64 coordinates, each with weight on one coordinate in eight
	const n, dim = 2000, 64
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
	// the first hundred rows, among all others
	req := batch.Request{Queries: rows[:100*dim], K: 3, Method: batch.Exact, ExcludeSelf: true}
	resp, err := engine.Search(ctx, req)
	if err != nil {
		log.Fatal(err)
	}

	oracle, err := verify.NewOracle(atoms.Rows, atoms.Dim, atoms.Metric, 0)
	if err != nil {
		log.Fatal(err)
	}
	report, err := verify.Response(ctx, oracle, req, resp)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("wrong", report.Wrong, "malformed", report.Malformed, "of", report.Guarantees)

	resp.Answers[7].IDs[2] = 7
	if report, err = verify.Response(ctx, oracle, req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println("malformed", report.Malformed)
	fmt.Println("query 7:", report.Findings[7].Malformed)
	// Output:
	// wrong 0 malformed 0 of map[exact:100]
	// malformed 1
	// query 7: vector 7 at rank 3 is the query itself
}

// Recall of the answers of an index that lacks an atom for the second query.
func ExampleRecall() {
	atoms := []float32{
		1, 0,
		0, 1,
		1, 1,
		2, 1,
	}
	oracle, err := verify.NewOracle(atoms, 2, collection.InnerProduct, 0)
	if err != nil {
		log.Fatal(err)
	}
	recall := verify.NewRecall(oracle, 2)
	for query, a := range []struct {
		q      []float32
		best   []int64 // by an exact search
		ids    []int64 // by the index
		scores []float32
	}{
		{[]float32{1, 0}, []int64{3, 0}, []int64{3, 2}, []float32{2, 1}}, // atoms 0 and 2 tie
		{[]float32{0, 3}, []int64{1, 2}, []int64{1, 0}, []float32{3, 0}}, // atoms 1, 2 and 3 tie
	} {
		share, err := recall.Compare(int64(query), a.q, a.best, a.ids, a.scores)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("query", query, "recall", share, "lacks", recall.Missed())
	}
	report, err := recall.Report()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("recall@2", report.Recall, "of", report.Queries, "queries; stated:", report.Scores.Form)
	// Output:
	// query 0 recall 1 lacks []
	// query 1 recall 0.5 lacks [2]
	// recall@2 0.75 of 2 queries; stated: inner products
}

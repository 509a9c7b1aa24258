package join_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/join"
)

// The pairs of six points that are at most 1 apart, and what they connect.
func ExampleSelfPairs() {
	ctx := context.Background()
	points := []float32{0, 0, 9, 9, 1, 0, 4, 4, 9, 8, 2, 0}
	atoms, err := collection.Build(ctx, points, 2, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := batch.Open(ctx, atoms, cpu.New(cpu.Options{}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	wanted := join.PairOptions{MinScore: 1}
	density, err := join.Sample(ctx, engine, wanted)
	if err != nil {
		log.Fatal(err)
	}
	source, err := join.SelfPairs(engine, wanted, density)
	if err != nil {
		log.Fatal(err)
	}
	var found []byte // a file, if there are many
	for {
		block, _, err := source.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		found = join.AppendRun(found, block.Pairs)
	}

	pairs, err := join.OpenPairLog(bytes.NewReader(found), int64(len(found)))
	if err != nil {
		log.Fatal(err)
	}
	components, err := join.NewComponents(int64(atoms.N))
	if err != nil {
		log.Fatal(err)
	}
	err = pairs.Each(func(p *dataset.Pair) error {
		components.Connect(p.A, p.B)
		fmt.Println(p.A, p.B, p.Score)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(components.Labels())
	// Output:
	// 0 2 1
	// 1 4 1
	// 2 5 1
	// [0 1 0 2 1 0]
}

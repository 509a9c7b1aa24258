package papers_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"thresher/papers"
)

// The three notes of a chord, one second each, computed as they are read.
func ExamplePursuit() {
	ctx, frequencies := context.Background(), []float64{262, 330, 392, 440}
	const samples = 44100
	note := func(i, j int) float64 { return math.Sin(2 * math.Pi * frequencies[i] * float64(j) / samples) }
	notes, err := papers.NewComputed(len(frequencies), samples, note)
	if err != nil {
		log.Fatal(err)
	}
	chord := func(j int) float64 { return .5*note(0, j) + 2*note(2, j) + note(1, j) }
	found, err := papers.Pursuit(ctx, notes, chord, papers.PursuitOptions{
		Steps: 3,
		Solve: func(ctx context.Context, products papers.Arms, step int) (papers.Outcome, error) {
			return papers.BanditMIPS(ctx, products, papers.BanditMIPSOptions{K: 1, Delta: .01, Sigma: 2, Seed: uint64(step)})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range found.Terms {
		fmt.Printf("%.0f Hz: %.2f\n", frequencies[t.Atom], t.Coefficient)
	}
	// Output:
	// 392 Hz: 2.00
	// 330 Hz: 1.00
	// 262 Hz: 0.50
}

// rows are three atoms of 1,000 coordinates, the second of which fits the query of ones.
func rows() (atoms *papers.Matrix, query []float32) {
	const d = 1000
	x := make([]float32, 3*d)
	for j := range d {
		query = append(query, 1)
		x[j], x[d+j], x[2*d+j] = float32(j%3)/4, .9, float32(j%2)/2
	}
	atoms, err := papers.NewMatrix(x, 3, d)
	if err != nil {
		log.Fatal(err)
	}
	return atoms, query
}

// All queries begin with the same two hundred coordinates, which are read once.
func ExampleNewWarmStart() {
	atoms, query := rows()
	warm, err := papers.NewWarmStart(atoms, 200, papers.WithReplacement, 1)
	if err != nil {
		log.Fatal(err)
	}
	products, err := papers.NewProducts(warm, query)
	if err != nil {
		log.Fatal(err)
	}
	best, err := papers.BanditMIPS(context.Background(), products, papers.BanditMIPSOptions{K: 1, Delta: .01, Sigma: .5, Warm: warm})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(best.IDs, best.CachedPulls == best.Pulls)
	// Output: [1] true
}

// Weights by which informative coordinates are drawn most often.
func ExampleOptimalWeights() {
	atoms, err := papers.NewMatrix([]float32{
		3, 1, 0, 0,
		4, 0, 1, 0,
	}, 2, 4)
	if err != nil {
		log.Fatal(err)
	}
	weights, pulls, err := papers.OptimalWeights(context.Background(), atoms)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f after %d pulls\n", weights, pulls)
	// Output: [0.71 0.14 0.14 0.00] after 8 pulls
}

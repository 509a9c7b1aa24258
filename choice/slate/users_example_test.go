package slate_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"thresher/choice/slate"
)

// Lists for two users in one call; one of them is asked for twice and has observations.
func ExampleMany() {
	films, err := slate.NewCoverage(4, 2, []float64{
		0.9, 0.1, // loss
		0.1, 0.9, // space
		0.6, 0.6,
		0.3, 0,
	})
	if err != nil {
		log.Fatal(err)
	}
	items, err := slate.NewItems(films, slate.Attributes{GroupCount: 1, Groups: [][]int{{0}, {}, {0}, {}}})
	if err != nil {
		log.Fatal(err)
	}
	limits, err := items.Constrain(slate.Limits{Length: 2, Groups: map[int]int{0: 1}}) // one film of the group
	if err != nil {
		log.Fatal(err)
	}
	ann, err := slate.NewEstimator(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := ann.Observe(items, []int{1, 3}, []float64{1, 0}); err != nil { // took space, left the other
		log.Fatal(err)
	}
	bob, err := slate.NewEstimator(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	many, err := slate.NewMany(items, slate.ManyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	o := slate.Options{Confidence: slate.Confidence{Rule: slate.Tuned}}
	slates, err := many.Recommend(context.Background(), limits, []*slate.Estimator{ann, bob, ann}, o)
	if err != nil {
		log.Fatal(err)
	}
	for i, name := range []string{"ann", "bob", "ann again"} {
		fmt.Println(name, slates[i].Items())
	}
	// Output:
	// ann [1 0]
	// bob [0 1]
	// ann again [1 0]
}

// A learned estimator is saved and restored exactly.
func ExampleEstimator_MarshalBinary() {
	user, err := slate.NewEstimator(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := user.Update([]float64{.9, 0, 0, .7}, []float64{1, 0}); err != nil {
		log.Fatal(err)
	}
	state, err := user.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var again slate.Estimator
	if err := again.UnmarshalBinary(state); err != nil {
		log.Fatal(err)
	}
	weights := make([]float64, 2)
	again.Weights(weights)
	fmt.Printf("%.2f after %d rewards, %d bytes\n", weights, again.Observations(), len(state))
	// Output:
	// [0.50 0.00] after 2 rewards, 81 bytes
}

// A list that would need more memory to choose than allowed is refused.
func ExampleScratchError() {
	const n = 20_000
	films, err := slate.NewCoverage(n, 1, make([]float64, n))
	if err != nil {
		log.Fatal(err)
	}
	items, err := slate.NewItems(films, slate.Attributes{})
	if err != nil {
		log.Fatal(err)
	}
	everything, err := items.Constrain(slate.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	user, err := slate.NewEstimator(1, 1)
	if err != nil {
		log.Fatal(err)
	}
	_, err = slate.Recommend(everything, user, slate.Options{Memory: 1 << 30})
	var scratch *slate.ScratchError
	if errors.As(err, &scratch) {
		fmt.Printf("%.1f GB, and %.1f GB are to spare\n", float64(scratch.Need)/1e9, float64(scratch.Memory)/1e9)
	}
	// Output:
	// 4.5 GB, and 1.1 GB are to spare
}

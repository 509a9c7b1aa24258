package slate_test

import (
	"fmt"
	"log"

	"thresher/choice/slate"
)

// pair prints the best list of two of the objective's items for a reader who cares for
// every feature alike.
func pair(o slate.Objective, err error) {
	if err != nil {
		log.Fatal(err)
	}
	items, err := slate.NewItems(o, slate.Attributes{})
	if err != nil {
		log.Fatal(err)
	}
	limits, err := items.Constrain(slate.Limits{Length: 2})
	if err != nil {
		log.Fatal(err)
	}
	weights := make([]float64, o.Features())
	for i := range weights {
		weights[i] = 1
	}
	s, err := slate.NewPlanner(limits).Known(weights, slate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v is worth %.2f\n", s.Items(), s.Value)
}

// Three shops and three customers, each of whom goes to the shop that suits best.
func ExampleNewFacilityLocation() {
	pair(slate.NewFacilityLocation(3, 3, []float64{
		.9, .8, 0,
		.8, .9, .1,
		0, .1, .7,
	}))
	// Output: [1 2] is worth 2.40
}

// Three clips of scenes that each count once, however often they are seen.
func ExampleNewWeightedCoverage() {
	scenes := []slate.Element{{Topic: 0, Weight: 3}, {Topic: 0, Weight: 2}, {Topic: 1, Weight: 1}, {Topic: 1, Weight: 2}}
	pair(slate.NewWeightedCoverage(2, scenes, [][]int{{0, 1}, {0, 2}, {2, 3}}))
	// Output: [0 2] is worth 8.00
}

// Three items by their embeddings: the second says little that the first has not said.
func ExampleNewLogDet() {
	pair(slate.NewLogDet(3, 1, 2, []float64{
		1, 0,
		1, .1,
		0, .8,
	}, []float64{1, .9, 1}))
	// Output: [0 2] is worth 1.19
}

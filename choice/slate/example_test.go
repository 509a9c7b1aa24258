package slate_test

import (
	"fmt"
	"log"

	"thresher/choice/slate"
)

// Four articles about politics and sport; at most three, in ten minutes.
func Example() {
	articles, err := slate.NewCoverage(4, 2, []float64{
		0.9, 0,
		0.8, 0,
		0, 0.7,
		0.3, 0.3,
	})
	if err != nil {
		log.Fatal(err)
	}
	items, err := slate.NewItems(articles, slate.Attributes{Knapsacks: 1, Costs: []float64{7, 4, 4, 2}})
	if err != nil {
		log.Fatal(err)
	}
	limits, err := items.Constrain(slate.Limits{Length: 3, Budgets: []float64{10}})
	if err != nil {
		log.Fatal(err)
	}
	reader, err := slate.NewEstimator(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	planner := slate.NewPlanner(limits)
	for range 3 {
		s, err := planner.Recommend(reader, slate.Options{Confidence: slate.Confidence{Rule: slate.Tuned}})
		if err != nil {
			log.Fatal(err)
		}
		rewards := make([]float64, len(s.Picks)) // takes what is mostly sport
		for i, e := range s.Items() {
			if e == 2 {
				rewards[i] = 1
			}
		}
		fmt.Printf("%v is worth %.2f +- %.2f\n", s.Items(), s.Value, s.Width)
		if err := reader.Observe(items, s.Items(), rewards); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// [1 2] is worth 0.00 +- 0.26
	// [2 1 3] is worth 0.37 +- 0.26
	// [2 1 3] is worth 0.55 +- 0.24
}

package trial_test

import (
	"context"
	"fmt"
	"log"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
)

// AFSM-UCB against a greedy list, on generated news with simulated readers.
func ExampleSimulation() {
	news, err := items.News(100, 5, 1)
	if err != nil {
		log.Fatal(err)
	}
	coverage, err := slate.NewCoverage(news.Len(), len(news.Topics), news.Features)
	if err != nil {
		log.Fatal(err)
	}
	all, err := slate.NewItems(coverage, slate.Attributes{Knapsacks: 1, Costs: news.Costs})
	if err != nil {
		log.Fatal(err)
	}
	limits, err := all.Constrain(slate.Limits{Length: 3, Budgets: []float64{.3}})
	if err != nil {
		log.Fatal(err)
	}
	s := &trial.Simulation{
		Constraint: limits, Algorithms: []slate.Algorithm{slate.AFSM, slate.ModifiedGreedy, slate.Random},
		Options: slate.Options{Confidence: slate.Confidence{Rule: slate.Tuned}},
		Users:   5, Repeats: 1, Rounds: 50, Seed: 1,
	}
	outcomes, err := s.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range outcomes {
		fmt.Printf("%-8s %.2f learned, %.2f of known weights\n", o.Algorithm, o.Values[0].Mean, o.Known.Mean)
	}
	// Output:
	// afsm     0.86 learned, 0.91 of known weights
	// modified 0.68 learned, 0.82 of known weights
	// random   0.56 learned, 0.53 of known weights
}

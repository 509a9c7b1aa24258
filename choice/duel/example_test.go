package duel_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"thresher/choice/duel"
)

// A judge prefers the shortest of three texts. Two duels are issued at a time; a result
// that arrives after the end is dropped.
func Example() {
	texts := []string{"a long text, and no end to it", "a short text", "a text of some length"}
	t, err := duel.New(duel.Config{Arms: texts, Design: duel.Design{Delta: .01}, Order: duel.RandomOrder, Seed: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	superfluous := 0
	for {
		duels, err := t.Next(2)
		if errors.Is(err, duel.ErrEnded) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range duels { // Beat-the-Mean would sometimes let an arm meet itself: t.Coin
			result := duel.Result{Duel: d.ID, AWon: len(texts[d.A]) < len(texts[d.B])}
			_, err := t.Report(result)
			if errors.Is(err, duel.ErrWithdrawn) {
				superfluous++ // an earlier result ended the tournament
				continue
			}
			if err != nil {
				log.Fatal(err)
			}
		}
		if s := t.State(); s.Duels == 12 {
			fmt.Printf("%q leads, wrongly with probability %.2g at most\n", texts[s.Leader], s.Guarantee.Failure)
		}
	}
	s := t.State()
	fmt.Printf("%q after %d results: %s\n", texts[s.Leader], s.Duels, s.End)
	fmt.Printf("another is better with probability %g at most\n", s.Guarantee.Failure)
	for _, e := range s.Eliminated {
		fmt.Printf("%q was out after %d\n", texts[e.Arm], e.At)
	}
	fmt.Println(superfluous, "duels were asked ahead for nothing")
	// Output:
	// "a short text" leads, wrongly with probability 0.39 at most
	// "a short text" after 26 results: one arm left
	// another is better with probability 0.01 at most
	// "a long text, and no end to it" was out after 23
	// "a text of some length" was out after 26
	// 0 duels were asked ahead for nothing
}

// A tournament is saved with duels in flight and continues elsewhere.
func ExampleRestore() {
	t, err := duel.New(duel.Config{Arms: []string{"x", "y", "z"}, Design: duel.Design{Algorithm: duel.BeatTheMean, Horizon: 1e5, Testing: duel.Sweep}, Seed: 2}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := t.Next(3); err != nil {
		log.Fatal(err)
	}
	state, err := t.MarshalBinary() // or json.Marshal(t)
	if err != nil {
		log.Fatal(err)
	}
	there, err := duel.Restore(state, nil)
	if err != nil {
		log.Fatal(err)
	}
	receipts, err := there.Report(duel.Result{Duel: 1, AWon: true}, duel.Result{Duel: 1, AWon: false})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range receipts {
		fmt.Println("duel", r.Duel, r.Status)
	}
	fmt.Println(there.State().Open, "duels are out")
	state[40] ^= 1
	_, err = duel.Restore(state, nil)
	fmt.Println(err)
	// Output:
	// duel 1 accepted
	// duel 1 conflicting
	// 2 duels are out
	// duel: saved tournament: its checksum is wrong
}

// Which algorithm finds the best of five with the fewest judgments?
func ExampleSimulation_Compare() {
	s := &duel.Simulation{
		Design: duel.Design{Epsilon: .1, Delta: .05},
		Arms:   5, Model: duel.Always(duel.Constant(5, .15)),
		Trials: 20, Seed: 1,
	}
	all, err := s.Compare(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range all {
		if p.Forecast != nil {
			fmt.Printf("%s assumes: %s\n", p.Algorithm, p.Assumes)
		}
	}
	fmt.Println("recommended:", all[duel.Recommend(all)].Algorithm)
	// Output:
	// anytime assumes: some arm is unbeaten
	// beat-the-mean assumes: an order, relaxed transitivity, triangle inequality
	// knockout assumes: an order, relaxed transitivity, triangle inequality
	// recommended: anytime
}

// How many judgments does it take to find the best of ten, if it wins six duels of ten?
func ExampleSimulation_Forecast() {
	s := &duel.Simulation{
		Design: duel.Design{Algorithm: duel.Knockout, Epsilon: .1, Delta: .05},
		Arms:   10, Model: duel.Always(duel.Constant(10, .1)),
		Trials: 100, Seed: 1,
	}
	f, err := s.Forecast(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range f.Quantiles {
		if q.Share == .5 || q.Share == .95 {
			fmt.Printf("%g%% of tournaments took %d judgments or fewer\n", 100*q.Share, q.Duels)
		}
	}
	fmt.Println(f.Best, "of", f.Trials, "found the best")
	// Output:
	// 50% of tournaments took 5917 judgments or fewer
	// 95% of tournaments took 7030 judgments or fewer
	// 100 of 100 found the best
}

// Three settings that beat each other in a circle, all of them better than a fourth: there
// is no best one, and three beat the most.
func ExampleScores() {
	t, err := duel.New(duel.Config{
		Arms: []string{"a", "b", "c", "d"}, Design: duel.Design{Algorithm: duel.Copeland, Delta: .05}, Seed: 1,
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	beats := [][]bool{{false, true, false, true}, {false, false, true, true}, {true, false, false, true}, {}}
	for {
		duels, err := t.Next(1)
		if errors.Is(err, duel.ErrEnded) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if _, err := t.Report(duel.Result{Duel: duels[0].ID, AWon: len(beats[duels[0].A]) > 0 && beats[duels[0].A][duels[0].B]}); err != nil {
			log.Fatal(err)
		}
	}
	s := t.State().Copeland
	fmt.Println("no unbeaten arm:", s.Circle)
	for _, arm := range s.Winners {
		fmt.Println(t.Config().Arms[arm], "beats the most others")
	}
	// Output:
	// no unbeaten arm: true
	// a beats the most others
	// b beats the most others
	// c beats the most others
}

// How strong are three players, from their results?
func ExampleBradleyTerry() {
	s, err := duel.BradleyTerry([][]int64{{0, 30, 40}, {10, 0, 25}, {5, 15, 0}})
	if err != nil {
		log.Fatal(err)
	}
	for i, x := range s.Arms {
		fmt.Printf("player %d: %+.2f, in [%+.2f, %+.2f]\n", i, x.Estimate, x.Low, x.High)
	}
	// Output:
	// player 0: +1.04, in [+0.66, +1.41]
	// player 1: -0.21, in [-0.53, +0.12]
	// player 2: -0.83, in [-1.18, -0.48]
}

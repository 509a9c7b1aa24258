package trial

import (
	"thresher/choice/slate"
)

// Trap is an instance on which a greedy algorithm loses the same amount in every round, however much it learns
// (Proposition 7 of the paper, with other figures). The best list is worth 1.
type Trap struct {
	Constraint *slate.Constraint
	Weights    []float64 // of the user
}

// Options are those of AFSM-UCB on traps of m items: the value of the best item is between Lowest and Highest.
func (*Trap) Options() slate.Options {
	return slate.Options{Lowest: .01, Highest: .1, Epsilon: .2, Confidence: slate.Confidence{Rule: slate.Tuned}}
}

// CheapTrap has m items of value 1/m and cost 1/m of the budget, and m-3 items of almost no value and cost, but more
// value per cost; a list has at most m items. Choosing by value per cost, as ModifiedGreedy does and MCSGreedy after
// three items, fills the list with the second kind.
func CheapTrap(m int) (*Trap, error) {
	const little = 1e-3
	elements, costs := make([]slate.Element, 2*m-3), make([]float64, 2*m-3)
	for e := range elements {
		elements[e], costs[e] = slate.Element{Topic: 0, Weight: 1 / float64(m)}, 1/float64(m)
		if e >= m {
			elements[e], costs[e] = slate.Element{Topic: 1, Weight: 4 * little / float64(m)}, little/float64(m)
		}
	}
	return newTrap(m, elements, costs)
}

// DearTrap has an item of slightly more value than any other that costs the whole budget, and m-1 others that fit
// together: LSBGreedy takes the first and nothing else.
func DearTrap(m int) (*Trap, error) {
	elements, costs := make([]slate.Element, m), make([]float64, m)
	for e := range elements {
		elements[e], costs[e] = slate.Element{Topic: 0, Weight: 1 / float64(m)}, 1/float64(m)
	}
	elements[0], costs[0] = slate.Element{Topic: 1, Weight: 1.5 / float64(m)}, 1
	return newTrap(m, elements, costs)
}

// newTrap makes every element an item.
func newTrap(m int, elements []slate.Element, costs []float64) (*Trap, error) {
	sets := make([][]int, len(elements))
	for e := range sets {
		sets[e] = []int{e}
	}
	objective, err := slate.NewWeightedCoverage(2, elements, sets)
	if err != nil {
		return nil, err
	}
	all, err := slate.NewItems(objective, slate.Attributes{Knapsacks: 1, Costs: costs})
	if err != nil {
		return nil, err
	}
	c, err := all.Constrain(slate.Limits{Length: m, Budgets: []float64{1}})
	if err != nil {
		return nil, err
	}
	return &Trap{c, []float64{1, 1}}, nil
}

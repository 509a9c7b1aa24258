package slate

import (
	"errors"
	"fmt"
	"math"
)

// Attributes are the properties of items that constraints use.
type Attributes struct {
	// Knapsacks is l, the number of costs of an item; 0 for none.
	Knapsacks int
	// Costs are n*l numbers >= 0, row-major, in the units of the budgets.
	Costs []float64
	// GroupCount is the number of groups; ids go from 0 to GroupCount-1.
	GroupCount int
	// Groups lists the ids of the groups of each item, n lists without repetition; nil for
	// none. An item may be in any number of groups.
	Groups [][]int
}

// Items are n items with their objective and attributes. They are immutable.
type Items struct {
	objective  Objective
	attributes Attributes
}

// NewItems validates the attributes and returns the items. It retains the slices, which
// must not change. Errors name item and figure.
func NewItems(objective Objective, a Attributes) (*Items, error) {
	if objective == nil {
		return nil, errors.New("slate: items: no objective")
	}
	n := objective.Size()
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("slate: %d items, not in [1, %d]", n, math.MaxInt32)
	}
	if a.Knapsacks < 0 || (a.Knapsacks > 0 && n > maxEntries/a.Knapsacks) {
		return nil, fmt.Errorf("slate: %d knapsacks", a.Knapsacks)
	}
	if len(a.Costs) != n*a.Knapsacks {
		return nil, fmt.Errorf("slate: %d costs for %d items and %d knapsacks", len(a.Costs), n, a.Knapsacks)
	}
	for i, c := range a.Costs {
		if !(c >= 0 && c <= MaxMagnitude) {
			return nil, fmt.Errorf("slate: item %d, knapsack %d: cost %v is not in [0, %g]", i/a.Knapsacks, i%a.Knapsacks, c, MaxMagnitude)
		}
	}
	if a.GroupCount < 0 {
		return nil, fmt.Errorf("slate: %d groups", a.GroupCount)
	}
	if a.Groups != nil && len(a.Groups) != n {
		return nil, fmt.Errorf("slate: groups of %d items, there are %d", len(a.Groups), n)
	}
	if err := checkGroups(a); err != nil {
		return nil, err
	}
	return &Items{objective: objective, attributes: a}, nil
}

// checkGroups rejects ids out of range and groups that an item names twice.
func checkGroups(a Attributes) error {
	last := make([]int, a.GroupCount) // 1 + the last item that named the group
	for e, groups := range a.Groups {
		for _, g := range groups {
			if g < 0 || g >= a.GroupCount {
				return fmt.Errorf("slate: item %d: group %d of %d", e, g, a.GroupCount)
			}
			if last[g] == e+1 {
				return fmt.Errorf("slate: item %d: group %d twice", e, g)
			}
			last[g] = e + 1
		}
	}
	return nil
}

// Objective returns the objective.
func (it *Items) Objective() Objective { return it.objective }

// Size returns n.
func (it *Items) Size() int { return it.objective.Size() }

// Attributes returns costs and groups; they must not be changed.
func (it *Items) Attributes() Attributes { return it.attributes }

// Features returns x(e_i|e_1..e_{i-1}) for the items of a list, in its order, as a new
// slice of len(list)*d numbers: what Update takes along with the rewards.
func (it *Items) Features(list []int) ([]float64, error) {
	d := it.objective.Features()
	if err := it.checkList(list); err != nil {
		return nil, err
	}
	x := make([]float64, len(list)*d)
	l := it.objective.NewList()
	for i, e := range list {
		l.Gains(x[i*d:(i+1)*d], e)
		l.Append(e)
	}
	return x, nil
}

// checkList rejects items that do not exist or occur twice.
func (it *Items) checkList(list []int) error {
	for i, e := range list {
		if e < 0 || e >= it.Size() {
			return fmt.Errorf("slate: place %d: item %d of %d", i, e, it.Size())
		}
		for _, before := range list[:i] {
			if before == e {
				return fmt.Errorf("slate: place %d: item %d twice", i, e)
			}
		}
	}
	return nil
}

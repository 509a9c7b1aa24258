package slate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Limits say which lists are allowed.
type Limits struct {
	// Length is the most items of a list; 0 for any number.
	Length int `json:"length,omitempty"`
	// Groups limits the items of a group in a list, by the group's id. A group without an
	// entry has no limit, one with 0 is barred.
	Groups map[int]int `json:"groups,omitempty"`
	// Budgets limit the total cost of a list, one > 0 for each knapsack. A list of m items may
	// exceed a budget by the factor m 2^-51, the rounding error of the sum: three items of
	// 0.1 fit a budget of 0.3.
	Budgets []float64 `json:"budgets,omitempty"`
}

// Constraint is the intersection of l knapsacks with a k-system: the lists that are
// allowed. It is immutable.
type Constraint struct {
	items  *Items
	length int
	k      int
	limit  []int // by group; -1 for none
	// cost holds n*l costs divided by the budgets, total their sums over knapsacks: the c(e)
	// of modified UCB scores.
	cost, total []float64
	full        float64 // a budget of 1 with the rounding error of length items
	usable      []bool
	available   int
	// unaffordable and barred items are in no list, ascending.
	unaffordable, barred []int
}

// ErrEmpty means that the limits allow no item.
var ErrEmpty = errors.New("slate: the limits leave no item")

// Constrain returns the lists within limits. Items that alone exceed a budget, or belong
// to a group of limit 0, are in none of them; Unaffordable and Barred list them. If no
// item is left the error is ErrEmpty.
func (it *Items) Constrain(limits Limits) (*Constraint, error) {
	a := it.attributes
	if limits.Length < 0 {
		return nil, fmt.Errorf("slate: length %d", limits.Length)
	}
	if len(limits.Budgets) != a.Knapsacks {
		return nil, fmt.Errorf("slate: %d budgets for %d knapsacks", len(limits.Budgets), a.Knapsacks)
	}
	for j, b := range limits.Budgets {
		if !(b > 0 && b <= MaxMagnitude) {
			return nil, fmt.Errorf("slate: budget %d: %v is not in (0, %g]", j, b, MaxMagnitude)
		}
	}
	c := &Constraint{items: it, limit: make([]int, a.GroupCount)}
	for g := range c.limit {
		c.limit[g] = -1
	}
	for _, g := range slices.Sorted(maps.Keys(limits.Groups)) {
		most := limits.Groups[g]
		if g < 0 || g >= a.GroupCount {
			return nil, fmt.Errorf("slate: limit of group %d of %d", g, a.GroupCount)
		}
		if most < 0 {
			return nil, fmt.Errorf("slate: group %d: limit %d", g, most)
		}
		c.limit[g] = most
	}
	c.divide(limits.Budgets)
	if err := c.sift(); err != nil {
		return nil, err
	}
	c.length = c.longest(limits.Length)
	c.full = roomFor(c.length)
	return c, nil
}

// roomFor is the total cost allowed for m items within a budget of 1: it covers the
// rounding of each cost, quotient and sum, and of the budget.
func roomFor(m int) float64 { return 1 + float64(m)*0x1p-51 }

// divide scales costs so that every budget is 1.
func (c *Constraint) divide(budgets []float64) {
	n, l := c.items.Size(), len(budgets)
	c.cost, c.total = make([]float64, n*l), make([]float64, n)
	for e := range n {
		for j, b := range budgets {
			x := c.items.attributes.Costs[e*l+j] / b
			c.cost[e*l+j] = x
			c.total[e] += x
		}
	}
}

// sift determines the items that are in some list, and k. An item in p limited groups
// violates at most p limits and the length; removing one item of each violated group
// repairs all of them, so the lists are k-extendible with k = max(1, max p).
func (c *Constraint) sift() error {
	n := c.items.Size()
	c.usable = make([]bool, n)
	c.k = 1
	for e := range n {
		limited, barred := 0, false
		for _, g := range c.groups(e) {
			if c.limit[g] >= 0 {
				limited++
			}
			barred = barred || c.limit[g] == 0
		}
		affordable := true
		for _, x := range c.costs(e) {
			affordable = affordable && x <= roomFor(1)
		}
		if !affordable {
			c.unaffordable = append(c.unaffordable, e)
		}
		if barred {
			c.barred = append(c.barred, e)
		}
		if affordable && !barred {
			c.usable[e] = true
			c.available++
			c.k = max(c.k, limited)
		}
	}
	if c.available == 0 {
		return fmt.Errorf("%w: %d of %d exceed a budget alone, %d are in a group of limit 0",
			ErrEmpty, len(c.unaffordable), n, len(c.barred))
	}
	return nil
}

// longest bounds the length of a list by its limit, the number of usable items and the
// least costs.
func (c *Constraint) longest(limit int) int {
	m := c.available
	if limit > 0 {
		m = min(m, limit)
	}
	l := c.Knapsacks()
	for j := range l {
		least := math.Inf(1)
		for e, ok := range c.usable {
			if ok {
				least = min(least, c.cost[e*l+j])
			}
		}
		if fit := roomFor(m) / least; fit < float64(m) {
			m = max(1, int(fit))
		}
	}
	return m
}

// groups returns the groups of item e.
func (c *Constraint) groups(e int) []int {
	if c.items.attributes.Groups == nil {
		return nil
	}
	return c.items.attributes.Groups[e]
}

// costs returns the l costs of item e as fractions of the budgets.
func (c *Constraint) costs(e int) []float64 {
	l := c.Knapsacks()
	return c.cost[e*l : (e+1)*l]
}

// Items returns the items that are constrained.
func (c *Constraint) Items() *Items { return c.items }

// Knapsacks returns l.
func (c *Constraint) Knapsacks() int { return c.items.attributes.Knapsacks }

// K returns the k of the k-system.
func (c *Constraint) K() int { return c.k }

// Length returns an upper bound of the length of every list, the paper's m.
func (c *Constraint) Length() int { return c.length }

// Usable reports whether some list contains item e.
func (c *Constraint) Usable(e int) bool { return c.usable[e] }

// Cost returns the sum over the knapsacks of item e's cost as a fraction of the budget:
// the c(e) of modified UCB scores.
func (c *Constraint) Cost(e int) float64 { return c.total[e] }

// Unaffordable returns the items that alone exceed a budget, ascending. The caller owns the slice.
func (c *Constraint) Unaffordable() []int { return slices.Clone(c.unaffordable) }

// Barred returns the items in a group of limit 0, ascending. The caller owns the slice.
func (c *Constraint) Barred() []int { return slices.Clone(c.barred) }

// Alpha returns the guaranteed fraction of the optimum, 1/((1+epsilon)(k+2l+1)).
func (c *Constraint) Alpha(epsilon float64) float64 {
	return 1 / ((1 + epsilon) * float64(c.k+2*c.Knapsacks()+1))
}

// Check returns why a list is not allowed, nil if it is.
func (c *Constraint) Check(list []int) error {
	if err := c.items.checkList(list); err != nil {
		return err
	}
	b := newBasket(c)
	for i, e := range list {
		if !b.fits(e) {
			return fmt.Errorf("slate: place %d: item %d exceeds a limit", i, e)
		}
		b.add(e)
	}
	return nil
}

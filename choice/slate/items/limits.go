package items

import (
	"fmt"
	"maps"
	"slices"

	"thresher/choice/slate"
)

// EveryGroup stands in Limits for all groups that are not named.
const EveryGroup = "*"

// Limits are limits of lists by the names of costs and groups.
type Limits struct {
	Length  int                // most items of a list; 0 for any number
	Budgets map[string]float64 // by cost; a cost without a budget is ignored
	Groups  map[string]int     // most items of a group, by its name or EveryGroup
}

// Constrain returns the lists of the items within limits, valued by the coverage of their topics. Errors name the
// cost or group and the figure.
func (s *Set) Constrain(l Limits) (*slate.Constraint, error) {
	if err := s.checkBudgets(l.Budgets); err != nil {
		return nil, err
	}
	groups, err := s.limited(l.Groups)
	if err != nil {
		return nil, err
	}
	in := slate.Limits{Length: l.Length, Groups: groups}
	var columns []int
	for j, name := range s.CostNames {
		if b, ok := l.Budgets[name]; ok {
			columns = append(columns, j)
			in.Budgets = append(in.Budgets, b)
		}
	}
	costs := make([]float64, 0, s.Len()*len(columns))
	for i := range s.Len() {
		for _, j := range columns {
			costs = append(costs, s.CostsOf(i)[j])
		}
	}
	objective, err := slate.NewCoverage(s.Len(), len(s.Topics), s.Features)
	if err != nil {
		return nil, err
	}
	all, err := slate.NewItems(objective, slate.Attributes{
		Knapsacks: len(columns), Costs: costs, GroupCount: len(s.GroupNames), Groups: s.Groups,
	})
	if err != nil {
		return nil, err
	}
	return all.Constrain(in)
}

func (s *Set) checkBudgets(budgets map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		if !slices.Contains(s.CostNames, name) {
			return fmt.Errorf("budget of %q: items have the costs %q", name, s.CostNames)
		}
		if x := budgets[name]; !(x > 0 && x <= slate.MaxMagnitude) {
			return fmt.Errorf("budget of %q: %g is not above 0 and at most %g", name, x, slate.MaxMagnitude)
		}
	}
	return nil
}

// limited returns the limits by the ids of groups.
func (s *Set) limited(byName map[string]int) (map[int]int, error) {
	groups := map[int]int{}
	if most, ok := byName[EveryGroup]; ok {
		if len(s.GroupNames) == 0 {
			return nil, fmt.Errorf("group limit %d: items have no groups", most)
		}
		for g := range s.GroupNames {
			groups[g] = most
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if byName[name] < 0 {
			return nil, fmt.Errorf("group limit of %q: %d is negative", name, byName[name])
		}
		if name == EveryGroup {
			continue
		}
		g := s.Index(name)
		if g < 0 {
			return nil, fmt.Errorf("group limit of %q: there is no such group; there are %q", name, s.GroupNames)
		}
		groups[g] = byName[name]
	}
	return groups, nil
}

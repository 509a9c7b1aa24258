package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/bandit/slate"
	"thresher/bandit/slate/items"
)

// limitFlags are the flags that say which lists are allowed.
type limitFlags struct {
	file    string
	length  int
	budgets []string
	groups  []string
}

func (f *limitFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.file, "limits", "", "`file` of limits as JSON: {\"length\":5,\"budgets\":{\"cost\":2},\"groups\":{\"*\":2,\"War\":1}}; flags go before it")
	fs.IntVarP(&f.length, "length", "k", 0, "most `items` of a list; 0 = any number")
	fs.StringArrayVar(&f.budgets, "budget", nil, "what a list may cost, `NAME=X` or, if items have one cost, X; may be given again")
	fs.StringArrayVar(&f.groups, "group-limit", nil, "most items of a group, `NAME=N`, or N for each of all groups; may be given again")
}

// everyGroup stands for all groups that are not named.
const everyGroup = "*"

// namedLimits are limits before the items are known.
type namedLimits struct {
	Length  int                `json:"length"`
	Budgets map[string]float64 `json:"budgets"` // "" is the only cost
	Groups  map[string]int     `json:"groups"`
}

// read puts the flags over the file.
func (f *limitFlags) read(cmd *cobra.Command) (*namedLimits, error) {
	limits := &namedLimits{}
	if f.file != "" {
		b, err := os.ReadFile(f.file)
		if err != nil {
			return nil, fmt.Errorf("--limits: %w", err)
		}
		decoder := json.NewDecoder(bytes.NewReader(b))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(limits); err != nil {
			return nil, fmt.Errorf("--limits %s: %w", f.file, err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("--limits %s: more than one object", f.file)
		}
	}
	if limits.Budgets == nil {
		limits.Budgets = map[string]float64{}
	}
	if limits.Groups == nil {
		limits.Groups = map[string]int{}
	}
	if cmd.Flags().Changed("length") {
		limits.Length = f.length
	}
	for _, text := range f.budgets {
		name, number := cutLast(text, "")
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("--budget %s: %q is not a number", text, number)
		}
		limits.Budgets[name] = x
	}
	for _, text := range f.groups {
		name, number := cutLast(text, everyGroup)
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("--group-limit %s: %q is not a whole number", text, number)
		}
		limits.Groups[name] = n
	}
	return limits, nil
}

// cutLast splits NAME=NUMBER; without a name it is otherwise.
func cutLast(text, otherwise string) (name, number string) {
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		return text[:i], text[i+1:]
	}
	return otherwise, text
}

// constrained are items with the lists that may be made of them.
type constrained struct {
	*slate.Constraint
	set *items.Set
	// budgets are those of the knapsacks, by their names.
	budgets map[string]float64
}

// constrain turns names into numbers. Costs without a budget are no knapsack.
func constrain(set *items.Set, limits *namedLimits) (*constrained, error) {
	budgets, err := limits.budgetsOf(set)
	if err != nil {
		return nil, err
	}
	groups, err := limits.groupsOf(set)
	if err != nil {
		return nil, err
	}
	in := slate.Limits{Length: limits.Length, Groups: groups}
	var columns []int
	for j, name := range set.CostNames {
		if b, ok := budgets[name]; ok {
			columns = append(columns, j)
			in.Budgets = append(in.Budgets, b)
		}
	}
	costs := make([]float64, 0, set.Len()*len(columns))
	for i := range set.Len() {
		for _, j := range columns {
			costs = append(costs, set.CostsOf(i)[j])
		}
	}
	objective, err := slate.NewCoverage(set.Len(), len(set.Topics), set.Features)
	if err != nil {
		return nil, err
	}
	all, err := slate.NewItems(objective, slate.Attributes{
		Knapsacks: len(columns), Costs: costs, GroupCount: len(set.GroupNames), Groups: set.Groups,
	})
	if err != nil {
		return nil, err
	}
	c, err := all.Constrain(in)
	if err != nil {
		return nil, err
	}
	return &constrained{c, set, budgets}, nil
}

func (l *namedLimits) budgetsOf(set *items.Set) (map[string]float64, error) {
	budgets := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(l.Budgets)) {
		x := l.Budgets[name]
		if name == "" {
			if len(set.CostNames) != 1 {
				return nil, fmt.Errorf("--budget %g: items have the costs %q; write NAME=%g", x, set.CostNames, x)
			}
			name = set.CostNames[0]
		}
		if !slices.Contains(set.CostNames, name) {
			return nil, fmt.Errorf("budget of %q: items have the costs %q", name, set.CostNames)
		}
		if !(x > 0) {
			return nil, fmt.Errorf("budget of %q: %g is not above 0", name, x)
		}
		budgets[name] = x
	}
	return budgets, nil
}

func (l *namedLimits) groupsOf(set *items.Set) (map[int]int, error) {
	groups := map[int]int{}
	if most, ok := l.Groups[everyGroup]; ok {
		if len(set.GroupNames) == 0 {
			return nil, fmt.Errorf("group limit %d: items have no groups", most)
		}
		for g := range set.GroupNames {
			groups[g] = most
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Groups)) {
		if l.Groups[name] < 0 {
			return nil, fmt.Errorf("group limit of %q: %d is negative", name, l.Groups[name])
		}
		if name == everyGroup {
			continue
		}
		g := set.Index(name)
		if g < 0 {
			return nil, fmt.Errorf("group limit of %q: there is no such group; there are %q", name, set.GroupNames)
		}
		groups[g] = l.Groups[name]
	}
	return groups, nil
}

package command

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

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/internal/cli"
)

// limitFlags are the flags that limit lists.
type limitFlags struct {
	file    string
	length  int
	budgets []string
	groups  []string
}

func (f *limitFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.file, "limits", "", "`file` of limits as JSON: {\"length\":5,\"budgets\":{\"cost\":2},\"groups\":{\"*\":2,\"War\":1}}; flags override it")
	fs.IntVarP(&f.length, "length", "k", usualLength, "most `items` in a list; 0 = any number")
	fs.StringArrayVar(&f.budgets, "budget", nil, "budget of a list, `NAME=X` or, if items have one cost, X; may be repeated")
	fs.StringArrayVar(&f.groups, "group-limit", nil, "most items from a group, `NAME=N`, or N for every group; may be repeated")
}

// usualLength is the default bound of lists that nothing else bounds: time and memory grow
// with the length times the number of items.
const usualLength = 10

// namedLimits are limits before the items are known.
type namedLimits struct {
	length int
	sized  bool // the length was given
	// budgets may contain one with the name "", of the only cost, which takes precedence over
	// that by name.
	budgets map[string]float64
	groups  map[string]int
}

// limitFile distinguishes a number from null, which is not one.
type limitFile struct {
	Length  json.RawMessage     `json:"length"`
	Budgets map[string]*float64 `json:"budgets"`
	Groups  map[string]*int     `json:"groups"`
}

func readLimitFile(path string) (*namedLimits, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file limitFile
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, cli.InWords(err, "limits"))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one object", path)
	}
	limits := &namedLimits{length: usualLength, budgets: map[string]float64{}, groups: map[string]int{}}
	if file.Length != nil {
		if limits.length, err = strconv.Atoi(string(file.Length)); err != nil {
			return nil, fmt.Errorf("%s: length: %s is not a whole number", path, file.Length)
		}
		limits.sized = true
	}
	for _, name := range slices.Sorted(maps.Keys(file.Budgets)) {
		if name == "" {
			return nil, fmt.Errorf("%s: budgets: a name is empty", path)
		}
		if file.Budgets[name] == nil {
			return nil, fmt.Errorf("%s: budget of %q: null is not a number", path, name)
		}
		limits.budgets[name] = *file.Budgets[name]
	}
	for _, name := range slices.Sorted(maps.Keys(file.Groups)) {
		if file.Groups[name] == nil {
			return nil, fmt.Errorf("%s: group limit of %q: null is not a number", path, name)
		}
		limits.groups[name] = *file.Groups[name]
	}
	return limits, nil
}

// read overrides the file by the flags: a budget without a name replaces that of the only
// cost, a limit of all groups those of single ones.
func (f *limitFlags) read(cmd *cobra.Command) (*namedLimits, error) {
	limits := &namedLimits{length: usualLength, budgets: map[string]float64{}, groups: map[string]int{}}
	if f.file != "" {
		var err error
		if limits, err = readLimitFile(f.file); err != nil {
			return nil, fmt.Errorf("--limits: %w", err)
		}
	}
	if cmd.Flags().Changed("length") {
		if f.length < 0 {
			return nil, fmt.Errorf("--length %d is negative; 0 is any number", f.length)
		}
		limits.length, limits.sized = f.length, true
	}
	named, given := false, map[string]bool{}
	for _, text := range f.budgets {
		name, number := cutLast(text, "")
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("--budget %s: %q is not a number", text, number)
		}
		if given[name] {
			return nil, fmt.Errorf("--budget %s: is given twice", text)
		}
		limits.budgets[name], given[name] = x, true
		named = named || name != ""
	}
	if x, ok := limits.budgets[""]; ok && named {
		return nil, fmt.Errorf("--budget %g: has no name, others have", x)
	}
	ofFlags := map[string]int{}
	for _, text := range f.groups {
		name, number := cutLast(text, items.EveryGroup)
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("--group-limit %s: %q is not a whole number", text, number)
		}
		if _, twice := ofFlags[name]; twice {
			return nil, fmt.Errorf("--group-limit %s: is given twice", text)
		}
		if n < 0 {
			return nil, fmt.Errorf("--group-limit %s: %d is negative", text, n)
		}
		ofFlags[name] = n
	}
	if _, ok := ofFlags[items.EveryGroup]; ok {
		clear(limits.groups)
	}
	maps.Copy(limits.groups, ofFlags)
	return limits, nil
}

// cutLast splits NAME=NUMBER; the name is otherwise if there is none.
func cutLast(text, otherwise string) (name, number string) {
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		return text[:i], text[i+1:]
	}
	return otherwise, text
}

// constrained holds items with the limits of their lists.
type constrained struct {
	*slate.Constraint
	set *items.Set
	// budgets are those of the knapsacks, by name.
	budgets map[string]float64
}

// constrain resolves names to numbers. Costs without a budget make no knapsack.
func constrain(set *items.Set, limits *namedLimits) (*constrained, error) {
	budgets, err := limits.budgetsOf(set)
	if err != nil {
		return nil, err
	}
	c, err := set.Constrain(items.Limits{Length: limits.length, Budgets: budgets, Groups: limits.groups})
	if err != nil {
		return nil, err
	}
	return &constrained{c, set, budgets}, nil
}

// budgetsOf returns the budgets with the name of the only cost in place of none.
func (l *namedLimits) budgetsOf(set *items.Set) (map[string]float64, error) {
	budgets := maps.Clone(l.budgets)
	if x, ok := budgets[""]; ok {
		if len(set.CostNames) != 1 {
			return nil, fmt.Errorf("--budget %g: items have the costs %q; write NAME=%g", x, set.CostNames, x)
		}
		delete(budgets, "")
		budgets[set.CostNames[0]] = x
	}
	return budgets, nil
}

package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"thresher/choice/slate"
	"thresher/internal/cli"
)

// slateReport is a list as it is printed.
type slateReport struct {
	Slate     int             `json:"slate"`
	Algorithm slate.Algorithm `json:"algorithm"`
	Items     []slateItem     `json:"items"`
	// Spent is the cost of the list, by budget.
	Spent []slateSpent `json:"spent"`
	// Value, Width, UCB, Rho, Alpha, Beta and Evaluations are as in slate.Slate.
	Value       float64 `json:"value"`
	Width       float64 `json:"width"`
	UCB         float64 `json:"ucb"`
	Beta        float64 `json:"beta"`
	Rho         float64 `json:"rho,omitempty"`
	Alpha       float64 `json:"alpha,omitempty"`
	Evaluations int     `json:"evaluations"`
	// Weights are the topics' estimated weights by which the list was chosen; none for an
	// unknown user.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Unaffordable and Barred are the IDs of items that no list can contain.
	Unaffordable []string `json:"unaffordable,omitempty"`
	Barred       []string `json:"barred,omitempty"`

	chosen slate.Slate
	of     *constrained
}

type slateItem struct {
	ID     string   `json:"id"`
	Title  string   `json:"title,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Mean is the expected gain of the item after the previous ones, Width the half width of
	// its interval, Value the sum of the means so far.
	Mean  float64            `json:"mean"`
	Width float64            `json:"width"`
	Value float64            `json:"value"`
	Costs map[string]float64 `json:"costs,omitempty"`
}

type slateSpent struct {
	Cost   string  `json:"cost"`
	Spent  float64 `json:"spent"`
	Budget float64 `json:"budget,omitempty"` // 0 for none
}

func (r *slateReport) fill(user *slate.Estimator) {
	s, set := &r.chosen, r.of.set
	r.Algorithm, r.Value, r.Width, r.UCB, r.Beta = s.Algorithm, s.Value, s.Width, s.UCB, s.Beta
	r.Rho, r.Alpha, r.Evaluations = s.Rho, s.Alpha, s.Evaluations
	for _, name := range set.CostNames {
		r.Spent = append(r.Spent, slateSpent{Cost: name, Budget: r.of.budgets[name]})
	}
	for _, p := range s.Picks {
		item := slateItem{ID: set.IDs[p.Item], Title: set.Titles[p.Item], Mean: p.Mean, Width: p.Width, Value: p.Value}
		for _, g := range set.Groups[p.Item] {
			item.Groups = append(item.Groups, set.GroupNames[g])
		}
		for j, x := range set.CostsOf(p.Item) {
			if item.Costs == nil {
				item.Costs = map[string]float64{}
			}
			item.Costs[set.CostNames[j]] = x
			r.Spent[j].Spent += x
		}
		r.Items = append(r.Items, item)
	}
	if !user.Cold() {
		r.Weights = map[string]float64{}
		weights := make([]float64, len(set.Topics))
		user.Weights(weights)
		for g, w := range weights {
			r.Weights[set.Topics[g]] = w
		}
	}
	for _, e := range r.of.Unaffordable() {
		r.Unaffordable = append(r.Unaffordable, set.IDs[e])
	}
	for _, e := range r.of.Barred() {
		r.Barred = append(r.Barred, set.IDs[e])
	}
}

// describeSlate prints the list and its properties.
func (a *app) describeSlate(r *slateReport) error {
	set := r.of.set
	fmt.Fprintf(a.Out, "slate %d\n", r.Slate)
	w := cli.NewTable(a.Out)
	head := []any{"", "MEAN", "WIDTH", "VALUE"}
	for _, name := range set.CostNames {
		head = append(head, strings.ToUpper(name))
	}
	w.Row(append(head, "ITEM", "GROUPS")...)
	for i, item := range r.Items {
		cells := []any{i + 1, fmt.Sprintf("%.3f", item.Mean), fmt.Sprintf("%.3f", item.Width), fmt.Sprintf("%.3f", item.Value)}
		for _, name := range set.CostNames {
			cells = append(cells, fmt.Sprintf("%.3g", item.Costs[name]))
		}
		name := item.Title
		if name == "" {
			name = item.ID
		}
		w.Row(append(cells, name, strings.Join(item.Groups, ", "))...)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	w = cli.NewTable(a.Out)
	for _, s := range r.Spent {
		if s.Budget > 0 {
			w.Row(s.Cost, fmt.Sprintf("%.3g of %g", s.Spent, s.Budget))
		} else {
			w.Row(s.Cost, fmt.Sprintf("%.3g", s.Spent))
		}
	}
	w.Row("value", fmt.Sprintf("%.3f, give or take %.3f", r.Value, r.Width))
	w.Row("ucb", fmt.Sprintf("%.3f", r.UCB))
	if r.Rho > 0 {
		w.Row("rho", fmt.Sprintf("%.3f", r.Rho))
	}
	if r.Alpha > 0 {
		w.Row("alpha", fmt.Sprintf("%.3f of the best list's value, in the long run, if --lowest, --highest and --norm hold", r.Alpha))
	} else {
		w.Row("alpha", "none: not proven for this algorithm, rule and ridge")
	}
	if len(r.Weights) > 0 {
		w.Row("likes", r.likes())
	}
	for _, n := range []struct {
		why string
		ids []string
	}{{"beyond a budget alone", r.Unaffordable}, {"in a group of limit 0", r.Barred}} {
		if len(n.ids) > 0 {
			w.Row("never", fmt.Sprintf("%d of %d items, %s: %s", len(n.ids), set.Len(), n.why, some(n.ids)))
		}
	}
	return w.Flush()
}

// likes names the topics with the greatest weights.
func (r *slateReport) likes() string {
	const few = 4
	topics := slices.SortedStableFunc(slices.Values(r.of.set.Topics), func(a, b string) int {
		return cmp.Compare(r.Weights[b], r.Weights[a])
	})
	var text []string
	for _, topic := range topics[:min(few, len(topics))] {
		text = append(text, fmt.Sprintf("%s %.2f", topic, r.Weights[topic]))
	}
	return strings.Join(text, ", ")
}

// some names the first few.
func some(ids []string) string {
	const few = 5
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:few], ", ") + ", .."
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thresher/bandit/slate"
	"thresher/bandit/slate/items"
)

type slateRecommendFlags struct {
	optionFlags
	limitFlags
	items, state, user string
	algorithm          string
	json               bool
}

func newSlateRecommendCommand(a *app) *cobra.Command {
	f := &slateRecommendFlags{}
	cmd := &cobra.Command{
		Use:   "recommend --items FILE --state FILE [-k N] [--budget X] [--group-limit N]",
		Short: "Make a list for a user, by what was learned of their taste",
		Long: `Make a list for a user, by what was learned of their taste from earlier lists. What
was learned, and the list until its rewards come, is kept in the file of --state, or in
the file of --user in the folder of --state; a user without a file is new.

Items are a folder of MovieLens 100K, CSV with columns id, title, groups (split by |),
score, feature.NAME, cost, cost.NAME, or JSON lines:
  {"id":"7","title":"Up","groups":["Drama"],"score":0.8,"features":{"loss":0.7},"costs":{"minutes":96}}
Features say how much of a topic an item covers, from 0 to 1; without them an item
covers its groups by its score.`,
		Example: `  thresher slate recommend --items ml-100k --state ann.json -k 5 --budget 1 --group-limit 2
  thresher slate feedback --state ann.json --slate 1 --rewards 1,0,0,1,0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.recommendSlate(cmd, f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.items, "items", "", "`file` of items (.csv, .jsonl), or a folder of MovieLens 100K")
	addStateFlags(cmd, &f.state, &f.user)
	f.limitFlags.add(cmd)
	fs.StringVar(&f.algorithm, "algorithm", string(slate.AFSM), "chooses the list ("+strings.Join(slateAlgorithms(), ", ")+")")
	f.optionFlags.add(cmd)
	fs.BoolVar(&f.json, "json", false, "the list as JSON")
	complete(cmd, "algorithm", slateAlgorithms())
	addSettings(cmd, "seed")
	return cmd
}

func addStateFlags(cmd *cobra.Command, state, user *string) {
	cmd.Flags().StringVar(state, "state", "", "`file` of what was learned; with --user, the folder of such files")
	cmd.Flags().StringVar(user, "user", "", "`name` of the user's file in the folder of --state")
}

func (a *app) recommendSlate(cmd *cobra.Command, f *slateRecommendFlags) (err error) {
	if f.items == "" {
		return errors.New("slate recommend: --items: no file named")
	}
	limits, err := f.limitFlags.read(cmd)
	if err != nil {
		return err
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	set, err := items.Read(f.items)
	if err != nil {
		return fmt.Errorf("--items: %w", err)
	}
	c, err := constrain(set, limits)
	if err != nil {
		return err
	}
	path, err := slateStatePath(f.state, f.user, cmd.Flags().Changed("user"))
	if err != nil {
		return fmt.Errorf("slate recommend: %w", err)
	}
	unlock, err := lockFolder(cmd.Context(), filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	s, err := readSlateState(path)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = newSlateState(path, set.Topics, f.ridge)
	}
	if err != nil {
		return err
	}
	if err := s.knows(set); err != nil {
		return err
	}
	if given := cmd.Flags().Lookup("ridge"); given.Changed && s.User.Lambda() != f.ridge {
		return fmt.Errorf("%s: began with --ridge %g, not %g", path, s.User.Lambda(), f.ridge)
	}
	options.Algorithm, options.Seed, options.Round = slate.Algorithm(f.algorithm), a.config.Seed, uint64(s.Last)
	chosen, err := slate.Recommend(c.Constraint, s.User, options)
	if err != nil {
		return err
	}
	if len(chosen.Picks) == 0 {
		return fmt.Errorf("no item is worth its cost; lower --lowest")
	}
	list := chosen.Items()
	features, err := c.Items().Features(list)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, set.IDs[e])
	}
	r := &slateReport{chosen: chosen, of: c, Slate: s.add(ids, features)}
	if err := s.save(); err != nil {
		return err
	}
	r.fill()
	if f.json {
		return json.NewEncoder(a.out).Encode(r)
	}
	return a.describeSlate(r)
}

// knows says whether items can be scored by what was learned.
func (s *slateState) knows(set *items.Set) error {
	if slices.Equal(s.Topics, set.Topics) {
		return nil
	}
	return fmt.Errorf("%s: knows the topics %q, the items have %q", s.path, s.Topics, set.Topics)
}

// slateReport is a list as it is told.
type slateReport struct {
	Slate     int             `json:"slate"`
	Algorithm slate.Algorithm `json:"algorithm"`
	Items     []slateItem     `json:"items"`
	// Spent is what the list costs, of which budget.
	Spent []slateSpent `json:"spent"`
	// Value, Width, UCB, Rho, Alpha, Beta, Evaluations are as in slate.Slate.
	Value       float64 `json:"value"`
	Width       float64 `json:"width"`
	UCB         float64 `json:"ucb"`
	Beta        float64 `json:"beta"`
	Rho         float64 `json:"rho,omitempty"`
	Alpha       float64 `json:"alpha,omitempty"`
	Evaluations int     `json:"evaluations"`
	// Unaffordable and Barred are the IDs of items that no list can have.
	Unaffordable []string `json:"unaffordable,omitempty"`
	Barred       []string `json:"barred,omitempty"`

	chosen slate.Slate
	of     *constrained
}

type slateItem struct {
	ID     string   `json:"id"`
	Title  string   `json:"title,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Mean is the gain expected of the item behind those before it, Width the half
	// width of its interval, Value the sum of the means so far.
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

func (r *slateReport) fill() {
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
	for _, e := range r.of.Unaffordable() {
		r.Unaffordable = append(r.Unaffordable, set.IDs[e])
	}
	for _, e := range r.of.Barred() {
		r.Barred = append(r.Barred, set.IDs[e])
	}
}

// describeSlate writes the list and what is known of it.
func (a *app) describeSlate(r *slateReport) error {
	set := r.of.set
	fmt.Fprintf(a.out, "slate %d\n", r.Slate)
	w := newTable(a.out)
	head := []any{"", "MEAN", "WIDTH", "VALUE"}
	for _, name := range set.CostNames {
		head = append(head, strings.ToUpper(name))
	}
	w.row(append(head, "ITEM", "GROUPS")...)
	for i, item := range r.Items {
		cells := []any{i + 1, fmt.Sprintf("%.3f", item.Mean), fmt.Sprintf("%.3f", item.Width), fmt.Sprintf("%.3f", item.Value)}
		for _, name := range set.CostNames {
			cells = append(cells, fmt.Sprintf("%.3g", item.Costs[name]))
		}
		name := item.Title
		if name == "" {
			name = item.ID
		}
		w.row(append(cells, name, strings.Join(item.Groups, ", "))...)
	}
	if err := w.flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	w = newTable(a.out)
	for _, s := range r.Spent {
		if s.Budget > 0 {
			w.row(s.Cost, fmt.Sprintf("%.3g of %g", s.Spent, s.Budget))
		} else {
			w.row(s.Cost, fmt.Sprintf("%.3g", s.Spent))
		}
	}
	w.row("value", fmt.Sprintf("%.3f, give or take %.3f", r.Value, r.Width))
	w.row("ucb", fmt.Sprintf("%.3f", r.UCB))
	if r.Rho > 0 {
		w.row("rho", fmt.Sprintf("%.3f", r.Rho))
	}
	if r.Alpha > 0 {
		w.row("alpha", fmt.Sprintf("%.3f of the best list's value, in the long run", r.Alpha))
	} else {
		w.row("alpha", "none: not proven for this algorithm and rule")
	}
	for _, n := range []struct {
		why string
		ids []string
	}{{"beyond a budget alone", r.Unaffordable}, {"in a group of limit 0", r.Barred}} {
		if len(n.ids) > 0 {
			w.row("never", fmt.Sprintf("%d of %d items, %s: %s", len(n.ids), set.Len(), n.why, some(n.ids)))
		}
	}
	return w.flush()
}

// some names a few.
func some(ids []string) string {
	const few = 5
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:few], ", ") + ", .."
}

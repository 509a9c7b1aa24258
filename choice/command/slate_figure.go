package command

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
	"thresher/internal/plot"
)

// chart draws the mean of rewards with 95% confidence intervals.
func (e *experiment) chart(marks []trial.Mark) plot.Chart {
	limits := []string{}
	if e.Axis != trial.ByLength && e.Limits.Length > 0 {
		limits = append(limits, fmt.Sprintf("up to %d items", e.Limits.Length))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Limits.Budgets)) {
		if e.Axis != trial.ByBudget {
			limits = append(limits, fmt.Sprintf("budget %g", e.Limits.Budgets[name]))
		}
	}
	if most, ok := e.Limits.Groups[items.EveryGroup]; ok {
		limits = append(limits, fmt.Sprintf("%d of a group", most))
	}
	c := plot.Chart{
		Title:  fmt.Sprintf("%s: %s; %d users x %d", e.data, strings.Join(limits, ", "), e.Simulation.Users, e.Simulation.Repeats),
		XLabel: map[trial.Axis]string{trial.ByRound: "round", trial.ByBudget: "budget", trial.ByLength: "most items of a list"}[e.Axis],
		YLabel: "mean reward of a list so far, 95% bands",
		LogX:   e.Axis == trial.ByBudget,
	}
	for _, m := range marks {
		title := trial.Title(m.Algorithm)
		at := slices.IndexFunc(c.Series, func(s plot.Series) bool { return s.Name == title })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, plot.Series{Name: title})
		}
		s := &c.Series[at]
		s.X, s.Mean, s.SD = append(s.X, m.X), append(s.Mean, m.Reward.Mean), append(s.SD, m.Reward.Band())
	}
	return c
}

func slateHeader() []string {
	return []string{"data", "figure", "x", "algorithm", "length", "budget", "round", "users", "repeats",
		"reward", "reward_sd", "reward_se", "value", "value_sd", "value_se", "known_value", "evaluations"}
}

func (e *experiment) row(m *trial.Mark) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	return []string{
		e.data, string(e.Axis), number(m.X), string(m.Algorithm), fmt.Sprint(m.Length), number(m.Budget), fmt.Sprint(m.Round),
		fmt.Sprint(e.Simulation.Users), fmt.Sprint(e.Simulation.Repeats), number(m.Reward.Mean), number(m.Reward.SD), number(m.Reward.SE),
		number(m.Value.Mean), number(m.Value.SD), number(m.Value.SE), number(m.Known.Mean), number(m.Evaluations),
	}
}

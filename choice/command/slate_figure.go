package command

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thresher/choice/slate"
	"thresher/internal/plot"
)

// algorithmTitle is an algorithm's name in figures.
func algorithmTitle(a slate.Algorithm) string {
	switch a {
	case slate.AFSM:
		return "AFSM-UCB"
	case slate.LSBGreedy:
		return "LSBGreedy"
	case slate.ModifiedGreedy:
		return "modified UCB"
	case slate.BetterGreedy:
		return "better of both"
	case slate.MCSGreedy:
		return "MCSGreedy"
	}
	return "random"
}

// chart draws the mean of rewards with 95% confidence intervals.
func (e *experiment) chart(points []slatePoint) plot.Chart {
	limits := []string{}
	if e.figure != "cardinality" && e.limits.length > 0 {
		limits = append(limits, fmt.Sprintf("up to %d items", e.limits.length))
	}
	for _, name := range slices.Sorted(maps.Keys(e.limits.budgets)) {
		if e.figure != "budget" {
			limits = append(limits, fmt.Sprintf("budget %g", e.limits.budgets[name]))
		}
	}
	if most, ok := e.limits.groups[everyGroup]; ok {
		limits = append(limits, fmt.Sprintf("%d of a group", most))
	}
	c := plot.Chart{
		Title:  fmt.Sprintf("%s: %s; %d users x %d", e.data, strings.Join(limits, ", "), e.simulation.Users, e.simulation.Repeats),
		XLabel: map[string]string{"reward": "round", "budget": "budget", "cardinality": "most items of a list"}[e.figure],
		YLabel: "mean reward of a list so far, 95% bands",
		LogX:   e.figure == "budget",
	}
	for _, p := range points {
		title := algorithmTitle(p.algorithm)
		at := slices.IndexFunc(c.Series, func(s plot.Series) bool { return s.Name == title })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, plot.Series{Name: title})
		}
		s := &c.Series[at]
		s.X, s.Mean, s.SD = append(s.X, p.x), append(s.Mean, p.reward.Mean), append(s.SD, p.reward.Band())
	}
	return c
}

func slateHeader() []string {
	return []string{"data", "figure", "x", "algorithm", "length", "budget", "round", "users", "repeats",
		"reward", "reward_sd", "reward_se", "value", "value_sd", "value_se", "known_value", "evaluations"}
}

func (p *slatePoint) row() []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	return []string{
		p.data, p.figure, number(p.x), string(p.algorithm), fmt.Sprint(p.length), number(p.budget), fmt.Sprint(p.rounds),
		fmt.Sprint(p.users), fmt.Sprint(p.repeats), number(p.reward.Mean), number(p.reward.SD), number(p.reward.SE),
		number(p.value.Mean), number(p.value.SD), number(p.value.SE), number(p.known.Mean), number(p.evaluations),
	}
}

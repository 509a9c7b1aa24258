package figures

import (
	"fmt"
	"slices"
	"strings"

	"thresher/choice/slate"
	"thresher/choice/slate/trial"
)

// standing is how AFSM-UCB does at one X of a panel against the best of the greedy algorithms there.
type standing struct {
	panel              string
	x                  float64
	afsm, best, random Row     // best of the greedy ones
	lead, within       float64 // AFSM-UCB less best, and the half width of the 95% interval of that over the same users
}

// standings compares the lines at every X, in the order of the rows; over the rounds, at the last one.
func standings(rows []Row, axis trial.Axis) []standing {
	last := map[string]float64{}
	for _, r := range rows {
		last[r.Panel] = max(last[r.Panel], r.X)
	}
	var all []standing
	for _, r := range rows {
		if axis == trial.ByRound && r.X != last[r.Panel] {
			continue
		}
		at := slices.IndexFunc(all, func(s standing) bool { return s.panel == r.Panel && s.x == r.X })
		if at < 0 {
			at = len(all)
			all = append(all, standing{panel: r.Panel, x: r.X})
		}
		s := &all[at]
		switch {
		case r.Algorithm == afsmName(slate.AFSM):
			s.afsm = r
		case r.Algorithm == afsmName(slate.Random):
			s.random = r
		case r.Algorithm == lessName+s.best.Algorithm: // after the row of best
			s.lead, s.within = r.Y, band(&r)
		case !strings.HasPrefix(r.Algorithm, lessName) && r.Y > s.best.Y:
			s.best = r
		}
	}
	return all
}

// sorted are standings by how AFSM-UCB does: ahead or behind by more than the intervals allow for, or level.
type sorted struct{ ahead, level, behind []standing }

func sortStandings(all []standing) (s sorted) {
	for _, at := range all {
		switch {
		case at.lead > at.within:
			s.ahead = append(s.ahead, at)
		case at.lead < -at.within:
			s.behind = append(s.behind, at)
		default:
			s.level = append(s.level, at)
		}
	}
	return s
}

// where lists the X of standings, and with a sign of +1 or -1 the greatest lead or lag.
func where(all []standing, sign float64) string {
	var xs []string
	most := 0.
	for _, s := range all {
		xs = append(xs, fmt.Sprintf("%g", s.x))
		most = max(most, sign*s.lead)
	}
	text := strings.Join(xs, ", ")
	if sign != 0 {
		text += fmt.Sprintf(" (by up to %.3f)", most)
	}
	return text
}

func experimentNote(s *Settings, rows []Row, data string, axis trial.Axis) Note {
	all := standings(rows, axis)
	by := sortStandings(all)
	n := Note{Verdict: Not, Theirs: "AFSM-UCB above the greedy algorithms overall; heights lost"}
	if len(by.ahead) > len(by.behind) {
		n.Verdict = InKind
	}
	var seen []string
	var panels []string
	for _, at := range all {
		if !slices.Contains(panels, at.panel) {
			panels = append(panels, at.panel)
		}
	}
	for _, panel := range panels {
		of := slices.DeleteFunc(slices.Clone(all), func(s standing) bool { return s.panel != panel })
		text := ""
		if axis == trial.ByRound {
			at := of[0]
			text = fmt.Sprintf("after %g rounds AFSM-UCB has %.3f, the best greedy line, %s, %.3f (a difference of %.3f, +-%.3f over the same users), and RANDOM %.3f",
				at.x, at.afsm.Y, at.best.Algorithm, at.best.Y, at.lead, at.within, at.random.Y)
		} else {
			text = "AFSM-UCB " + axisStandings(sortStandings(of))
		}
		if panel != "" {
			text = "at " + panel + " " + text
		}
		seen = append(seen, text)
	}
	n.Seen = fmt.Sprintf("With %d users x %d, %s.", s.Int("users"), s.Int("repetitions"), strings.Join(seen, "; "))
	n.Ours = fmt.Sprintf("ahead of all greedy lines at %d of %d, level at %d, behind at %d", len(by.ahead), len(all), len(by.level), len(by.behind))
	if axis == trial.ByRound {
		n.Ours = fmt.Sprintf("%.3f against %.3f", all[0].afsm.Y, all[0].best.Y)
	}
	switch axis {
	case trial.ByRound:
		n.Says = "The cumulative average reward of AFSM-UCB is above that of the greedy algorithms."
	case trial.ByBudget:
		n.Says = "Over the budget AFSM-UCB outperforms the greedy algorithms, and where the budget is large it is comparable to LSBGreedy."
		n.Theirs = "ahead overall, comparable at large budgets; heights lost"
	case trial.ByLength:
		n.Says = "Over the cardinality AFSM-UCB outperforms the greedy algorithms, and where the cardinality is mild it tends to be better than CGreedy."
		n.Theirs = "ahead overall, at mild cardinality too; heights lost"
	}
	n.Why = experimentWhy(data) + " Ranges, limits and the constants of the intervals are ours, and afsm-sensitivity shows what depends on them."
	return n
}

// axisStandings words how AFSM-UCB does along an axis.
func axisStandings(by sorted) string {
	var parts []string
	if len(by.ahead) > 0 {
		parts = append(parts, "leads at "+where(by.ahead, 1))
	}
	if len(by.level) > 0 {
		parts = append(parts, "is level within 95% at "+where(by.level, 0))
	}
	if len(by.behind) > 0 {
		parts = append(parts, "is behind at "+where(by.behind, -1))
	}
	return strings.Join(parts, ", ")
}

func experimentWhy(data string) string {
	switch data {
	case trial.Movies:
		return "Little valued films cost almost nothing, so value per cost selects them, and LSBGreedy spends a tight budget on few films; thresholds in between do neither."
	case trial.Songs:
		return "The songs are a stand-in: simulated listeners, with what the text says of its data (popular songs cover several genres well, 47% of the songs none by .01, lengths in seconds); only popular songs are worth a place, so the order by value and that by value per second nearly agree, and AFSM-UCB, which compares lists by three widths, explores more."
	}
	return "Where length and budget both bind, neither value nor value per cost is the right order, and AFSM-UCB's thresholds are between them; where one of them does not bind, the greedy algorithm for the other is as good, and AFSM-UCB explores more."
}

package figures

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
	"thresher/internal/plot"
)

// afsmUCB are the figures and tables of the AFSM-UCB paper.
var afsmUCB = slices.Concat(
	section7("1", trial.News, "news"),
	section7("2", trial.Movies, "MovieLens 100K"),
	section7("3", trial.Songs, "songs in place of the Million Song Dataset"),
	[]*Figure{afsmTable1, afsmProp2, afsmSensitivity},
)

const afsmPaper = "AFSM-UCB"

// lostNumbers is what the text of the paper that we have lacks of its experiments.
const lostNumbers = "all numbers of sections 7 and 14, and T; arXiv 2006.00661 has them, this text does not"

// afsmLines are the algorithms of section 7. Which of two readings CGreedy is the text does not say, so both are drawn.
func afsmLines() []slate.Algorithm {
	return []slate.Algorithm{slate.AFSM, slate.LSBGreedy, slate.ModifiedGreedy, slate.BetterGreedy, slate.Random}
}

// afsmName is the name of a line.
func afsmName(a slate.Algorithm) string {
	switch a {
	case slate.ModifiedGreedy:
		return "CGreedy read as modified"
	case slate.BetterGreedy:
		return "CGreedy read as better"
	case slate.Random:
		return "RANDOM"
	}
	return trial.Title(a)
}

func afsmNames(algorithms []slate.Algorithm) (names []string) {
	for _, a := range algorithms {
		names = append(names, afsmName(a))
	}
	return names
}

// recommended are the items of an experiment and, where they have users of their own, their weights.
type recommended struct {
	set     *items.Set
	weights [][]float64
}

// shelf keeps the items of the last seed, which all points of a figure share.
type shelf struct {
	mu   sync.Mutex
	seed uint64
	kept *recommended
}

// take returns the items of a data set, made with the run's seed as those of `slate simulate` are.
func (h *shelf) take(e *Env, s *Settings, data string) (*recommended, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept != nil && h.seed == e.Seed {
		return h.kept, nil
	}
	var r recommended
	var err error
	switch data {
	case trial.News:
		r.set, err = items.News(s.Int("articles"), s.Int("topics"), e.Seed)
	case trial.Songs:
		var songs *items.Songs
		if songs, err = items.GenerateSongs(s.Int("songs"), s.Int("genres"), s.Int("listeners"), e.Seed); err == nil {
			r.set, r.weights = &songs.Set, songs.Weights
		}
	default:
		if e.Folder == "" {
			return nil, fmt.Errorf("%w: no folder of data, which would have %s", ErrMissing, data)
		}
		if r.set, err = items.MovieLens(filepath.Join(e.Folder, data)); err != nil {
			err = fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	if err != nil {
		return nil, err
	}
	h.seed, h.kept = e.Seed, &r
	return &r, nil
}

// section7 are the three figures of a data set: over the rounds, the budget and the length of lists.
func section7(number, data, what string) []*Figure {
	var figures []*Figure
	for i, axis := range trial.Axes() {
		f := &Figure{
			ID: "afsm-" + number + "abc"[i:i+1], Paper: afsmPaper, Shows: "figure " + number + "abc"[i:i+1],
			Title:      fmt.Sprintf("Reward of a list of %s, over %s", what, axisWords[axis]),
			Data:       []string{what},
			Algorithms: afsmNames(afsmLines()[:1]), Baselines: afsmNames(afsmLines()[1:]),
			Lost:   lostNumbers,
			Points: func(s *Settings) []Point { return experimentPoints(s, data, axis) },
			Charts: func(s *Settings, rows []Row) []plot.Chart { return experimentCharts(s, rows, what, axis) },
			Note:   func(s *Settings, rows []Row) Note { return experimentNote(s, rows, data, axis) },
		}
		if data == trial.Movies {
			f.Needs = []string{data}
		}
		if data == trial.Songs {
			f.Lost += "; the Million Song Dataset itself"
		}
		figures = append(figures, f)
	}
	return figures
}

var axisWords = map[trial.Axis]string{trial.ByRound: "the rounds", trial.ByBudget: "the budget", trial.ByLength: "the cardinality"}

// experimentPoints has a point for every limit of groups and value of the axis; the rounds are one.
func experimentPoints(s *Settings, data string, axis trial.Axis) []Point {
	var points []Point
	shelf := &shelf{}
	for _, group := range groupLimits(s, data) {
		add := func(key string, at []float64) {
			if group > 0 {
				key = fmt.Sprintf("matroid limit %d, %s", group, key)
			}
			points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				return experimentRows(ctx, e, s, shelf, data, axis, group, at)
			}})
		}
		switch axis {
		case trial.ByRound:
			add("rounds", nil)
		case trial.ByBudget:
			for _, b := range s.Floats("budgets") {
				add(fmt.Sprintf("budget %g", b), []float64{b})
			}
		case trial.ByLength:
			for _, k := range s.Ints("cardinalities") {
				add(fmt.Sprintf("cardinality %d", k), []float64{float64(k)})
			}
		}
	}
	return points
}

// groupLimits are the limits of every genre; 0, none, where the data have no matroid in the paper.
func groupLimits(s *Settings, data string) []int {
	if data == trial.Movies {
		return s.Ints("matroid limits")
	}
	return []int{0}
}

func groupPanel(group int) string {
	if group == 0 {
		return ""
	}
	return fmt.Sprintf("matroid limit %d", group)
}

// experiment is the one of the settings.
func afsmExperiment(e *Env, s *Settings, of *recommended, axis trial.Axis, group int) *trial.Experiment {
	x := &trial.Experiment{Set: of.set, Axis: axis, Cost: of.set.CostNames[0], Limits: items.Limits{Budgets: map[string]float64{}, Groups: map[string]int{}}}
	if axis != trial.ByBudget {
		x.Limits.Budgets[x.Cost] = s.Float("budget")
	}
	if axis != trial.ByLength {
		x.Limits.Length = s.Int("cardinality")
	}
	if group > 0 {
		x.Limits.Groups[items.EveryGroup] = group
	}
	x.Simulation = trial.Simulation{
		Options: slate.Options{
			Confidence: slate.Confidence{Rule: slate.Tuned, Delta: s.Float("delta"), Base: s.Float("base"), Scale: s.Float("scale")},
			Epsilon:    s.Float("epsilon"), Lowest: s.Float("nu"), Highest: s.Float("nu'"),
		},
		Ridge: s.Float("lambda"), Users: s.Int("users"), Repeats: s.Int("repetitions"), Rounds: s.Int("T"),
		Weights: of.weights, Together: true, Seed: e.Seed, Workers: e.Threads,
	}
	return x
}

// lessName begins the name of rows whose Y is AFSM-UCB's reward less that of another line, by user.
const lessName = "AFSM-UCB less "

func experimentRows(ctx context.Context, e *Env, s *Settings, h *shelf, data string, axis trial.Axis, group int, at []float64) ([]Row, error) {
	of, err := h.take(e, s, data)
	if err != nil {
		return nil, err
	}
	x := afsmExperiment(e, s, of, axis, group)
	x.At, x.Simulation.Algorithms = at, afsmLines()
	x.Progress = func(_ float64, done, total int) { e.Progress(done, total) }
	var rows []Row
	row := func(m *trial.Mark, name string, y trial.Mean) Row {
		return Row{
			Panel: groupPanel(group), Algorithm: name, Data: data, N: of.set.Len(), D: len(of.set.Topics), K: m.Length,
			X: m.X, Y: y.Mean, YSD: y.SE * math.Sqrt(float64(y.Of)), Draws: y.Of,
		}
	}
	var afsm trial.Mark // after the last round: the first of the algorithms
	err = x.Run(ctx, func(m trial.Mark) error {
		r := row(&m, afsmName(m.Algorithm), m.Reward)
		r.Setting = fmt.Sprintf("budget %g, round %d; expected %.4f, with known weights %.4f", m.Budget, m.Round, m.Value.Mean, m.Known.Mean)
		r.Comparisons = m.Evaluations
		rows = append(rows, r)
		if m.Round < x.Simulation.Rounds {
			return nil
		}
		if m.Algorithm == slate.AFSM {
			afsm = m
			return nil
		}
		rows = append(rows, row(&m, lessName+afsmName(m.Algorithm), afsm.Reward.Less(m.Reward)))
		return nil
	})
	return rows, err
}

// band is half the width of the 95% interval of a row's Y, the mean over Draws users.
func band(r *Row) float64 {
	return trial.Mean{SE: r.YSD / math.Sqrt(float64(max(r.Draws, 1))), Of: r.Draws}.Band()
}

func experimentCharts(s *Settings, rows []Row, what string, axis trial.Axis) []plot.Chart {
	var panels []string
	for _, r := range rows {
		if !slices.Contains(panels, r.Panel) {
			panels = append(panels, r.Panel)
		}
	}
	var charts []plot.Chart
	for _, panel := range panels {
		title := []string{what}
		if panel != "" {
			title = append(title, panel)
		}
		if axis != trial.ByLength {
			title = append(title, fmt.Sprintf("up to %d items", s.Int("cardinality")))
		}
		if axis != trial.ByBudget {
			title = append(title, fmt.Sprintf("budget %g", s.Float("budget")))
		}
		c := plot.Chart{
			Title:  strings.Join(title, ", "),
			XLabel: map[trial.Axis]string{trial.ByRound: "round", trial.ByBudget: "budget", trial.ByLength: "most items of a list"}[axis],
			YLabel: "reward of a list so far, 95% bands", LogX: axis == trial.ByBudget,
		}
		bands := slices.Clone(rows)
		for i := range bands {
			bands[i].YSD = band(&rows[i])
		}
		c.Series = barred(bands, func(r *Row) string {
			if r.Panel != panel || strings.HasPrefix(r.Algorithm, lessName) {
				return ""
			}
			return r.Algorithm
		})
		charts = append(charts, c)
	}
	return charts
}

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

// Kinds of limits of table 1, as Row.Panel has them.
var limitKinds = []string{"cardinality", "knapsack", "k-system", "all three"}

// afsmTable1 checks the lists of every algorithm against the definition of every kind of limit.
var afsmTable1 = &Figure{
	ID: "afsm-table1", Paper: afsmPaper, Shows: "table 1",
	Title:      "Limits that the lists of each algorithm keep, and the part of the optimum that is guaranteed",
	Data:       []string{"songs in place of the Million Song Dataset"},
	Algorithms: afsmNames(trial.Algorithms()[:1]), Baselines: afsmNames(trial.Algorithms()[1:]),
	Lost: "marks of the table's columns; the sections say what they are",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, kind := range limitKinds {
			points = append(points, Point{Key: kind, Rows: func(ctx context.Context, e *Env) ([]Row, error) { return limitRows(ctx, e, s, kind) }})
		}
		return points
	},
	Note: func(_ *Settings, rows []Row) Note {
		lists, outside := 0, 0
		var alphas []string
		others := 0.
		for _, r := range rows {
			lists, outside = lists+r.Answers, outside+r.Wrong
			if r.Algorithm == afsmName(slate.AFSM) {
				alphas = append(alphas, fmt.Sprintf("%.3f (%s)", r.Y, r.Panel))
			} else {
				others = max(others, r.Y)
			}
		}
		n := Note{
			Says: "LSBGreedy and SM-UCB are for a cardinality limit, CGreedy for a knapsack, and AFSM-UCB for cardinality, knapsacks and a k-system together.",
			Seen: fmt.Sprintf("All six algorithms here keep every limit (%d of %d lists are outside); a part of the optimum is guaranteed by AFSM-UCB alone, %s.",
				outside, lists, strings.Join(alphas, ", ")),
			Why:     "As in the paper's own experiments the greedy algorithms skip what does not fit, which keeps the limits without the guarantee that they have for the one limit that they were made for; SM-UCB, with its contexts and RKHS kernels (theorem 2), is out of scope.",
			Verdict: InKind, Ours: fmt.Sprintf("%d of %d lists outside; alpha of AFSM-UCB alone", outside, lists), Theirs: "AFSM-UCB alone handles all three",
		}
		if outside > 0 || others > 0 {
			n.Verdict = Not
		}
		return n
	},
}

// limitRows lets every algorithm learn one listener's weights within limits of a kind, and checks its lists.
func limitRows(ctx context.Context, e *Env, s *Settings, kind string) ([]Row, error) {
	songs, err := items.GenerateSongs(s.Int("songs"), s.Int("genres"), s.Int("listeners"), e.Seed)
	if err != nil {
		return nil, err
	}
	limits := items.Limits{Budgets: map[string]float64{}, Groups: map[string]int{}}
	if kind == limitKinds[0] || kind == limitKinds[3] {
		limits.Length = s.Int("cardinality")
	}
	if kind == limitKinds[1] || kind == limitKinds[3] {
		limits.Budgets[songs.CostNames[0]] = s.Float("budget")
	}
	if kind == limitKinds[2] || kind == limitKinds[3] {
		limits.Groups[items.EveryGroup] = s.Int("matroid limit")
	}
	c, err := songs.Constrain(limits)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, a := range trial.Algorithms() {
		r := Row{
			Panel: kind, Algorithm: afsmName(a), Data: "songs", N: songs.Len(), D: len(songs.Topics), K: limits.Length,
			Setting: fmt.Sprintf("k = %d, %d knapsacks", c.K(), c.Knapsacks()), Answers: s.Int("T"), Draws: 1, Precision: 1,
		}
		planner := slate.NewPlanner(c)
		user, err := slate.NewEstimator(r.D, 1)
		if err != nil {
			return nil, err
		}
		for round := range r.Answers {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			list, err := planner.Recommend(user, slate.Options{Algorithm: a, Epsilon: s.Float("epsilon"), Lowest: s.Float("nu"), Seed: e.Seed, Round: uint64(round)})
			if err != nil {
				return nil, err
			}
			if r.Y == 0 || list.Alpha < r.Y {
				r.Y = list.Alpha
			}
			if !kept(songs, limits, list.Items()) {
				r.Wrong++
			}
			gains, err := c.Items().Features(list.Items())
			if err != nil {
				return nil, err
			}
			rewards := make([]float64, len(list.Picks)) // the expected ones
			for i := range rewards {
				for g, w := range songs.Weights[0] {
					rewards[i] += w * gains[i*r.D+g]
				}
			}
			if err := user.Update(gains, rewards); err != nil {
				return nil, err
			}
		}
		r.Precision = 1 - float64(r.Wrong)/float64(r.Answers)
		rows = append(rows, r)
	}
	return rows, nil
}

// kept reports whether a list keeps limits, by their definition.
func kept(songs *items.Songs, l items.Limits, list []int) bool {
	var cost float64
	of := make([]int, len(songs.GroupNames))
	for i, item := range list {
		if slices.Contains(list[:i], item) {
			return false
		}
		cost += songs.CostsOf(item)[0]
		for _, g := range songs.Groups[item] {
			of[g]++
		}
	}
	budget, limited := l.Budgets[songs.CostNames[0]]
	if limited && cost > budget || l.Length > 0 && len(list) > l.Length {
		return false
	}
	most, limited := l.Groups[items.EveryGroup]
	return !limited || slices.Max(of) <= most
}

// Panels of afsm-prop2.
const (
	cheapPanel = "many cheap items of little value"
	dearPanel  = "one dear item or many"
)

// afsmProp2 is the regret of greedy algorithms where they are in a trap.
var afsmProp2 = &Figure{
	ID: "afsm-prop2", Paper: afsmPaper, Shows: "propositions 2 and 7",
	Title:      "Regret of greedy algorithms in their worst case, and of AFSM-UCB there",
	Data:       []string{cheapPanel, dearPanel},
	Algorithms: []string{afsmName(slate.AFSM)}, Baselines: afsmNames([]slate.Algorithm{slate.ModifiedGreedy, slate.MCSGreedy, slate.LSBGreedy}),
	Lost: "the instance's figures; the paper has no picture of it",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, c := range []struct {
			panel      string
			trap       func(int) (*trial.Trap, error)
			algorithms []slate.Algorithm
		}{
			{cheapPanel, trial.CheapTrap, []slate.Algorithm{slate.AFSM, slate.ModifiedGreedy, slate.MCSGreedy}},
			{dearPanel, trial.DearTrap, []slate.Algorithm{slate.AFSM, slate.LSBGreedy}},
		} {
			for _, a := range c.algorithms {
				points = append(points, Point{Key: c.panel + ", " + string(a), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					trap, err := c.trap(s.Int("m"))
					if err != nil {
						return nil, err
					}
					return trapRows(ctx, e, s, trap, c.panel, a)
				}})
			}
		}
		return points
	},
	Charts: func(_ *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, panel := range []string{cheapPanel, dearPanel} {
			charts = append(charts, plot.Chart{Title: panel, XLabel: "round", YLabel: "alpha-regret so far", Series: barred(rows, func(r *Row) string {
				if r.Panel != panel {
					return ""
				}
				return r.Algorithm
			})})
		}
		return charts
	},
	Note: func(_ *Settings, rows []Row) Note {
		var parts []string
		linear, falling := true, true
		for _, l := range regretLines(rows) {
			first, second := l.halves()
			if l[0].Algorithm == afsmName(slate.AFSM) {
				falling = falling && second < 0
			} else {
				linear = linear && second > 0 && second > .9*first
			}
			parts = append(parts, fmt.Sprintf("%s (%s) %.3f and %.3f", l[0].Algorithm, l[0].Panel, first, second))
		}
		n := Note{
			Says: "For every alpha there are instances on which MCSGreedy and LSBGreedy have linear alpha-regret.",
			Seen: "The regret of a round in the first and the second half is " + strings.Join(parts, ", ") + ".",
			Why:  "LSBGreedy takes the one item that uses up the budget, choosing by value per cost fills the list with items of almost no value, and no learning changes either; AFSM-UCB's lists are worth more than alpha times the best, so its regret falls.",
			Ours: "linear for modified, mcs and lsb; falling for AFSM-UCB", Theirs: "linear", Verdict: Reproduced,
		}
		if !linear || !falling {
			n.Verdict, n.Ours = Not, "not so"
		}
		return n
	},
}

// regretLines are the lines of afsm-prop2, each in ascending order of rounds.
func regretLines(rows []Row) []curve {
	var lines []curve
	for _, r := range rows {
		at := slices.IndexFunc(lines, func(c curve) bool { return c[0].Panel == r.Panel && c[0].Algorithm == r.Algorithm })
		if at < 0 {
			lines = append(lines, curve{r})
			continue
		}
		lines[at] = append(lines[at], r)
	}
	return lines
}

// halves returns the growth of Y by X up to the middle row, and from there on.
func (c curve) halves() (first, second float64) {
	middle, last := c[len(c)/2], c.last()
	first = middle.Y / middle.X
	if last.X == middle.X {
		return first, first
	}
	return first, (last.Y - middle.Y) / (last.X - middle.X)
}

func trapRows(ctx context.Context, e *Env, s *Settings, trap *trial.Trap, panel string, a slate.Algorithm) ([]Row, error) {
	options := trap.Options()
	rounds := s.Int("T")
	sim := &trial.Simulation{
		Constraint: trap.Constraint, Algorithms: []slate.Algorithm{a}, Options: options, Ridge: s.Float("lambda"),
		Users: 1, Repeats: s.Int("repetitions"), Rounds: rounds, Weights: [][]float64{trap.Weights}, Seed: e.Seed, Workers: e.Threads, Progress: e.Progress,
	}
	for i := 1; i <= 20; i++ {
		if mark := i * rounds / 20; mark > 0 && (len(sim.Marks) == 0 || mark > sim.Marks[len(sim.Marks)-1]) {
			sim.Marks = append(sim.Marks, mark)
		}
	}
	outcomes, err := sim.Run(ctx)
	if err != nil {
		return nil, err
	}
	alpha := trap.Constraint.Alpha(options.Epsilon)
	var rows []Row
	for i, mark := range sim.Marks {
		v := outcomes[0].Values[i]
		rows = append(rows, Row{
			Panel: panel, Algorithm: afsmName(a), Data: "trap", N: trap.Constraint.Items().Size(), D: 2, K: s.Int("m"),
			Setting: fmt.Sprintf("alpha %.3f", alpha), X: float64(mark), Y: float64(mark) * (alpha - v.Mean), YSD: float64(mark) * v.SD, Draws: v.Of,
		})
	}
	return rows, nil
}

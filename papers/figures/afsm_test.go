package figures

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
)

// An experiment has the limits, axes and rounds that slate simulate has where nothing is said.
func TestExperimentsAreUsual(t *testing.T) {
	for number, data := range map[string]string{"1": trial.News, "2": trial.Movies, "3": trial.Songs} {
		usual := trial.UsualOf(data)
		for i, axis := range trial.Axes() {
			s, err := ReadSettings("afsm-"+number+"abc"[i:i+1], Full)
			if err != nil {
				t.Fatal(err)
			}
			if s.Int("T") != trial.UsualRounds(axis) || s.Int("users") != 100 {
				t.Errorf("%s: %d users, %d rounds, want 100 and %d", s.ID, s.Int("users"), s.Int("T"), trial.UsualRounds(axis))
			}
			if axis != trial.ByLength && s.Int("cardinality") != usual.Length || axis != trial.ByBudget && s.Float("budget") != usual.Budget {
				t.Errorf("%s has other limits than %+v", s.ID, usual)
			}
			if axis == trial.ByBudget && !slices.Equal(s.Floats("budgets"), usual.Budgets) || axis == trial.ByLength && !slices.Equal(s.Ints("cardinalities"), usual.Lengths) {
				t.Errorf("%s has another axis than %+v", s.ID, usual)
			}
			if usual.Group > 0 && !slices.Contains(s.Ints("matroid limits"), usual.Group) {
				t.Errorf("%s: matroid limits %d, without %d", s.ID, s.Ints("matroid limits"), usual.Group)
			}
		}
	}
}

// marked are rows of AFSM-UCB and two greedy lines at some X of a panel, each over 100 users.
func marked(x, afsm, lsb, better float64) []Row {
	var rows []Row
	for _, l := range []struct {
		name string
		y    float64
	}{{afsmName(slate.AFSM), afsm}, {afsmName(slate.LSBGreedy), lsb}, {lessName + afsmName(slate.LSBGreedy), afsm - lsb},
		{afsmName(slate.BetterGreedy), better}, {lessName + afsmName(slate.BetterGreedy), afsm - better}, {afsmName(slate.Random), .1}} {
		rows = append(rows, Row{Algorithm: l.name, X: x, Y: l.y, YSD: .1, Draws: 100}) // an interval of +-.02
	}
	return rows
}

// AFSM-UCB is held against the best greedy line of each X, by what differs over the same users.
func TestStandings(t *testing.T) {
	rows := slices.Concat(marked(1, .5, .4, .45), marked(2, .5, .495, .2), marked(3, .5, .2, .6))
	by := sortStandings(standings(rows, trial.ByBudget))
	if len(by.ahead) != 1 || by.ahead[0].x != 1 || by.ahead[0].best.Algorithm != afsmName(slate.BetterGreedy) {
		t.Errorf("ahead %+v", by.ahead)
	}
	if len(by.level) != 1 || by.level[0].x != 2 || by.level[0].best.Algorithm != afsmName(slate.LSBGreedy) {
		t.Errorf("level %+v", by.level)
	}
	if len(by.behind) != 1 || by.behind[0].x != 3 || by.behind[0].random.Y != .1 {
		t.Errorf("behind %+v", by.behind)
	}
	if got, want := axisStandings(by), "leads at 1 (by up to 0.050), is level within 95% at 2, is behind at 3 (by up to 0.100)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := standings(rows, trial.ByRound); len(all) != 1 || all[0].x != 3 {
		t.Errorf("after the last round: %+v", all)
	}
	s, err := ReadSettings("afsm-1b", Full)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rows []Row
		want Verdict
	}{{rows, Not}, {slices.Concat(rows, marked(4, .5, .1, .1)), InKind}} {
		if n := experimentNote(s, c.rows, trial.News, trial.ByBudget); n.Verdict != c.want {
			t.Errorf("%s, want %s: %s", n.Verdict, c.want, n.Seen)
		}
	}
}

// Films that are not there leave their points out.
func TestFilmsAreMissing(t *testing.T) {
	for _, f := range afsmUCB {
		if len(f.Needs) == 0 {
			continue
		}
		s, err := ReadSettings(f.ID, Smoke)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{"", t.TempDir()} {
			missing := 0
			for _, p := range f.Points(s) {
				_, err := p.Rows(t.Context(), &Env{Seed: 1, Threads: 1, Folder: folder, Progress: func(int, int) {}})
				if errors.Is(err, ErrMissing) {
					missing++
				} else if err != nil {
					t.Errorf("%s, %s: %v", f.ID, p.Key, err)
				}
			}
			if missing == 0 {
				t.Errorf("%s, folder %q: nothing is missing", f.ID, folder)
			}
		}
	}
}

// Lists are held against the definition of each limit.
func TestKept(t *testing.T) {
	songs := &items.Songs{Set: items.Set{CostNames: []string{"seconds"}, Costs: []float64{100, 200, 300}, GroupNames: []string{"a", "b"}, Groups: [][]int{{0}, {0, 1}, {1}}}}
	limits := items.Limits{Length: 2, Budgets: map[string]float64{"seconds": 400}, Groups: map[string]int{items.EveryGroup: 1}}
	for _, c := range []struct {
		list   []int
		change func(*items.Limits)
		want   bool
	}{
		{[]int{0, 2}, func(*items.Limits) {}, true},
		{[]int{0, 1}, func(*items.Limits) {}, false},
		{[]int{0, 2}, func(l *items.Limits) { l.Length = 1 }, false},
		{[]int{0, 2}, func(l *items.Limits) { l.Budgets = map[string]float64{"seconds": 399} }, false},
		{[]int{0, 0}, func(l *items.Limits) { l.Groups = nil }, false},
		{[]int{0, 1, 2}, func(l *items.Limits) { *l = items.Limits{} }, true},
	} {
		l := limits
		c.change(&l)
		if got := kept(songs, l, c.list); got != c.want {
			t.Errorf("%v within %+v: %v", c.list, l, got)
		}
	}
}

// Every cell is AFSM-UCB's reward less the best greedy one's with the same intervals, of the same data.
func TestSensitivityLead(t *testing.T) {
	rows := []Row{
		{Data: "news", Setting: widthSetting(.1, 0), Y: .3}, {Data: "news", Setting: widthSetting(.1, 0), Y: .4}, {Data: "songs", Setting: widthSetting(.1, 0), Y: .9},
		{Data: "news", Setting: gridSetting(.1, 0, .05, .2), Y: .45}, {Data: "news", Setting: gridSetting(.1, 0, .05, .5), Y: .1},
	}
	if lead, ok := sensitivityLead(rows, "news", .1, 0, .05, .2); !ok || lead < .0499 || lead > .0501 {
		t.Errorf("%g, %v", lead, ok)
	}
	if _, ok := sensitivityLead(rows, "songs", .1, 0, .05, .2); ok {
		t.Error("a cell without AFSM-UCB has a value")
	}
	s, err := ReadSettings("afsm-sensitivity", Smoke)
	if err != nil {
		t.Fatal(err)
	}
	rows = []Row{
		{Data: "news", Algorithm: afsmName(slate.LSBGreedy), Setting: widthSetting(.1, .05), Y: .4},
		{Data: "news", Algorithm: afsmName(slate.AFSM), Setting: gridSetting(.1, .05, .05, .2), Y: .5},
	}
	charts := afsmSensitivity.Charts(s, rows)
	if len(charts) != 1 || len(charts[0].Heat.Values) != 1 || charts[0].Heat.Values[0][0] != 10 {
		t.Errorf("%+v", charts)
	}
	if n := afsmSensitivity.Note(s, rows); n.Verdict != InKind || !strings.Contains(n.Ours, "news 1 of 1") {
		t.Errorf("%+v", n)
	}
}

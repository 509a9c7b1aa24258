package figures

import (
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/choice/duel"
)

// The rows of a point are those of package duel's figure with the run's seed, as the command duel simulate prints them.
func TestBeatRowsAreThoseOfTheFigure(t *testing.T) {
	s, err := ReadSettings("beat-2", Smoke)
	if err != nil {
		t.Fatal(err)
	}
	var got []Row
	for _, p := range beat2.Points(s) {
		rows, err := p.Rows(t.Context(), &Env{Seed: 7, Threads: 2, Progress: func(int, int) {}})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rows...)
	}
	i := 0
	g := &duel.Figure{Number: 2, Trials: s.Int("trials"), Seed: 7, Arms: s.Ints("K"), Gammas: s.Floats("gamma"), FixedArms: s.Int("K of all gamma"), Anytime: true}
	err = g.Run(t.Context(), func(p duel.Point) error {
		if i < len(got) && (got[i].Y != p.Regret || got[i].X != p.X() || got[i].Wrong != p.Trials-p.Right || got[i].Comparisons != p.Duels || got[i].Variant != string(p.Radius)) {
			t.Errorf("row %d is %+v, want %+v", i, got[i], p)
		}
		i++
		return nil
	})
	if err != nil || i != len(got) {
		t.Errorf("%d rows, want %d; %v", len(got), i, err)
	}
}

func TestCurve(t *testing.T) {
	c := curve{{X: 1, Y: 3, YSD: .3}, {X: 2, Y: 12, YSD: 3}, {X: 4, Y: 48, YSD: 12}, {X: 8, Y: 40}}
	if got := c[:3].bend(); math.Abs(got-2) > 1e-12 {
		t.Errorf("the exponent of 3 x² is %g", got)
	}
	if from, to, factor := c.jump(); from != 1 || to != 2 || factor != 4 {
		t.Errorf("the greatest step is from %g to %g, %g times", from, to, factor)
	}
	if c.peak().X != 4 || c.first().X != 1 || c.last().X != 8 || (curve{}).last() != (Row{}) || (curve{}).peak() != (Row{}) {
		t.Errorf("peak %+v, ends %+v, %+v", c.peak(), c.first(), c.last())
	}
	if got := c[:3].spread(); got.String() != "10 to 25%" {
		t.Errorf("%v", got)
	}
	if got := (shares{}).with(3).with(2); got != (shares{2, 3}) {
		t.Errorf("%+v", got)
	}
	if first, second := (curve{{X: 1, Y: 2}, {X: 2, Y: 4}, {X: 4, Y: 0}}).halves(); first != 2 || second != -2 {
		t.Errorf("halves %g and %g", first, second)
	}
}

// The note says what the rows say: where the filter varies less than Beat-the-Mean, nothing is reproduced.
func TestBeatNoteFollowsTheRows(t *testing.T) {
	rows := func(beat, filter, low, high float64) (all []Row) {
		for _, k := range []float64{10, 20} {
			for panel, sds := range map[string][2]float64{constantPanel: {beat, filter}, logisticPanel: {low, high}} {
				for i, name := range []string{beatLine, filterLine} {
					all = append(all, Row{Panel: panel, Algorithm: name, Variant: "tight", N: int(k), X: k, Y: 100 * k, YSD: 100 * k * sds[i], Answers: 5})
				}
			}
		}
		slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.Panel, b.Panel) })
		return all
	}
	for _, c := range []struct {
		rows []Row
		want Verdict
	}{{rows(.05, .3, .2, .4), Reproduced}, {rows(.05, .3, .4, .2), InKind}, {rows(.3, .05, .2, .4), Not}} {
		if n := beat1.Note(nil, c.rows); n.Verdict != c.want || !strings.Contains(n.Seen, "The exponent of K is at most 1.00") {
			t.Errorf("%s, want %s: %s", n.Verdict, c.want, n.Seen)
		}
	}
}

// What table 1 holds and what it does not is found in the table itself.
func TestTransitivityRows(t *testing.T) {
	rows := transitivityRows(duel.ArXiv())
	var broken []string
	for _, r := range rows {
		switch {
		case r.Algorithm == relaxedCheck && (r.Setting != "A, B, D" || math.Abs(r.Y-1.5) > 1e-9):
			t.Errorf("%+v", r)
		case r.Algorithm == triangleCheck:
			broken = append(broken, r.Setting)
		}
	}
	if want := []string{"A, C, E", "A, D, E", "A, D, F"}; !slices.Equal(broken, want) || len(rows) != 36+1+3 {
		t.Errorf("%d rows, the triangle inequality is broken by %q, want %q", len(rows), broken, want)
	}
	for _, r := range transitivityRows(duel.Constant(6, .1)) {
		if r.Algorithm == triangleCheck {
			t.Errorf("equal gaps: %+v", r)
		}
	}
}

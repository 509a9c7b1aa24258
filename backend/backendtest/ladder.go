package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/collection"
)

// Ladder is a plan of the suite.
type Ladder struct {
	Name   string
	Dense  bool // a dense scan instead of looks
	Random bool // the bound of some look can fail
	Looks  []backend.Look
}

// Ladders returns one ladder of each kind that c supports; fallible looks have failure
// probability alpha each.
func Ladders(c *collection.Collection, alpha float64) []Ladder {
	ls := []Ladder{{Name: "dense", Dense: true}, {Name: "finish only"}}
	if c.Basis == collection.Raw {
		return append(ls, rawLadders(c, alpha)...)
	}
	if !c.Coded() {
		return ls
	}
	whole := backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}
	var widths []int // of panels, and beyond
	for _, l := range c.Stages {
		if l.Coding == collection.Int8 {
			widths = append(widths, l.Width)
		}
	}
	panels := func(k int, r backend.Rule) backend.Look {
		l := backend.Look{Rep: backend.Panels, To: widths[k], Rule: r}
		if r == backend.Student {
			l.Alpha = alpha
		}
		return l
	}
	last := 0
	for k, w := range widths {
		if w <= c.PanelWidth {
			last = k
		}
	}
	least := Ladder{Name: "certain, least width", Looks: []backend.Look{panels(0, backend.Cauchy), whole}}
	ls = append(ls,
		Ladder{Name: "certain", Looks: []backend.Look{panels(last, backend.Cauchy), whole}},
		least, least.byLowerBounds(),
		Ladder{Name: "whole rows", Looks: []backend.Look{whole}},
		Ladder{Name: "panels only", Looks: []backend.Look{panels(0, backend.Cauchy)}},
	)
	random := widths[0] < c.D
	student := Ladder{Name: "student", Random: random, Looks: []backend.Look{panels(0, backend.Student)}}
	ls = append(ls, student)
	first := Ladder{Name: "student, four panels first", Random: random, Looks: []backend.Look{panels(0, backend.Student), whole}}
	first.Looks[0].FirstChunk = 256
	ls = append(ls, first, first.gathered())
	mixed := Ladder{Name: "student, mixed", Random: random, Looks: []backend.Look{{Rep: backend.Mixed, To: widths[0], Rule: backend.Student, Alpha: alpha}, whole}}
	ls = append(ls, mixed)
	if signs := backend.SignPanels.Reads(widths[0]); random && signs <= c.D {
		look := backend.Look{Rep: backend.SignPanels, To: signs, Rule: backend.Student, Alpha: alpha}
		ls = append(ls, Ladder{Name: "student, signs first", Random: true, Looks: []backend.Look{look, whole}},
			Ladder{Name: "student, signs only", Random: true, Looks: []backend.Look{look}})
	}
	every := Ladder{Name: "student, every width", Random: random, Looks: []backend.Look{panels(0, backend.Student)}}
	for _, w := range widths[1:] {
		every.Looks = append(every.Looks, backend.Look{Rep: backend.RowCodes, To: w, Rule: backend.Student, Alpha: alpha})
	}
	ls = append(ls, every, every.byLowerBounds())
	for k := range c.Stages {
		later := backend.LaterLook(&c.Stages[k])
		if later == backend.RowCodes {
			continue
		}
		own := Ladder{Name: later.String(), Random: true, Looks: []backend.Look{panels(0, backend.Student),
			{Rep: later, To: c.D, Rule: backend.Student, Alpha: alpha}, whole}}
		ls = append(ls, own)
		own.Looks = own.Looks[:2]
		ls = append(ls, own.byLowerBounds())
		certain := Ladder{Name: "certain, " + later.String(), Looks: []backend.Look{panels(last, backend.Cauchy), {Rep: later, To: c.D, Rule: backend.Cauchy}, whole}}
		ls = append(ls, certain, certain.byLowerBounds())
		certain.Looks = certain.Looks[1:2]
		certain.Name += " only"
		ls = append(ls, certain)
	}
	if c.Rotated32 != nil && c.R == 0 {
		prefix := Ladder{Name: "student, float32 prefixes", Random: true}
		for from, to := 0, 16; from < c.D; from, to = to, 2*to {
			to = min(to, c.D)
			prefix.Looks = append(prefix.Looks, backend.Look{Rep: backend.Float32, From: from, To: to, Rule: backend.Student, Alpha: alpha, Candidates: min(2, from)})
		}
		ls = append(ls, prefix)
	}
	return ls
}

// gathered is the ladder whose first look reads of goals with a filter the codes of the allowed atoms alone.
func (l Ladder) gathered() Ladder {
	l.Name += ", gathered"
	l.Looks = slices.Clone(l.Looks)
	l.Looks[0].Gather = true
	return l
}

// byLowerBounds is the ladder with lower bounds as the source of thresholds.
func (l Ladder) byLowerBounds() Ladder {
	l.Name += " by lower bounds"
	l.Looks = slices.Clone(l.Looks)
	for k := range l.Looks {
		l.Looks[k].Source = backend.LowerBound
	}
	return l
}

// rawLadders are ladders for the raw basis, whose coordinates are in random order.
func rawLadders(c *collection.Collection, alpha float64) []Ladder {
	certain, strict := Ladder{Name: "raw certain"}, Ladder{Name: "strict", Random: true}
	from := 0
	for _, to := range c.Bounds {
		if to == 0 {
			continue
		}
		l := backend.Look{Rep: backend.Float32, From: from, To: to, Rule: backend.Cauchy, Candidates: min(3, from)}
		certain.Looks = append(certain.Looks, l)
		l.Rule, l.Alpha = backend.Martingale, alpha
		strict.Looks = append(strict.Looks, l)
		from = to
	}
	return []Ladder{certain, strict}
}

// Search runs the ladder. Like package batch, it calls Finish if the context ends. It also
// returns the survivors of every Pull.
func (l *Ladder) Search(ctx context.Context, r backend.Resident, q backend.Queries, goals []backend.Goal) (backend.Answers, []backend.Survivors, error) {
	run, err := r.Begin(ctx, q, goals)
	if err != nil {
		return nil, nil, err
	}
	defer run.Close()
	left, err := l.drive(ctx, run, q.M)
	if err != nil && !ended(err) {
		return nil, nil, err
	}
	answers, err := run.Finish(ctx)
	return answers, left, err
}

// drive takes the looks until one fails.
func (l *Ladder) drive(ctx context.Context, run backend.Run, m int) ([]backend.Survivors, error) {
	if l.Dense {
		all := backend.QueryIndexes(0, m)
		return nil, run.Dense(ctx, all...)
	}
	var all []backend.Survivors
	for _, look := range l.Looks {
		left, err := run.Pull(ctx, look)
		if err != nil {
			return all, err
		}
		all = append(all, left)
		if left.None() {
			break
		}
	}
	return all, nil
}

// ended reports whether err is that of a context that has ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// checkSurvivors compares the survivors of each Pull with the reports in the answers of an
// uninterrupted search.
func checkSurvivors(all []backend.Survivors, answers backend.Answers, n int) error {
	for j := range answers {
		a := &answers[j]
		before := n
		for k, left := range all {
			switch {
			case len(left) != len(answers):
				return fmt.Errorf("pull %d: survivors of %d queries, there are %d", k, len(left), len(answers))
			case left[j] < 0 || left[j] > before:
				return fmt.Errorf("pull %d, query %d: %d survivors after %d", k, j, left[j], before)
			}
			before = left[j]
		}
		if !a.Complete() {
			return fmt.Errorf("query %d: open up to %g though nothing stopped the search", j, a.OpenBound)
		}
		if err := checkReports(a, n); err != nil {
			return fmt.Errorf("query %d: %w", j, err)
		}
	}
	return nil
}

// checkReports checks that the figures of one answer are consistent.
func checkReports(a *backend.Answer, n int) error {
	before := n
	for k, l := range a.Looks {
		if l.Seen < 0 || l.Seen > before || l.Survivors > before || l.Survivors < 0 {
			return fmt.Errorf("look %d: saw %d of %d, kept %d", k, l.Seen, before, l.Survivors)
		}
		before = l.Survivors
	}
	if a.RowsScored < 0 || a.RowsScored < len(a.IDs) {
		return fmt.Errorf("%d rows scored for %d answers", a.RowsScored, len(a.IDs))
	}
	if a.Pulls < int64(a.RowsScored) || a.Bytes < a.Pulls {
		return fmt.Errorf("%d rows scored with %d coordinates of %d bytes", a.RowsScored, a.Pulls, a.Bytes)
	}
	return nil
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"thresher/backend"
	"thresher/collection"
)

// Ladder is a plan as the suite drives it: a raise before every look.
type Ladder struct {
	Name   string
	Dense  bool // the dense path instead of looks
	Random bool // some look's bound can fail
	Raise  backend.RaiseSpec
	Looks  []backend.Look
}

// Ladders returns one ladder of each kind that c can be searched by; looks
// that can fail have failure probability alpha each.
func Ladders(c *collection.Collection, alpha float64) []Ladder {
	ls := []Ladder{{Name: "dense", Dense: true}, {Name: "finish only"}}
	exact := backend.RaiseSpec{Source: backend.Exact, PerQuery: 64}
	if c.Basis == collection.Raw {
		return append(ls, rawLadders(c, alpha)...)
	}
	if !c.Coded() {
		return ls
	}
	lower := backend.RaiseSpec{Source: backend.LowerBound, PerQuery: 100}
	whole := backend.Look{Rep: backend.Rows, To: c.D, Rule: backend.Cauchy}
	var widths []int // of panels, and beyond
	for _, l := range c.Levels {
		if !l.Signs {
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
	ls = append(ls,
		Ladder{Name: "certain", Raise: exact, Looks: []backend.Look{panels(last, backend.Cauchy), whole}},
		Ladder{Name: "certain, no raise", Looks: []backend.Look{panels(0, backend.Cauchy), whole}},
		Ladder{Name: "certain by lower bounds", Raise: lower, Looks: []backend.Look{panels(0, backend.Cauchy), whole}},
		Ladder{Name: "whole rows", Raise: exact, Looks: []backend.Look{whole}},
		Ladder{Name: "panels only", Raise: exact, Looks: []backend.Look{panels(0, backend.Cauchy)}},
	)
	random := widths[0] < c.D
	student := Ladder{Name: "student", Random: random, Raise: exact, Looks: []backend.Look{panels(0, backend.Student)}}
	ls = append(ls, student)
	leaders := Ladder{Name: "student, leaders first", Random: random, Looks: []backend.Look{panels(0, backend.Student), whole}}
	leaders.Looks[0].First = 256
	ls = append(ls, leaders)
	every := Ladder{Name: "student, every width", Random: random, Raise: backend.RaiseSpec{Source: backend.Exact, PerQuery: 5},
		Looks: []backend.Look{panels(0, backend.Student)}}
	for _, w := range widths[1:] {
		every.Looks = append(every.Looks, backend.Look{Rep: backend.Rows, To: w, Rule: backend.Student, Alpha: alpha})
	}
	ls = append(ls, every)
	every.Name, every.Raise = "student by lower bounds", lower
	ls = append(ls, every)
	if c.SignLevel() >= 0 {
		signs := Ladder{Name: "signs", Random: true, Raise: exact, Looks: []backend.Look{panels(0, backend.Student),
			{Rep: backend.Signs, To: c.D, Rule: backend.Student, Alpha: alpha}, whole}}
		ls = append(ls, signs)
		signs.Name, signs.Raise, signs.Looks = "signs by lower bounds", lower, signs.Looks[:2]
		ls = append(ls, signs)
	}
	if c.Rotated32 != nil && c.R == 0 {
		prefix := Ladder{Name: "student, float32 prefixes", Random: true, Raise: backend.RaiseSpec{Source: backend.Exact, PerQuery: 2}}
		for from, to := 0, 16; from < c.D; from, to = to, 2*to {
			to = min(to, c.D)
			prefix.Looks = append(prefix.Looks, backend.Look{Rep: backend.Float32, From: from, To: to, Rule: backend.Student, Alpha: alpha})
		}
		ls = append(ls, prefix)
	}
	return ls
}

// rawLadders read given coordinates in their random order.
func rawLadders(c *collection.Collection, alpha float64) []Ladder {
	raise := backend.RaiseSpec{Source: backend.Exact, PerQuery: 3}
	certain, strict := Ladder{Name: "raw certain", Raise: raise}, Ladder{Name: "strict", Random: true, Raise: raise}
	from := 0
	for _, to := range c.Bounds {
		if to == 0 {
			continue
		}
		l := backend.Look{Rep: backend.Float32, From: from, To: to, Rule: backend.Cauchy}
		certain.Looks = append(certain.Looks, l)
		l.Rule, l.Alpha = backend.Martingale, alpha
		strict.Looks = append(strict.Looks, l)
		from = to
	}
	return []Ladder{certain, strict}
}

// Search runs the ladder. Like the driver of rounds, it goes on to Finish when
// the context ends, and returns what every Pull told.
func (l *Ladder) Search(ctx context.Context, r backend.Resident, q backend.Queries, goals []backend.Goal) (backend.Answers, []backend.Tally, error) {
	run, err := r.Begin(ctx, q, goals)
	if err != nil {
		return nil, nil, err
	}
	defer run.Close()
	tallies, err := l.drive(ctx, run, q.M)
	if err != nil && !ended(err) {
		return nil, nil, err
	}
	answers, err := run.Finish(ctx)
	return answers, tallies, err
}

// drive takes the looks; a context's error ends it.
func (l *Ladder) drive(ctx context.Context, run backend.Run, m int) ([]backend.Tally, error) {
	if l.Dense {
		all := make([]int, m)
		for j := range all {
			all[j] = j
		}
		return nil, run.Dense(ctx, all...)
	}
	var tallies []backend.Tally
	for _, look := range l.Looks {
		if err := run.Raise(ctx, l.Raise); err != nil {
			return tallies, err
		}
		tally, err := run.Pull(ctx, look)
		if err != nil {
			return tallies, err
		}
		tallies = append(tallies, tally)
		if tally.Done() {
			break
		}
	}
	return tallies, nil
}

func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// checkTallies compares what the pulls told with each other and with the
// answers of a search that was not stopped.
func checkTallies(ts []backend.Tally, answers backend.Answers, n int) error {
	for j := range answers {
		a := &answers[j]
		before, tau := n, math.Inf(-1)
		for k, t := range ts {
			switch {
			case len(t.Survivors) != len(answers) || len(t.Tau) != len(answers) || len(t.Open) != len(answers) || len(t.Dense) != len(answers):
				return fmt.Errorf("pull %d: tally of %d, %d, %d, %d entries for %d queries", k, len(t.Survivors), len(t.Tau), len(t.Open), len(t.Dense), len(answers))
			case t.Survivors[j] < 0 || t.Survivors[j] > before:
				return fmt.Errorf("pull %d, query %d: %d survivors after %d", k, j, t.Survivors[j], before)
			case t.Tau[j] < tau:
				return fmt.Errorf("pull %d, query %d: threshold fell from %g to %g", k, j, tau, t.Tau[j])
			case (t.Survivors[j] == 0) != math.IsInf(t.Open[j], -1):
				return fmt.Errorf("pull %d, query %d: %d survivors, open up to %g", k, j, t.Survivors[j], t.Open[j])
			case t.Dense[j] && (t.Survivors[j] != 0 || !a.Dense):
				return fmt.Errorf("pull %d, query %d: dense, with %d survivors, answer dense %v", k, j, t.Survivors[j], a.Dense)
			}
			before, tau = t.Survivors[j], t.Tau[j]
		}
		if a.Tau < tau {
			return fmt.Errorf("query %d: final threshold %g, before %g", j, a.Tau, tau)
		}
		if !a.Complete() {
			return fmt.Errorf("query %d: open up to %g though nothing stopped the search", j, a.Open)
		}
		if err := checkReports(a, n); err != nil {
			return fmt.Errorf("query %d: %w", j, err)
		}
	}
	return nil
}

// checkReports checks the figures of one answer against each other.
func checkReports(a *backend.Answer, n int) error {
	before := n
	for k, l := range a.Looks {
		if l.Seen < 0 || l.Seen > before || l.Survivors > before || l.Survivors < 0 {
			return fmt.Errorf("look %d: saw %d of %d, kept %d", k, l.Seen, before, l.Survivors)
		}
		before = l.Survivors
	}
	if a.Rows < 0 || a.Rows < len(a.IDs) {
		return fmt.Errorf("%d rows scored for %d answers", a.Rows, len(a.IDs))
	}
	if a.Pulls < int64(a.Rows) || a.Bytes < a.Pulls {
		return fmt.Errorf("%d rows scored with %d coordinates of %d bytes", a.Rows, a.Pulls, a.Bytes)
	}
	return nil
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// wideSets returns sets of few rows, of more coordinates than the products of a first look fit int32,
// the same at each call. Both end within a block of the rotation.
func wideSets() []Set {
	r := vectors.Rand(11)
	var all []Set
	for _, x := range []struct{ n, dim int }{{20, 70_016}, {9, 140_000}} {
		rows := vectors.Gaussian(r, x.n, x.dim)
		near := slices.Clone(rows[x.dim : 2*x.dim])
		for j := range near {
			near[j] += float32(.3 * r.NormFloat64())
		}
		// One row pair is as alike as a query and the atom that it was made from.
		copy(rows[2*x.dim:3*x.dim], near)
		all = append(all, Set{Name: fmt.Sprintf("%dx%d", x.n, x.dim), Dim: x.dim, Rows: rows, Queries: append(near, vectors.Gaussian(r, 1, x.dim)...)})
	}
	return all
}

// wide searches rows wider than a first look may be: one set in one metric for parts, and otherwise all.
// It tries every look that the collection has at every representation: those within the limits that the
// backend states find the oracle's answers, those beyond are refused with the limit.
func wide(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	limits := backend.Describe(b).Capacity
	for k, s := range wideSets() {
		if !p.has(k) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			for i, opt := range metricKinds() {
				if p.otherMetric(k+p.I, i) {
					continue
				}
				c := build(t, &s, opt)
				r, o := loadResident(t, b, c), NewOracle(c)
				a := wideGoals(&s, o)
				for _, l := range append(Ladders(c, never), wideLadders(c)...) {
					name := fmt.Sprintf("%v, %s", c.Metric, l.Name)
					if err := checkWidths(&limits, &l, c.R); err != nil {
						refusedLook(t, name, err, r, a, &l)
						continue
					}
					if check(t, name, &s, o, a, r, &l) == nil {
						t.Errorf("%s: no answers", name)
					}
				}
			}
		})
	}
}

// wideGoals are a few kinds of goals for each query, because each searches a set of millions of values.
func wideGoals(s *Set, o *Oracle) *goalSet {
	a := &goalSet{}
	half, allowed := o.Filter(func(row int) bool { return row%2 == 0 })
	for j := range s.M() {
		plain := backend.Goal{K: 3, Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)}
		a.add(s, o, j, plain)
		with := plain
		with.K, with.Filter, with.Allowed = 1, half, allowed
		a.add(s, o, j, with)
		best := o.Answer(s.Query(j), plain)
		with = plain
		with.K, with.Floor = 0, (best.Scores[0]+best.Scores[1])/2
		a.add(s, o, j, with)
	}
	return a
}

// wideLadders begin at all atoms with each of c's widths beyond the panels, the last of which is the whole row.
func wideLadders(c *collection.Collection) []Ladder {
	var all []Ladder
	for _, l := range c.Stages {
		if l.Coding != collection.Int8 || l.Width <= c.PanelWidth {
			continue
		}
		first := backend.Look{Rep: backend.Panels, To: l.Width, Rule: backend.Cauchy}
		x := Ladder{Name: fmt.Sprintf("certain, %d first", l.Width), Looks: []backend.Look{first}}
		all = append(all, x, x.byLowerBounds())
	}
	return all
}

// checkWidths returns the error of the first look of a ladder that is beyond the limits.
func checkWidths(limits *backend.Capacity, l *Ladder, head int) error {
	for _, look := range l.Looks {
		if err := limits.CheckLook(look, head); err != nil {
			return err
		}
	}
	return nil
}

// refusedLook checks that a ladder with a look beyond the limits fails as the limits say, and that the
// error names the greatest number of codes.
func refusedLook(t *testing.T, name string, want error, r backend.Resident, a *goalSet, l *Ladder) {
	t.Helper()
	_, _, err := l.Search(context.Background(), r, a.queries, a.goals)
	if !errors.Is(err, backend.ErrRuleUnsupported) || !strings.Contains(err.Error(), want.Error()) {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
}

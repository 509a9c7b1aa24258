package backendtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
)

// checkAlone checks that every seventh goal has alone the answer, with all its figures, that it has
// among the others.
func (x *goalCases) checkAlone(t *testing.T, name string, together backend.Answers, l *Ladder) {
	t.Helper()
	for j := 0; j < len(together); j += 7 {
		got, _, err := l.Search(context.Background(), x.r, backend.Queries{M: 1, Dim: x.s.Dim, Data: x.queries.Row(j)}, x.goals[j:j+1])
		if err != nil {
			t.Fatalf("%s, %s: %v", name, x.name(j), err)
		}
		if d := cmp.Diff(together[j], got[0]); d != "" {
			t.Fatalf("%s, %s answered alone (-batch +alone):\n%s", name, x.name(j), d)
		}
	}
}

// checkStops interrupts searches. A partial answer must be valid, and its open bound must cover every
// atom that it lacks and not exceed the ceiling; a resumed search must have the right answer.
func (x *goalCases) checkStops(t *testing.T, name string, l *Ladder) {
	t.Helper()
	for n, stopped := 0, true; stopped; n += 1 + 3*n {
		for _, resume := range []bool{false, true} {
			ctx := NewCountdown(n, context.DeadlineExceeded)
			run, err := x.r.Begin(context.Background(), x.queries, x.goals)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err = l.drive(ctx, run, x.queries.M)
			stopped = ended(err)
			if err != nil && !stopped {
				t.Fatalf("%s, stopped after %d: %v", name, n, err)
			}
			var end context.Context = ctx
			if resume {
				end = context.Background()
				if l.Dense || len(l.Looks) > 0 && l.Looks[0].Rep != backend.Float32 {
					if _, err := l.drive(end, run, x.queries.M); err != nil {
						t.Fatalf("%s, resumed after %d: %v", name, n, err)
					}
				}
			}
			got, err := run.Finish(end)
			if err != nil {
				t.Fatalf("%s, stopped after %d: %v", name, n, err)
			}
			for j := range got {
				err := x.checkPartial(j, &got[j])
				if resume && err == nil {
					err = x.sameAnswer(&got[j], &x.want[j])
				}
				if err != nil {
					t.Fatalf("%s, %s, stopped after %d, resumed %v: %v", name, x.name(j), n, resume, err)
				}
			}
			run.Close()
		}
	}
}

// checkPartial checks an answer to goal j that may be partial.
func (x *goalCases) checkPartial(j int, got *backend.Answer) error {
	g, all := &x.goals[j], &x.rankings[x.of[j]]
	if err := checkReports(got, x.c.N); err != nil {
		return err
	}
	if got.OpenBound > g.Ceiling {
		return fmt.Errorf("open up to %g, above the ceiling %g", got.OpenBound, g.Ceiling)
	}
	last := -1 // rank of the last returned atom
	for k, id := range got.IDs {
		rank := slices.Index(all.IDs, id)
		switch {
		case rank <= last:
			return fmt.Errorf("atom %d is returned out of order", id)
		case !x.o.allows(g, int(id)) || all.Scores[rank] < g.Floor || all.Scores[rank] > g.Ceiling:
			return fmt.Errorf("atom %d of score %g may not be returned", id, all.Scores[rank])
		case got.Scores[k] != all.Scores[rank]:
			return fmt.Errorf("atom %d has score %g, not %g", id, got.Scores[k], all.Scores[rank])
		}
		last = rank
	}
	full := g.K > 0 && len(got.IDs) == g.K
	for k, id := range x.want[j].IDs {
		score := x.want[j].Scores[k]
		if slices.Contains(got.IDs, id) || score <= got.OpenBound+x.o.Precision(x.s.Query(x.of[j]), int(id)) {
			continue
		}
		return fmt.Errorf("atom %d of score %g is missing, open up to %g, full %v", id, score, got.OpenBound, full)
	}
	return nil
}

// checkFloors raises the floors of a search before each of its looks.
func (x *goalCases) checkFloors(t *testing.T, name string, l *Ladder) {
	t.Helper()
	raised, want := make([]float64, len(x.goals)), make([]backend.Answer, len(x.goals))
	for j := range x.goals {
		scores := x.rankings[x.of[j]].Scores
		raised[j] = scores[(j*13)%len(scores)]
		g := x.goals[j]
		g.Floor = max(g.Floor, raised[j])
		want[j] = x.rightAnswer(x.of[j], &g)
	}
	for _, at := range []int{0, len(l.Looks) - 1, len(l.Looks) + 1} {
		got, err := l.searchRaising(x.r, &x.goalSet, raised, at)
		if err != nil {
			t.Fatalf("%s, raised at %d: %v", name, at, err)
		}
		for j := range got {
			if err := x.sameAnswer(&got[j], &want[j]); err != nil {
				t.Fatalf("%s, %s, raised to %g at %d: %v", name, x.name(j), raised[j], at, err)
			}
		}
	}
}

// checkLeaving lets queries leave at interruptions; the others must have the answers of a search
// without.
func (x *goalCases) checkLeaving(t *testing.T, name string, alone backend.Answers, l *Ladder) {
	t.Helper()
	if l.Looks != nil && l.Looks[0].Rep == backend.Float32 {
		return // cannot continue after an interruption
	}
	for _, n := range []int{1, 7} {
		run, err := x.r.Begin(context.Background(), x.queries, x.goals)
		if err != nil {
			t.Fatal(err)
		}
		d := &departures{every: n, got: make(backend.Answers, len(x.goals))}
		var ok bool
		if d.Leaver, ok = run.(backend.Leaver); !ok {
			run.Close()
			return
		}
		if err := d.drive(l); err != nil {
			t.Fatalf("%s, struck every %d: %v", name, n, err)
		}
		for j := range d.got {
			if d.hasLeft(j) {
				if err := x.checkPartial(j, &d.got[j]); err != nil {
					t.Fatalf("%s, %s left, struck every %d: %v", name, x.name(j), n, err)
				}
				continue
			}
			var work cmp.Option // interrupted dense scans start over and read more
			if alone[j].Dense {
				work = cmpopts.IgnoreFields(backend.Answer{}, "Pulls", "Bytes", "RowsScored")
			}
			if diff := cmp.Diff(alone[j], d.got[j], work); diff != "" {
				t.Fatalf("%s, %s stayed, struck every %d (-alone +here):\n%s", name, x.name(j), n, diff)
			}
		}
		run.Close()
	}
}

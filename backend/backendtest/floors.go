package backendtest

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
)

// floors raises floors before every step of every ladder, and during looks that a context
// interrupts: to the exact score of an atom of the answer, above all of them, below them, and
// not at all. The answer must be that to goals with these floors from the start.
func floors(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, opt := range append(stopKinds(), collection.Options{Seed: 1, Metric: collection.Cosine}) {
		if !p.has(k) {
			continue
		}
		s, c, o, a := stops(t, 700, opt)
		r := loadResident(t, b, c)
		dense := Ladder{Dense: true}
		plain, _, err := dense.Search(context.Background(), r, a.queries, a.goals)
		if err != nil {
			t.Fatal(err)
		}
		figures, goals := make([]float64, len(plain)), slices.Clone(a.goals)
		for j := range plain {
			scores := plain[j].Scores
			switch j % 5 {
			case 0, 1, 2:
				figures[j] = scores[len(scores)/2]
			case 3:
				figures[j] = scores[0] + math.Abs(scores[0])*1e-9
			case 4:
				figures[j] = scores[len(scores)-1] - 1
			}
			if j == len(plain)-1 {
				figures[j] = math.Inf(-1)
			}
			goals[j].Floor = max(goals[j].Floor, figures[j])
		}
		for _, l := range Ladders(c, never) {
			want, _, err := l.Search(context.Background(), r, a.queries, goals)
			if unsupportedLook(err, &l) {
				continue
			}
			if err != nil {
				t.Fatalf("%v %v %s: %v", c.Metric, c.Basis, l.Name, err)
			}
			for at := range len(l.Looks) + 2 {
				got, err := l.searchRaising(r, a, figures, at)
				if err != nil {
					t.Fatalf("%v %v %s, raised at %d: %v", c.Metric, c.Basis, l.Name, at, err)
				}
				for j := range got {
					q := s.Query(a.of[j])
					ds := o.Explain(q, goals[j], got[j], o.Answer(q, goals[j]))
					if Count(ds, Tie) < len(ds) || !got[j].Complete() || got[j].Tau < figures[j] {
						t.Fatalf("%v %v %s, floor %g at %d, query %d, K %d: threshold %g, open %g\n%v", c.Metric, c.Basis, l.Name, figures[j], at, j, goals[j].K, got[j].Tau, got[j].OpenBound, ds)
					}
					if !l.Random && !(slices.Equal(got[j].IDs, want[j].IDs) && slices.Equal(got[j].Scores, want[j].Scores)) {
						t.Fatalf("%v %v %s, floor %g at %d, query %d, K %d: %v %v, want %v %v", c.Metric, c.Basis, l.Name, figures[j], at, j, goals[j].K,
							got[j].IDs, got[j].Scores, want[j].IDs, want[j].Scores)
					}
				}
			}
		}
	}
}

// searchRaising searches with floors that rise before look number at or before the dense
// scan, otherwise before Finish. A look on codes is interrupted, and continues after the
// floors rise.
func (l *Ladder) searchRaising(r backend.Resident, a *goalSet, figures []float64, at int) (backend.Answers, error) {
	ctx := context.Background()
	run, err := r.Begin(ctx, a.queries, a.goals)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	done := false
	raise := func() error {
		if done {
			return nil
		}
		done = true
		return run.Floor(ctx, figures)
	}
	if l.Dense && at == 0 {
		if err := raise(); err != nil {
			return nil, err
		}
	}
	if l.Dense {
		if _, err := l.drive(ctx, run, a.queries.M); err != nil {
			return nil, err
		}
	}
	for k, look := range l.Looks {
		if k == at {
			if look.Rep != backend.Float32 {
				if _, err := run.Pull(NewCountdown(3, context.Canceled), look); err != nil && !ended(err) {
					return nil, err
				}
			}
			if err := raise(); err != nil {
				return nil, err
			}
		}
		if _, err := run.Pull(ctx, look); err != nil {
			return nil, err
		}
	}
	if err := raise(); err != nil {
		return nil, err
	}
	return run.Finish(ctx)
}

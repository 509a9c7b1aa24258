package backendtest

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
)

// floors checks Run.Floor: a search whose floors are raised before any one of its steps, or
// between the interruption of a look and its continuation, must give the answer to goals that
// have these floors from the start.
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
		raised, goals := make([]float64, len(plain)), slices.Clone(a.goals)
		for j := range plain {
			scores := plain[j].Scores
			switch j % 5 {
			case 0, 1, 2: // the score of an atom of the answer
				raised[j] = scores[len(scores)/2]
			case 3: // above all scores
				raised[j] = scores[0] + math.Abs(scores[0])*1e-9
			case 4: // below the scores of the answer
				raised[j] = scores[len(scores)-1] - 1
			}
			if j == len(plain)-1 { // not raised
				raised[j] = math.Inf(-1)
			}
			goals[j].Floor = max(goals[j].Floor, raised[j])
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
				got, err := l.searchRaising(r, a, raised, at)
				if err != nil {
					t.Fatalf("%v %v %s, raised at %d: %v", c.Metric, c.Basis, l.Name, at, err)
				}
				for j := range got {
					q := s.Query(a.of[j])
					ds := o.Explain(q, goals[j], got[j], o.Answer(q, goals[j]))
					if Count(ds, Tie) < len(ds) || !got[j].Complete() || got[j].Tau < raised[j] {
						t.Fatalf("%v %v %s, floor %g at %d, query %d, K %d: threshold %g, open %g\n%v", c.Metric, c.Basis, l.Name, raised[j], at, j, goals[j].K, got[j].Tau, got[j].OpenBound, ds)
					}
					if !l.Random && !(slices.Equal(got[j].IDs, want[j].IDs) && slices.Equal(got[j].Scores, want[j].Scores)) {
						t.Fatalf("%v %v %s, floor %g at %d, query %d, K %d: %v %v, want %v %v", c.Metric, c.Basis, l.Name, raised[j], at, j, goals[j].K,
							got[j].IDs, got[j].Scores, want[j].IDs, want[j].Scores)
					}
				}
			}
		}
	}
}

// searchRaising searches with floors that rise to raised before look number at, counted from 0,
// or before the dense scan if at is 0; if there is no such look, they rise before Finish. A look
// on codes is interrupted first, and continues after the floors have risen.
func (l *Ladder) searchRaising(r backend.Resident, a *goalSet, raised []float64, at int) (backend.Answers, error) {
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
		return run.Floor(ctx, raised)
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

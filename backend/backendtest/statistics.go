package backendtest

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// student counts failures of Student ladders at delta = .1 and rejects at FalseAlarm. Each
// query has a rotation of its own, so that trials are independent. With 200 trials a true
// rate of .25 is detected with probability .9, one of .3 with .998. Every failure must be
// explained by the bound of the arm that was dropped.
func student(t *testing.T, open func() backend.Backend, p Part) {
	const delta = .1
	trials := 200
	if testing.Short() {
		trials = 40
	}
	b := opened(t, open)
	rng := vectors.Rand(4)
	for k, set := range []struct {
		k int
		s Set
	}{
		{1, Set{Name: "near-duplicates", Dim: 128, Rows: vectors.NearDuplicates(rng, 192, 128)}},
		{5, Set{Name: "power-law", Dim: 130, Rows: vectors.PowerLaw(rng, 192, 130)}},
		{3, Set{Name: "four-hot", Dim: 256 + 16, Rows: vectors.Sparse(rng, 192, 256+16, 4)}},
	} {
		if !p.has(k) {
			continue
		}
		t.Run(set.s.Name, func(t *testing.T) {
			s := &set.s
			firsts := []backend.Representation{backend.Panels, backend.Mixed, backend.SignPanels}
			failed := make([]int, len(firsts))
			for trial := range trials {
				c := build(t, s, collection.Options{Metric: collection.InnerProduct, Seed: uint64(trial) + 100, Threads: 1})
				r, err := b.Load(context.Background(), c)
				if err != nil {
					t.Fatal(err)
				}
				q := s.Row(trial % s.N())
				goals := []backend.Goal{{K: set.k, Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)}}
				o := NewOracle(c)
				want := o.Answer(q, goals[0])
				for i, first := range firsts {
					// a look at the narrowest stage alone is the worst case
					l := Ladder{Random: true,
						Looks: []backend.Look{{Rep: first, To: first.Reads(c.Stages[0].Width), Rule: backend.Student, Alpha: delta / float64(set.k)}}}
					got, _, err := l.Search(context.Background(), r, backend.Queries{M: 1, Dim: s.Dim, Data: q}, goals)
					if unsupportedLook(err, &l) {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					ds := o.Explain(q, goals[0], got[0], want)
					for _, d := range ds {
						if d.Kind == Wrong || d.Kind == StillOpen {
							t.Errorf("seed %d, %v: %v", c.Seed, first, d)
						}
					}
					if Count(ds, BoundFailed) > 0 {
						failed[i]++
					}
				}
				r.Close()
			}
			for i, first := range firsts {
				p := AtLeast(failed[i], trials, delta)
				t.Logf("%v: %d of %d queries failed at delta %g", first, failed[i], trials, delta)
				if p < FalseAlarm {
					t.Errorf("%v: %d of %d queries failed at delta %g: probability %g", first, failed[i], trials, delta, p)
				}
			}
		})
	}
}

//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// gate is a small set with every kind of first look, and the dense path, whose answers are known.
type gate struct {
	c      *collection.Collection
	o      *backendtest.Oracle
	r      backend.Resident
	q      backend.Queries
	goals  []backend.Goal
	wanted []backend.Answer
}

func openGate(t *testing.T, metric collection.Metric) *gate {
	t.Helper()
	// Several chunks of atoms, the last of which is no whole strip; two tiles of queries, the last of which is no whole eight.
	const n, dim, m = 1700, 272, 67
	rng := vectors.Rand(71)
	rows := vectors.PowerLaw(rng, n, dim)
	x := &gate{q: backend.Queries{M: m, Dim: dim, Data: vectors.PowerLaw(rng, m, dim)}}
	var err error
	if x.c, err = collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 4, Metric: metric}); err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{})
	if x.r, err = b.Load(t.Context(), x.c); err != nil {
		shut(t, "backend", b.Close)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shut(t, "resident", x.r.Close)
		shut(t, "backend", b.Close)
	})
	x.o = backendtest.NewOracle(x.c)
	for j := range m {
		g := backend.Goal{K: []int{10, 1, 40}[j%3], Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		x.goals, x.wanted = append(x.goals, g), append(x.wanted, x.o.Answer(x.q.Row(j), g))
	}
	return x
}

// first are the ladders whose first look is of one representation, of every width that it can have, and then at whole rows.
func (x *gate) first(rep backend.Representation) (all []backendtest.Ladder) {
	whole := backend.Look{Rep: backend.RowCodes, To: x.c.D, Rule: backend.Cauchy}
	if rep == backend.RowCodes {
		return []backendtest.Ladder{{Name: "whole", Looks: []backend.Look{whole}}}
	}
	most := x.c.PanelWidth
	if rep == backend.Mixed {
		most = min(x.c.D-1, backend.MixedMost-x.c.R)
	}
	for _, s := range x.c.Stages {
		if s.Coding == collection.Int8 && s.Width <= most {
			look := backend.Look{Rep: rep, To: s.Width, Rule: backend.Student, Alpha: 1e-12}
			all = append(all, backendtest.Ladder{Name: fmt.Sprint(rep, s.Width), Looks: []backend.Look{look, whole}})
		}
	}
	return all
}

// TestGate comes before all measurements on a device: a set in every metric, by first looks at panels, at mixed codes and at
// whole rows, and by the dense path, alone and in a batch; answers are compared with a scan in float64.
func TestGate(t *testing.T) {
	needDriver(t)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		t.Run(metric.String(), func(t *testing.T) {
			x := openGate(t, metric)
			for _, by := range []struct {
				name    string
				ladders []backendtest.Ladder
			}{
				{"panels", x.first(backend.Panels)}, {"mixed", x.first(backend.Mixed)}, {"rows", x.first(backend.RowCodes)},
				{"dense", []backendtest.Ladder{{Name: "dense", Dense: true}}},
			} {
				t.Run(by.name, func(t *testing.T) {
					if len(by.ladders) == 0 {
						t.Fatal("there is no such look")
					}
					for _, l := range by.ladders {
						kernels := kernelsOf(t, x.r, func() { x.check(t, l, x.q.M) })
						if !slices.Contains(kernels, x.scanOf(l)) {
							t.Errorf("%s: no %s among the kernels %v", l.Name, x.scanOf(l), kernels)
						}
						x.check(t, l, 1)
					}
				})
			}
		})
	}
}

// check answers the first m queries and compares the answers.
func (x *gate) check(t *testing.T, l backendtest.Ladder, m int) {
	t.Helper()
	got, _, err := l.Search(t.Context(), x.r, backend.Queries{M: m, Dim: x.q.Dim, Data: x.q.Data[:m*x.q.Dim]}, x.goals[:m])
	if err != nil {
		t.Fatalf("%s: %v", l.Name, err)
	}
	for j := range got {
		for _, d := range x.o.Explain(x.q.Row(j), x.goals[j], got[j], x.wanted[j]) {
			if d.Kind != backendtest.Tie {
				t.Fatalf("%s, query %d of %d, k = %d: %v", l.Name, j, m, x.goals[j].K, d)
			}
		}
	}
}

// scanOf is the kernel that takes the first look of a ladder.
func (x *gate) scanOf(l backendtest.Ladder) string {
	switch {
	case l.Dense:
		return "dense_tf32"
	case l.Looks[0].Rep == backend.RowCodes:
		return "look_rows"
	case l.Looks[0].Rep == backend.Mixed && mayMix(x.c):
		if backend.MixedWidth(x.c.R, l.Looks[0].To) > maxNarrow {
			return "scan_mixed_wide"
		}
		return "scan_mixed"
	}
	return "scan_s8"
}

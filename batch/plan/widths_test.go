package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/collection"
)

// withinLimits returns the first look of a plan that is beyond the limits, or nil.
func withinLimits(p *Plan, limits *backend.Capacity, head int) *backend.Look {
	for i := range p.Looks {
		if !limits.Takes(p.Looks[i].Rep, head, p.Looks[i].To) {
			return &p.Looks[i]
		}
	}
	return nil
}

// TestPlansWithinLimits: whatever the limits of a backend, no ladder has a look beyond them, a name that asks
// for one is refused with the greatest width, and there is always a plan.
func TestPlansWithinLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		for r := range p.limits.Read {
			p.limits.Read[r] = rapid.IntRange(0, 6000).Draw(t, "limit")
		}
		p.limits.Read[backend.Panels] = max(p.limits.Read[backend.Panels], p.head+p.panelWidth)
		for _, m := range []Method{Auto, Adaptive, Certain, Exact} {
			all := p.ladders(m)
			if len(all) == 0 && m != Adaptive { // adaptive needs a look
				t.Errorf("%s has no plan", m)
			}
			for _, l := range append(all, p.chooseLadder(m)) {
				l, _ = p.withSource(l)
				plan := p.makePlan(l)
				if look := withinLimits(plan, &p.limits, p.head); look != nil {
					t.Errorf("%s: %s has look %+v, limits %v", m, plan.Name, *look, p.limits.Read)
				}
				if l.source == backend.LowerBound && p.k > 0 && !p.limits.Takes(backend.RowCodes, p.head, p.rest) {
					t.Errorf("%s: %s takes thresholds from whole rows, which no look reads", m, plan.Name)
				}
			}
		}
		for stage, width := range p.widths {
			if p.named(stage) {
				continue
			}
			name := []string{p.name(ladder{stages: []int{stage}}), p.name(ladder{stages: []int{0, stage}})}
			for i, rep := range []backend.Representation{backend.Panels, backend.RowCodes} {
				if _, err := p.parseLadder(name[i], Auto); err == nil && !p.limits.Takes(rep, p.head, width) {
					t.Errorf("%s is accepted, limits %v", name[i], p.limits.Read)
				}
			}
		}
	})
}

// TestPlansOfEveryWidth: for shapes up to the greatest collection, of which there is no need to have the
// rows, every method and k has a plan within the limits of every backend.
func TestPlansOfEveryWidth(t *testing.T) {
	stages := map[int]*collection.Collection{}
	portable := backend.PortableCapacity()
	narrow := portable // as a GPU's: later looks are bounded too, and there are mixed codes
	portable.Read[backend.SignPanels] = 1024
	narrow.Read[backend.RowCodes], narrow.Read[backend.Signs], narrow.Read[backend.Float32] = 1<<20, 1<<20, 0
	dims := []int{16, 48, 200, 768, 4096, 40_000, 65_504, 65_536, 65_537, 66_000, 70_016, 140_000, 1 << 20, collection.MaxDim}
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.SampledFrom(dims).Draw(t, "dim")
		if stages[dim] == nil { // the stages depend on the width alone
			c, err := collection.Build(t.Context(), make([]float32, dim), dim, &collection.Options{Metric: collection.InnerProduct, NoHead: true})
			if err != nil {
				t.Fatal(err)
			}
			stages[dim] = c
		}
		from := stages[dim]
		c := &collection.Collection{N: int(math.Exp(rapid.Float64Range(0, math.Log(collection.MaxAtoms)).Draw(t, "log n"))), Dim: dim, D: from.D,
			Stages: from.Stages, PanelWidth: from.PanelWidth, Codes: from.Codes}
		pilot := drawnPilot(t, len(from.Stages))
		if dim >= 64 && c.N >= 128 {
			c.R = 32 * rapid.IntRange(0, 1).Draw(t, "head")
		}
		if rapid.Bool().Draw(t, "Euclidean distance") {
			c.Metric, c.Offset = collection.Euclidean, make([]float32, 1)
		}
		costs := fast()
		costs.Sign, costs.Mixed, costs.Lookup = .005, rapid.SampledFrom([]float64{0, .001}).Draw(t, "mixed"), .001
		limits := rapid.SampledFrom([]backend.Capacity{portable, narrow}).Draw(t, "limits")
		q := Question{Method: rapid.SampledFrom([]Method{Auto, Adaptive, Certain, Exact}).Draw(t, "method"), K: rapid.IntRange(0, min(c.N, 1000)).Draw(t, "k"),
			Arms: rapid.IntRange(1, c.N).Draw(t, "arms"), Delta: .01, Together: Together(rapid.IntRange(0, 300).Draw(t, "queries"))}
		q.Panels = max(1, q.Arms/64)
		planner := New(c, costs, limits)
		planner.curves = func() *curves { return newCurves(&pilot) }
		chosen, err := planner.Choose(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(planner.List(q), chosen) {
			if look := withinLimits(p, &limits, c.R); look != nil {
				t.Errorf("%d x %d: %s has look %+v", c.N, dim, p.Name, *look)
			}
			named := q
			named.Name = p.Name
			if got, err := planner.Choose(named); err != nil || got.Name != p.Name {
				t.Errorf("%d x %d: plan %s by its name: %v", c.N, dim, p.Name, err)
			}
		}
		if q.Method == Adaptive && chosen.Dense() && !chosen.Gather {
			t.Errorf("%d x %d: adaptive has no look", c.N, dim)
		}
		if dim > 70_000 && q.Method != Exact {
			named := q
			named.Name = "whole,rescore"
			if _, err := planner.Choose(named); err == nil || !strings.Contains(err.Error(), "at most") {
				t.Errorf("whole rows of %d first: %v", dim, err)
			}
		}
	})
}

// drawnPilot returns forecasts for so many stages: shares fall with the stage.
func drawnPilot(t *rapid.T, stages int) collection.Pilot {
	p := collection.Pilot{Alpha: .001, Ks: []int{1, 10, 100}}
	share := math.Exp(rapid.Float64Range(math.Log(1e-6), 0).Draw(t, "share"))
	fall := rapid.Float64Range(.05, 1).Draw(t, "fall")
	for i := range p.Ks {
		row := make([]float64, stages)
		for j := range row {
			row[j] = min(1, share*math.Pow(fall, float64(j))*math.Pow(5, float64(i)))
		}
		p.Shares = append(p.Shares, row)
		p.Certain = append(p.Certain, slices.Clone(row))
	}
	if rapid.Bool().Draw(t, "no forecast of deterministic looks") {
		p.Certain = nil
	}
	return p
}

package cpu

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/simd"
)

func TestBuiltinCosts(t *testing.T) {
	for _, kern := range simd.Available() {
		b := New(Options{Threads: 1, Kernels: &kern})
		c := b.Describe().Costs
		if err := c.Check(); err != nil || c.Wide == 0 {
			t.Errorf("%v, built in: %v, %+v", kern, err, c)
		}
	}
}

// TestMeasure: measured costs are valid for planning. Their values are not tested.
func TestMeasure(t *testing.T) {
	b := New(Options{})
	var _ backend.Describer = b
	c, err := b.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Wide == 0 {
		t.Errorf("no first look is wider than panels: %+v", c)
	}
	for n := range 3 {
		ctx := backendtest.NewCountdown(50*n, context.Canceled)
		if _, err := b.Measure(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d: %v", 50*n, err)
		}
	}
}

// TestMeasurementSolves computes the times that known costs take, and the costs from these
// times.
func TestMeasurementSolves(t *testing.T) {
	want := backend.Costs{Scan: .004, Wide: .006, Transpose: .07, Test: .4, List: 5, Visit: 20, Code: .01, Sign: .007, Lookup: .003, Far: .05, Fetch: 100, Score: .3,
		Dense: .02, DenseTest: .25, DenseOne: .1, Gather: .9, Rotate: 3, Query: 800}
	const head, pairs, passed = 32, costAtoms * costQueries, 9000
	c := &collection.Collection{R: head, D: 512, Stages: []collection.Stage{{Width: 64}, {Width: 128}, {Width: 512}}}
	ns := func(x float64) time.Duration { return time.Duration(math.Round(x)) }
	looks := func(widths ...int) (l []backend.Look) {
		for _, w := range widths {
			l = append(l, backend.Look{To: w})
		}
		return l
	}
	scan := func(code, width float64) float64 { return pairs * (want.Test + code*(head+width)) }
	m := &measurement{c: c,
		narrow:    trial{looks: looks(64), pulls: []time.Duration{ns(scan(want.Scan, 64))}},
		panel:     trial{looks: looks(128), pulls: []time.Duration{ns(scan(want.Scan, 128))}},
		fullWidth: trial{looks: looks(512), pulls: []time.Duration{ns(scan(want.Wide, 512) + costAtoms*want.Transpose*(head+512))}},
		fullFew:   trial{looks: looks(512), pulls: []time.Duration{ns(scan(want.Wide, 512)*costFew/costQueries + costAtoms*want.Transpose*(head+512))}},
		someKept: trial{looks: looks(128, 512), begin: ns(costQueries * (want.Rotate*512 + want.Dense*2*head*costDim)),
			pulls:   []time.Duration{ns(scan(want.Scan, 128) + want.List*passed), ns(passed * (want.Visit + want.Code*(head+512)))},
			answers: backend.Answers{{Looks: []backend.LookReport{{}, {Seen: passed / 3}}}, {Looks: []backend.LookReport{{}, {Seen: passed * 2 / 3}}}}},
		dense:       trial{pulls: []time.Duration{ns(pairs * (want.DenseTest + want.Dense*costDim))}},
		gathered:    trial{pulls: []time.Duration{ns(pairs / 2 * (want.DenseTest + want.Dense*costDim + want.Gather))}},
		lowDim:      trial{pulls: []time.Duration{ns(pairs * (want.DenseTest + want.Dense*costLowDim))}},
		oneQuery:    trial{pulls: []time.Duration{ns(want.DenseOne * costAtoms * costDim)}},
		fewAtoms:    trial{pulls: []time.Duration{ns(want.Query * costQueries * .75)}, finish: ns(want.Query * costQueries * .25)},
		narrowCodes: ns(costRows * costRows * (7 + want.Code*64)), allCodes: ns(costRows * costRows * (7 + want.Code*512)),
		fewSigns: ns(costRows * costRows * (9 + want.Sign*128)), allSigns: ns(costRows * costRows * (9 + want.Sign*512)),
		fewLookups: ns(costRows * 64 * (.3 + want.Lookup*128)), allLookups: ns(costRows * 64 * (.3 + want.Lookup*512)),
		farCodes:    ns(costFarRows * costRow * (want.Far + (7+want.Code*512)/(head+512))),
		farHalfRows: ns(costFarRows * (want.Fetch + want.Score*costRow/2)), farRows: ns(costFarRows * (want.Fetch + want.Score*costRow)),
	}
	got := m.costs()
	a, b := want.Table(), got.Table()
	for i := range a {
		if math.Abs(a[i].Value-b[i].Value) > .002*a[i].Value {
			t.Errorf("%s: %g ns, made up of %g", a[i].Name, b[i].Value, a[i].Value)
		}
	}
	m.fullWidth.refused = true
	if got := m.costs(); got.Wide != 0 || got.Transpose != 0 {
		t.Errorf("refused, wide looks cost %g and %g", got.Wide, got.Transpose)
	}
	// Times that noise has reversed still give valid costs.
	m.fullWidth.refused, m.fullFew.pulls[0] = false, 1
	m.panel.pulls[0], m.allCodes, m.farRows, m.dense.pulls[0] = 1, 1, 1, 1
	if got := m.costs(); got.Check() != nil {
		t.Error(got.Check())
	}
}

// TestMeasuredRunsKeepTheirThread: runs that are timed do not yield, others do.
func TestMeasuredRunsKeepTheirThread(t *testing.T) {
	m, err := newMeasurement(t.Context(), simd.Best())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New(Options{Threads: 1}).Load(t.Context(), m.c)
	if err != nil {
		t.Fatal(err)
	}
	if plain.(*resident).KeepsThread {
		t.Error("a run keeps its thread")
	}
	for _, trial := range []*trial{&m.narrow, &m.fewAtoms, &m.lowDim, &m.oneQuery} {
		if !trial.resident.(*resident).KeepsThread {
			t.Error("a measured run does not keep its thread")
		}
	}
}

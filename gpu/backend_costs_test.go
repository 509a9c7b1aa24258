//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/gpu/device"
)

// TestMeasure checks that costs can be measured, with small sizes, and that nothing of it stays on
// the device.
func TestMeasure(t *testing.T) {
	b := open(t, Options{}).(*Backend)
	defer shut(t, "backend", b.Close)
	m := b.machines[0]
	before := m.d.Usage()
	small := trialSize{atoms: 512, near: 512, m: 8, rounds: 1, warm: 1}
	c, err := m.measure(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if after := m.d.Usage(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	for n := 0; ; n += 1 + n/3 {
		ctx := backendtest.NewCountdown(n, context.Canceled)
		_, err := m.measure(ctx, small)
		if after := m.d.Usage(); after != before {
			t.Fatalf("stopped after %d: %+v before, %+v after", n, before, after)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	builtin := b.Describe().Costs
	if err := builtin.Check(); err != nil {
		t.Error(err)
	}
	var _ backend.Describer = b
}

// onTrial runs f with a small trial on the first device.
func onTrial(t *testing.T, f func(x *trial) error) {
	t.Helper()
	m := testMachine(t, Options{})
	err := m.do(t.Context(), func(q *queue) (err error) {
		x := &trial{queue: q, sizes: trialSize{atoms: 2048, near: 1024, m: 9, rounds: 1}}
		r := &resident{m: m}
		defer func() { err = errors.Join(err, x.freeMemory(r)) }()
		if err := x.allocate(t.Context(), r); err != nil {
			return err
		}
		return f(x)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// expectListed checks the number of entries of each query's list, and its flags.
func (x *trial) expectListed(t *testing.T, what string, flags uint32, listed int) error {
	t.Helper()
	if err := x.b.syncStates(x.queue); err != nil {
		return err
	}
	for j, s := range x.b.states {
		if s.flags != flags || int(s.listed) != listed {
			t.Errorf("%s: query %d lists %d atoms of %d, flags %#x of %#x", what, j, s.listed, listed, s.flags, flags)
		}
	}
	return nil
}

// TestTrials checks that trials do what their costs are computed for, on random codes: that the one that times listing lists all
// pairs, of which no list overflows, which would set flags instead, and that those that no pair passes scan all queries and list none.
func TestTrials(t *testing.T) {
	onTrial(t, func(x *trial) error {
		if ns := x.listTime(t.Context()); !(ns > 0) {
			t.Errorf("%g ns a pair", ns)
		}
		if err := x.expectListed(t, "listing", 0, x.sizes.near); err != nil {
			return err
		}
		if x.g.lists != x.lists {
			t.Error("the lists are others afterwards")
		}
		for _, width := range []int{trialNarrow, trialPanel, trialDim} {
			if ns := x.scanTime(t.Context(), width, x.sizes.atoms, nonePass); !(ns > 0) {
				t.Errorf("%g ns for a look at %d", ns, width)
			}
			if err := x.expectListed(t, "a look that none passes", 0, 0); err != nil {
				return err
			}
		}
		if ns := x.mixedTime(t.Context()); !(ns > 0) {
			t.Errorf("%g ns at mixed codes", ns)
		}
		if err := x.expectListed(t, "mixed codes", flagMixed, 0); err != nil {
			return err
		}
		var c backend.Costs
		x.measureDense(t.Context(), &c)
		if !(c.Dense > 0) || !(c.DenseOne > 0) {
			t.Errorf("dense scans by %g and %g ns", c.Dense, c.DenseOne)
		}
		return x.expectListed(t, "dense scans", 0, 0)
	})
}

// TestTrialContent checks that atoms and queries are random, of realistic norms, and the same at every measurement; and that scores
// read different rows, as otherwise rows would be cached.
func TestTrialContent(t *testing.T) {
	size := trialSize{atoms: 2048, m: 9}
	one, two := newTrialContent(size), newTrialContent(size)
	if !slices.Equal(one.rows, two.rows) || !slices.Equal(one.codes, two.codes) || !slices.Equal(one.mixedSlab, two.mixedSlab) || !slices.Equal(one.order, two.order) {
		t.Error("the contents change")
	}
	for j := range size.m {
		square := 0.
		for _, v := range one.queries[j*trialDim:][:trialDim] {
			square += float64(v) * float64(v)
		}
		if square < .5 || square > 2 {
			t.Errorf("query %d has the square %g", j, square)
		}
	}
	onTrial(t, func(x *trial) error {
		downloaded := func(b *device.Buffer[uint8]) float64 {
			codes, sum := make([]uint8, b.Len()), 0.
			if err := b.Download(x.t, codes, 0); err != nil {
				t.Fatal(err)
			}
			for _, c := range codes {
				sum += math.Abs(float64(int8(c ^ 0x80))) // the distance of a biased code from 0
			}
			return sum / float64(len(codes))
		}
		if mean := downloaded(x.r.codes.device); mean < 20 || mean > 40 { // .8 deviations
			t.Errorf("codes of %g in the mean", mean)
		}
		x.scatterLists(x.sizes.atoms)
		x.g.scoreCandidates(x.queue, unanswered, rankByBound, x.b.candidateRoom, false)
		if err := x.b.syncStates(x.queue); err != nil {
			return err
		}
		raw := make([]uint8, 4*x.lists.room)
		if err := x.b.mem.Download(x.t, raw, x.b.at.candidateRow.at(0)); err != nil {
			return err
		}
		rows := map[string]bool{}
		for row := range slices.Chunk(raw, 4) {
			rows[string(row)] = true
		}
		if len(rows) < x.lists.room*9/10 { // 227 of 2,048 at random: 12 in the mean are there twice
			t.Errorf("%d different rows among %d candidates", len(rows), x.lists.room)
		}
		return nil
	})
}

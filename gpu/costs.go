//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// Measure times the kernels on the first device with synthetic atoms. Looks of different widths and
// lengths separate the costs of a code, an atom, a survivor and a query. The contents are random: a device
// draws less power for zeros, and may then run at a higher clock.
func (b *Backend) Measure(ctx context.Context) (backend.Costs, error) {
	c, err := b.machines[0].measure(ctx, trialSize{atoms: 1 << 19, near: 1 << 14, m: 512, rounds: 5, warm: 64})
	if err != nil {
		return backend.Costs{}, fmt.Errorf("measuring costs: %w", err)
	}
	return c, c.Check()
}

// trialSize is the amount of work that costs are measured on.
type trialSize struct {
	atoms  int // exceeding the caches, and enough to make launch costs negligible
	near   int // atoms whose rows fit the caches
	m      int // queries
	rounds int // repetitions; the least time counts
	warm   int // scans before anything is timed, since an idle device takes time to reach full clocks
}

// The synthetic atoms' rests have trialDim coordinates, of which first looks read trialNarrow or
// trialPanel; rows of vectors have trialShort or trialDim.
const (
	trialHead, trialDim, trialShort = 32, 256, 64
	trialNarrow, trialPanel         = 64, 128
	trialMixed                      = 128 // mixed codes of an atom, besides those of terms
)

// Thresholds of trials. Queries and rows have norms near 1, and bounds are below their product plus the
// product of a rest and a radius, so no pair reaches the first, and all reach the second.
const nonePass, allPass = 16., -16.

// trial is a batch of queries over atoms.
type trial struct {
	*queue
	*run
	g       *queryChunk
	mixed   *mixedCodes
	steps   *device.Buffer[float32] // of the atoms' codes
	content trialContent
	sizes   trialSize
	start   *device.Event
	end     *device.Event
}

func (m *machine) measure(ctx context.Context, size trialSize) (c backend.Costs, err error) {
	err = m.do(ctx, func(q *queue) (err error) {
		// Rows, codes and other arrays may take half of the budget.
		for perAtom := int64(4*trialDim + 4*(trialHead+trialDim) + trialMixed + backend.MixedTerms + 128); int64(size.atoms)*perAtom > q.t.Device().Usage().Budget/2; {
			size.atoms /= 2
		}
		size.near = min(size.near, size.atoms)
		t := &trial{queue: q, sizes: size}
		r := &resident{m: m}
		defer func() { err = errors.Join(err, t.freeMemory(r)) }()
		if err := t.allocate(ctx, r); err != nil {
			return err
		}
		c, err = t.measureCosts(ctx)
		return err
	})
	return c, err
}

// allocate allocates and fills the atoms and the queries.
func (t *trial) allocate(ctx context.Context, r *resident) (err error) {
	n, m := t.sizes.atoms, t.sizes.m
	r.c = &collection.Collection{N: n, Dim: trialDim, D: trialDim, R: trialHead, PanelWidth: trialPanel, Codes: []uint8{0},
		Stages: []collection.Stage{{Width: trialNarrow}, {Width: trialPanel}, {Width: trialDim}}}
	r.atoms, r.stride = n, trialHead+trialPanel
	t.content = newTrialContent(t.sizes)
	if err := t.content.fillAtoms(ctx, t, r); err != nil {
		return err
	}
	t.run = &run{r: r}
	if t.b, err = newQueryBatch(t.t, r, m, 1, true, nil); err != nil {
		return err
	}
	if t.lists, err = newArena(t.queue, "synthetic lists", m, min(t.sizes.near, n/m), m*(trialDim+1)); err != nil {
		return err
	}
	t.g = &queryChunk{b: t.b, lists: t.lists, hi: m}
	if t.start, err = t.t.NewEvent("start"); err != nil {
		return err
	}
	t.end, err = t.t.NewEvent("end")
	return err
}

func (t *trial) freeMemory(r *resident) error {
	errs := []error{t.s.Sync(t.t), t.start.Close(t.t), t.end.Close(t.t)}
	if t.run != nil {
		errs = append(errs, t.lists.freeMemory(t.t), t.b.freeMemory(t.t))
	}
	return errors.Join(append(errs, r.stores.freeAll(t.t), t.machine.pool.FreeAll(t.t))...)
}

// minTime returns the least time of f on the device, in ns; before is not timed.
func (t *trial) minTime(ctx context.Context, before, f func()) float64 {
	least := 0.0
	for round := range t.sizes.rounds + 1 {
		if t.err != nil || ctx.Err() != nil {
			return least
		}
		before()
		t.enqueue(t.start.Record)
		f()
		t.enqueue(t.end.Record)
		if t.sync() != nil {
			return least
		}
		d, err := t.end.Since(t.t, t.start)
		t.err = err
		if ns := float64(d) / float64(time.Nanosecond); round == 1 || round > 1 && ns < least { // round 0 warms up
			least = ns
		}
	}
	return least
}

// perUnit returns the cost of each of n units, given the times with and without them.
func (t *trial) perUnit(many, few, n float64) float64 { return max(many-few, .01*many, 1) / n }

// measureCosts runs all trials.
func (t *trial) measureCosts(ctx context.Context) (backend.Costs, error) {
	var c backend.Costs
	m := float64(t.sizes.m)
	pairs := m * float64(t.sizes.atoms)

	t.prepareQueries(nonePass)
	t.warmUp(ctx)

	// looks of queries with empty lists
	empty := &look{terms: t.terms(), Compiled: &looks.Compiled{Look: backend.Look{Rep: backend.RowCodes, To: trialDim}, Stage: 2, QueryCodes: looks.Codes16}}
	c.Query = t.minTime(ctx, func() { t.g.beginLook(t.queue) }, func() { t.revisit(t.queue, t.g, empty) }) / m

	// first looks that no pair passes
	scans := func(width int) float64 { return t.scanTime(ctx, width, t.sizes.atoms, nonePass) }
	narrow, panel, wide := scans(trialNarrow), scans(trialPanel), scans(trialDim)
	c.Scan = t.perUnit(panel, narrow, pairs*(trialPanel-trialNarrow))
	c.Test = t.perUnit(panel, c.Scan*pairs*(trialHead+trialPanel), pairs)
	c.Wide = t.perUnit(wide, c.Test*pairs, pairs*(trialHead+trialDim)) // another kernel: its codes may cost more or less
	c.Mixed = t.mixedTime(ctx) / (pairs * (trialMixed + backend.MixedTerms))
	c.List = t.listTime(ctx)

	// later looks at random rows, within the caches and beyond
	rows := func(width, atoms int) float64 {
		l := &look{Compiled: &looks.Compiled{Look: backend.Look{Rep: backend.RowCodes, To: width}, QueryCodes: looks.Codes16}, terms: empty.terms}
		t.scatterLists(atoms)
		t.g.beginLook(t.queue)
		return t.minTime(ctx, func() {}, func() { t.lookAtRows(t.queue, t.g, l) })
	}
	visits := m * float64(t.lists.room)
	less, more, far := rows(trialNarrow, t.sizes.near), rows(trialDim, t.sizes.near), rows(trialDim, t.sizes.atoms)
	c.Code = t.perUnit(more, less, visits*(trialDim-trialNarrow))
	c.Visit = t.perUnit(less, c.Code*visits*(trialHead+trialNarrow), visits)
	c.Far = t.perUnit(far, more, visits*(trialHead+trialDim))
	c.Sign = max(c.Code/3, c.Scan)

	// exact scores of random rows
	scores := func(dim int) float64 {
		t.r.c.Dim = dim
		defer func() { t.r.c.Dim = trialDim }()
		return t.minTime(ctx, func() { t.scatterLists(t.sizes.atoms) }, func() { t.g.scoreCandidates(t.queue, unanswered, rankByBound, t.b.candidateRoom, false) })
	}
	scored := m * float64(min(t.b.candidateRoom, t.lists.room))
	short, long := scores(trialShort), scores(trialDim)
	c.Score = t.perUnit(long, short, scored*(trialDim-trialShort))
	c.Fetch = t.perUnit(short, c.Score*scored*trialShort, scored)

	// products with rows, and preparing queries
	t.measureDense(ctx, &c)
	c.Rotate = t.perUnit(t.minTime(ctx, func() {}, func() {
		t.b.uploadQueries(t.queue)
		t.b.prepare(t.queue)
	}), c.Dense*m*(2*trialHead*trialDim+trialDim*trialDim), m*trialDim)
	if err := ctx.Err(); err != nil {
		return c, err
	}
	return c, t.err
}

// prepareQueries prepares the queries with a threshold of floor.
func (t *trial) prepareQueries(floor float64) {
	dim := t.r.c.Dim
	for j := range t.sizes.m {
		row := t.content.queries[j*trialDim:][:dim]
		t.b.setQuery(j, row, &backend.Goal{K: 1, Floor: floor, Allowed: t.sizes.atoms, Ceiling: math.Inf(1)}, 1, goalLists{})
	}
	t.b.uploadQueries(t.queue)
	t.b.prepare(t.queue)
}

// terms returns terms of the size of real ones. An array of norms serves as strips, too: 32 bytes for every 512 atoms.
func (t *trial) terms() terms {
	norm, step := t.r.norm.Address(), t.steps.Address()
	return terms{headScale: step, headNorm: norm, headErr: step, norm: norm, scale: step, radius: norm, xnorm: norm, strips: norm}
}

// listTime returns the cost of listing a pair, from a scan that no pair passes and one that all pass,
// with room for them.
func (t *trial) listTime(ctx context.Context) float64 {
	all, err := newArena(t.queue, "synthetic lists", t.sizes.m, t.sizes.near, 0)
	if err != nil {
		t.err = err
		return 0
	}
	t.g.lists = all
	none, pass := t.scanTime(ctx, trialPanel, t.sizes.near, nonePass), t.scanTime(ctx, trialPanel, t.sizes.near, allPass)
	t.g.lists = t.lists
	if err := all.freeMemory(t.t); t.err == nil {
		t.err = err
	}
	return t.perUnit(pass, none, float64(t.sizes.m)*float64(t.sizes.near/looks.StripAtoms*looks.StripAtoms))
}

// scanTime returns the time of a first look at so many atoms, rounded down to whole strips.
func (t *trial) scanTime(ctx context.Context, width, atoms int, floor float64) float64 {
	l := &look{terms: t.terms(), Compiled: &looks.Compiled{Look: backend.Look{Rep: backend.Panels, To: width}}}
	return t.minTime(ctx, func() {
		t.prepareQueries(floor)
		t.encodeQueries8(t.queue, t.g, l)
		t.computeFactors(t.queue, t.g, l)
	}, func() { t.scanAtoms(t.queue, t.g, l, 0, atoms/looks.StripAtoms*looks.StripAtoms) })
}

// mixedTime returns the time of a first look at mixed codes that no pair passes.
func (t *trial) mixedTime(ctx context.Context) float64 {
	l := &look{mixed: t.mixed}
	return t.minTime(ctx, func() {
		t.prepareQueries(nonePass)
		if t.b.syncStates(t.queue) != nil {
			return
		}
		for j := range t.b.states {
			t.b.states[j].flags |= flagMixed
		}
		t.b.uploadStates(t.queue)
		t.enqueue(func(th *device.Thread, _ *device.Stream) error {
			return t.b.mem.Upload(th, int(t.b.at.mixed), bytesOfSlice(t.content.mixed))
		})
	}, func() {
		t.scanMixedCodes(t.queue, t.g, l, selector{flagMixed, flagMixed}, 0, t.sizes.atoms/looks.StripAtoms*looks.StripAtoms)
	})
}

// scatterLists fills the lists with random atoms below atoms.
func (t *trial) scatterLists(atoms int) {
	r := rand.New(rand.NewPCG(1, uint64(atoms)))
	ids, bounds := make([]uint32, t.sizes.m*t.lists.room), make([]float32, t.sizes.m*t.lists.room)
	for i := range ids {
		ids[i], bounds[i] = uint32(r.IntN(atoms)), r.Float32()
	}
	t.prepareQueries(allPass)
	if t.b.syncStates(t.queue) != nil {
		return
	}
	for j := range t.b.states {
		t.b.states[j].listed = uint32(t.lists.room)
	}
	t.b.uploadStates(t.queue)
	t.enqueue(func(th *device.Thread, s *device.Stream) error {
		a := t.lists
		return errors.Join(a.mem.Upload(th, int(a.at.atom), bytesOfSlice(ids)), a.mem.Upload(th, int(a.at.bound), bytesOfSlice(bounds)),
			a.mem.Fill(th, s, int(a.at.estimate), int(a.at.extra-a.at.estimate), 0))
	})
}

// denseRows returns a dense scan for m queries.
func (t *trial) denseRows(m int) *denseScan {
	norm := t.r.norm
	d := &denseScan{x: t.run, terms: &denseTerms{scale: norm, size: norm, offset: t.steps, inverse: t.r.order}, width: t.r.c.Dim, queryChunk: *t.g}
	d.queryChunk.hi = m
	return d
}

// warmUp keeps the device busy until it reaches full clocks.
func (t *trial) warmUp(ctx context.Context) {
	d := t.denseRows(t.sizes.m)
	d.loadQueries(t.queue)
	for range t.sizes.warm {
		d.enqueueRows(t.queue, 0, t.sizes.atoms)
		if t.paceChunk(ctx, t.machine.maxPairs) != nil {
			return
		}
	}
}

// measureDense times the dense path: many queries with many and with few coordinates, and a single
// query.
func (t *trial) measureDense(ctx context.Context, c *backend.Costs) {
	n := t.sizes.atoms
	run := func(m, dim int) float64 {
		t.r.c.Dim = dim
		defer func() { t.r.c.Dim = trialDim }()
		d := t.denseRows(m)
		return t.minTime(ctx, func() {
			t.prepareQueries(nonePass)
			d.loadQueries(t.queue)
		}, func() { d.enqueueRows(t.queue, 0, n) })
	}
	m := float64(t.sizes.m)
	long, short, one := run(t.sizes.m, trialDim), run(t.sizes.m, trialShort), run(1, trialDim)
	c.Dense = t.perUnit(long, short, m*float64(n)*(trialDim-trialShort))
	c.DenseTest = t.perUnit(short, c.Dense*m*float64(n)*trialShort, m*float64(n))
	c.DenseOne = t.perUnit(one, 0, float64(n)*trialDim)
}

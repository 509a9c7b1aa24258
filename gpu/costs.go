//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// Measure times the kernels on the first device, on made-up atoms: looks of
// different widths and lengths tell apart what is done once a code, an atom, a
// survivor and a query.
func (b *Backend) Measure(ctx context.Context) (backend.Costs, error) {
	c, err := b.machines[0].measure(ctx, trialSize{atoms: 1 << 19, near: 1 << 14, m: 512, rounds: 5, warm: 64})
	if err != nil {
		return backend.Costs{}, fmt.Errorf("measuring costs: %w", err)
	}
	return c, c.Check()
}

// trialSize says on how much costs are measured.
type trialSize struct {
	atoms  int // more than caches hold, and enough for launches to be little beside them
	near   int // whose rows caches hold
	m      int // queries
	rounds int // the least time of which counts
	warm   int // scans before anything is timed: an idle device needs a while to come to speed
}

// The made-up atoms: their rests have trialDim coordinates, of which first looks
// take the first or the second number; rows of vectors have trialShort or
// trialDim.
const (
	trialHead, trialDim, trialShort = 32, 256, 64
	trialNarrow, trialPanel         = 64, 128
)

// trial is queries and atoms of zeros, whose bounds and scores are all zero.
type trial struct {
	*queue
	*run
	g     *group
	size  trialSize
	start *Event
	end   *Event
}

func (m *machine) measure(ctx context.Context, size trialSize) (c backend.Costs, err error) {
	err = m.do(ctx, func(q *queue) (err error) {
		// what 96 bytes of the device's memory an atom, codes and rows hold
		for perAtom := int64(4*trialDim + 4*(trialHead+trialDim) + 128); int64(size.atoms)*perAtom > q.t.d.Usage().Budget/2; {
			size.atoms /= 2
		}
		size.near = min(size.near, size.atoms)
		t := &trial{queue: q, size: size}
		r := &resident{m: m}
		defer func() { err = errors.Join(err, t.close(r)) }()
		if err := t.open(r); err != nil {
			return err
		}
		c, err = t.costs(ctx)
		return err
	})
	return c, err
}

// open makes the atoms and the queries.
func (t *trial) open(r *resident) (err error) {
	n, m := t.size.atoms, t.size.m
	r.c = &collection.Collection{N: n, Dim: trialDim, D: trialDim, R: trialHead, PanelWidth: trialPanel, Codes: []uint8{0},
		Stages: []collection.Stage{{Width: trialNarrow}, {Width: trialPanel}, {Width: trialDim}}}
	r.atoms, r.stride = n, trialHead+trialPanel
	var zero *Buffer[float32]
	if zero, err = zeros[float32](t.queue, r, n); err != nil {
		return err
	}
	r.norm = zero
	r.rotation, r.codes, r.rows = &rotation{}, &store[uint8]{}, &store[float32]{}
	for _, err := range []error{
		fillZero(t.queue, r, &r.rotation.head, trialHead*trialDim), fillZero(t.queue, r, &r.rotation.haar, trialDim*trialDim),
		fillZero(t.queue, r, &r.slab, n*r.stride), fillZero(t.queue, r, &r.codes.device, n*(trialHead+trialDim)),
		fillZero(t.queue, r, &r.rows.device, n*trialDim), fillZero(t.queue, r, &r.order, n),
	} {
		if err != nil {
			return err
		}
	}
	t.run = &run{r: r}
	if t.b, err = newQueryBatch(t.t, r, m, 1, true); err != nil {
		return err
	}
	if t.lists, err = newArena(t.queue, "made-up lists", m, min(t.size.near, n/m), 4*m*(trialDim+1)); err != nil {
		return err
	}
	t.g = &group{b: t.b, lists: t.lists, hi: m}
	if t.start, err = t.t.NewEvent("start"); err != nil {
		return err
	}
	t.end, err = t.t.NewEvent("end")
	return err
}

func zeros[T any](q *queue, r *resident, n int) (*Buffer[T], error) {
	b, err := onDevice[T](q.t, &r.stores, "made-up atoms", n)
	if err == nil {
		var zero T
		err = b.Fill(q.t, q.s, 0, n, zero)
	}
	return b, err
}

func fillZero[T any](q *queue, r *resident, to **Buffer[T], n int) (err error) {
	*to, err = zeros[T](q, r, n)
	return err
}

func (t *trial) close(r *resident) error {
	errs := []error{t.s.Sync(t.t), t.start.Close(t.t), t.end.Close(t.t)}
	if t.run != nil {
		errs = append(errs, t.lists.free(t.t), t.b.free(t.t))
	}
	return errors.Join(append(errs, r.stores.free(t.t), t.p.pool.drop(t.t))...)
}

// time is the least time that f takes on the device, in ns.
func (t *trial) time(ctx context.Context, before, f func()) float64 {
	least := 0.0
	for round := range t.size.rounds + 1 {
		if t.err != nil || ctx.Err() != nil {
			return least
		}
		before()
		t.do(t.start.Record)
		f()
		t.do(t.end.Record)
		if t.sync() != nil {
			return least
		}
		d, err := t.end.Since(t.t, t.start)
		t.err = err
		if ns := float64(d) / float64(time.Nanosecond); round == 1 || round > 1 && ns < least { // the first is to warm up
			least = ns
		}
	}
	return least
}

// each is what one of n things cost, of which many took a time and few another.
func (t *trial) each(many, few, n float64) float64 { return max(many-few, .01*many, 1) / n }

// costs runs the trials.
func (t *trial) costs(ctx context.Context) (backend.Costs, error) {
	var c backend.Costs
	m := float64(t.size.m)
	pairs := m * float64(t.size.atoms)

	t.begin(1)
	t.warm(ctx)

	// what looks cost queries whose lists are empty
	empty := &look{Compiled: &looks.Compiled{Look: backend.Look{Rep: backend.RowCodes, To: trialDim}, Stage: 2, QueryCodes: looks.Codes16}}
	var err error
	if empty.table, err = t.tableOf(ctx, empty); err != nil {
		return c, err
	}
	c.Query = t.time(ctx, func() {}, func() { t.revisit(t.queue, t.g, empty) }) / m

	// first looks that none passes
	narrow, panel := t.scanTime(ctx, trialNarrow, t.size.atoms, 1), t.scanTime(ctx, trialPanel, t.size.atoms, 1)
	c.Scan = t.each(panel, narrow, pairs*(trialPanel-trialNarrow))
	c.Wide = 1.5 * c.Scan
	c.Test = t.each(panel, c.Scan*pairs*(trialHead+trialPanel), pairs)
	c.List = t.listTime(ctx)

	// later looks at random rows, in the cache and not
	rows := func(width, atoms int) float64 {
		l := &look{&looks.Compiled{Look: backend.Look{Rep: backend.RowCodes, To: width}, QueryCodes: looks.Codes16}, empty.table}
		t.scatter(atoms)
		return t.time(ctx, func() {}, func() { t.rowsOnly(l) })
	}
	visits := m * float64(t.lists.room)
	less, more, far := rows(trialNarrow, t.size.near), rows(trialDim, t.size.near), rows(trialDim, t.size.atoms)
	c.Code = t.each(more, less, visits*(trialDim-trialNarrow))
	c.Visit = t.each(less, c.Code*visits*(trialHead+trialNarrow), visits)
	c.Far = t.each(far, more, visits*(trialHead+trialDim))
	c.Sign = max(c.Code/3, c.Scan)

	// exact scores of random rows
	scores := func(dim int) float64 {
		t.r.c.Dim = dim
		defer func() { t.r.c.Dim = trialDim }()
		return t.time(ctx, func() { t.scatter(t.size.atoms) }, func() { t.g.score(t.queue, unanswered, byBound, t.b.leadRoom, false) })
	}
	scored := m * float64(min(t.b.leadRoom, t.lists.room))
	short, long := scores(trialShort), scores(trialDim)
	c.Score = t.each(long, short, scored*(trialDim-trialShort))
	c.Fetch = t.each(short, c.Score*scored*trialShort, scored)

	// products with rows, and queries made ready
	t.dense(ctx, &c)
	c.Rotate = t.each(t.time(ctx, func() {}, func() { t.b.load(t.queue) }), c.Dense*m*(2*trialHead*trialDim+trialDim*trialDim), m*trialDim)
	if err := ctx.Err(); err != nil {
		return c, err
	}
	return c, t.err
}

// begin makes the queries ready, with a threshold that zeros reach or not.
func (t *trial) begin(floor float64) {
	row := make([]float32, trialDim)
	for j := range t.size.m {
		t.b.ask(j, row, &backend.Goal{K: 1, Floor: floor, Allowed: t.size.atoms, Skip: -1}, 1, 0)
	}
	t.b.load(t.queue)
}

func (t *trial) tableOf(ctx context.Context, l *look) (*Buffer[terms], error) {
	table := terms{}
	zero := pointer(t.r.norm)
	table.headScale, table.headNorm, table.headErr, table.norm, table.scale, table.radius, table.xnorm = zero, zero, zero, zero, zero, zero, zero
	table.strips = zero // a strip of zeros for every 512 atoms, of 32 bytes: enough there
	return put(ctx, t.t, &t.r.stores, "made-up atoms", []terms{table})
}

// listTime is what a pair costs that passes a first look, from one that none passes and
// one that all do, with room for them.
func (t *trial) listTime(ctx context.Context) float64 {
	all, err := newArena(t.queue, "made-up lists", t.size.m, t.size.near, 0)
	if err != nil {
		t.err = err
		return 0
	}
	t.g.lists = all
	none, pass := t.scanTime(ctx, trialPanel, t.size.near, 1), t.scanTime(ctx, trialPanel, t.size.near, -1)
	t.g.lists = t.lists
	if err := all.free(t.t); t.err == nil {
		t.err = err
	}
	return t.each(pass, none, float64(t.size.m)*float64(t.size.near/looks.StripAtoms*looks.StripAtoms))
}

// scanTime is the time of a first look at so many atoms, in whole strips.
func (t *trial) scanTime(ctx context.Context, width, atoms int, floor float64) float64 {
	l := &look{Compiled: &looks.Compiled{Look: backend.Look{Rep: backend.Panels, To: width}}}
	if l.table, t.err = t.tableOf(ctx, l); t.err != nil {
		return 0
	}
	return t.time(ctx, func() {
		t.begin(floor)
		t.codes8(t.queue, t.g, l)
		t.factors(t.queue, t.g, l)
	}, func() { t.scanAtoms(t.queue, t.g, l, 0, atoms/looks.StripAtoms*looks.StripAtoms) })
}

// scatter fills the lists with random ones of the first atoms.
func (t *trial) scatter(atoms int) {
	r := rand.New(rand.NewPCG(1, uint64(atoms)))
	ids := make([]uint32, t.size.m*t.lists.room)
	for i := range ids {
		ids[i] = uint32(r.IntN(atoms))
	}
	t.begin(-1)
	if t.b.settle(t.queue) != nil {
		return
	}
	for j := range t.b.states {
		t.b.states[j].listed = uint32(t.lists.room)
	}
	t.b.put(t.queue)
	t.do(func(th *Thread, s *Stream) error {
		a := t.lists
		if err := a.mem.Upload(th, a.at.atom, bytesOfSlice(ids)); err != nil {
			return err
		}
		return a.mem.Fill(th, s, a.at.bound, a.at.extra-a.at.bound, 0) // bounds and estimates
	})
}

// rowsOnly is a later look without what follows it.
func (t *trial) rowsOnly(l *look) {
	c, b := t.r.c, t.b
	t.launch("look_rows", t.g.shared(t.queue, 128), t.g.states(), t.lists.table(), Ptr(l.table), Ptr(t.r.codes.memory()), I64(int64(c.R+c.D)),
		I32(c.R), I32(l.To), t.g.array(b.at.hi, b.pitch()), t.g.array(b.at.lo, b.pitch()), I32(b.pitch()))
}

// denseRows is a dense scan by m queries.
func (t *trial) denseRows(m int) *denseScan {
	zero := t.r.norm
	d := &denseScan{x: t.run, terms: &denseTerms{scale: zero, size: zero, offset: zero, inverse: t.r.order}, width: t.r.c.Dim, group: *t.g}
	d.group.hi = m
	return d
}

// warm has the device come to speed.
func (t *trial) warm(ctx context.Context) {
	d := t.denseRows(t.size.m)
	for range t.size.warm {
		d.rows(t.queue, 0, t.size.atoms)
		if t.pace(ctx, t.p.pairsMost) != nil {
			return
		}
	}
}

// dense times the dense path: many queries of many coordinates and of few, and
// one query alone.
func (t *trial) dense(ctx context.Context, c *backend.Costs) {
	n := t.size.atoms
	run := func(m, dim int) float64 {
		t.r.c.Dim = dim
		defer func() { t.r.c.Dim = trialDim }()
		d := t.denseRows(m)
		return t.time(ctx, func() { t.begin(1) }, func() { d.rows(t.queue, 0, n) })
	}
	m := float64(t.size.m)
	long, short, one := run(t.size.m, trialDim), run(t.size.m, trialShort), run(1, trialDim)
	c.Dense = t.each(long, short, m*float64(n)*(trialDim-trialShort))
	c.DenseTest = t.each(short, c.Dense*m*float64(n)*trialShort, m*float64(n))
	c.DenseOne = t.each(one, 0, float64(n)*trialDim)
}

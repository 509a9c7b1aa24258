package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// The collection that costs are measured on: small, so that it is built quickly.
const (
	costAtoms   = 2048
	costDim     = 512
	costLess    = 64 // another dimension, for the dense scan
	costQueries = 64
	// costMemory is the size of the float32 rows accessed at random: too large for any cache, like
	// those of a large collection.
	costMemory  = 64 << 20
	costRow     = 1024 // coordinates of such a row
	costFetches = 256  // of them in a round
	costCodes   = 64   // rows of codes, summed in as many rounds

	costTime   = 250 * time.Millisecond
	costRounds = 3 // least number of rounds
)

// builtinCosts returns what Measure found for kernels on an AMD EPYC 9004.
func builtinCosts(kernels simd.Kernels) backend.Costs {
	switch kernels {
	case simd.AVX512:
		return backend.Costs{Scan: .0039, Wide: .0053, Test: .4, List: 4.5, Visit: 15.2, Code: .0112, Sign: .0045, Far: .09, Fetch: 100, Score: .32,
			Dense: .0178, DenseTest: .226, DenseOne: .088, Gather: .8, Rotate: 2.15, Query: 500}
	case simd.AVX2, simd.NEON:
		// NEON has not been measured; its products a cycle are about AVX2's.
		return backend.Costs{Scan: .0112, Wide: .0133, Test: .48, List: 4.9, Visit: 14.2, Code: .0318, Sign: .0055, Far: .09, Fetch: 83, Score: .38,
			Dense: .0182, DenseTest: .4, DenseOne: .1, Gather: .8, Rotate: 2.15, Query: 565}
	}
	c := backend.Portable()
	c.Wide, c.Sign = .248, .165
	return c
}

// Measure times searches on one core, round after round, and keeps the least time of each.
// Looks of different widths that keep different shares separate the costs of a code, an atom, a
// survivor and a query.
func (b *Backend) Measure(ctx context.Context) (backend.Costs, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	one := &Backend{threads: 1, kernels: b.kernels}
	m, err := newMeasurement(ctx, one)
	if err == nil {
		begun := threadTime()
		for round := 0; err == nil && (round < costRounds || threadTime()-begun < costTime); round++ {
			err = m.round(ctx)
		}
	}
	if err != nil {
		return backend.Costs{}, fmt.Errorf("measuring costs: %w", err)
	}
	c := m.costs()
	return c, c.Check()
}

// measurement holds the trials of a calibration, with the least time of each.
type measurement struct {
	c       *collection.Collection
	kernels simd.Kernels
	// Looks that keep nothing, at two widths of panels and at whole rows; one that keeps some arms,
	// whose rows are then read; one at so few atoms that the cost of a query dominates.
	narrow, panel, whole, some, few trial
	// Dense scans with many coordinates, with fewer, and for one query; one that gathers every other
	// row.
	dense, less, alone, gathered trial

	short, long  time.Duration // sums of rows of codes in the cache
	fewer, every time.Duration // sums of rows of signs in the cache
	random       *rand.Rand
	memory       []float32     // rows that are in no cache
	far          time.Duration // sums of rows of codes in memory
	half, full   time.Duration // scores of rows in memory, always different ones
}

// trial is a search to be timed, with its least times.
type trial struct {
	r     backend.Resident
	q     backend.Queries
	floor float64
	looks []backend.Look  // none: the dense path
	allow *backend.Filter // whose rows it gathers; nil: it reads all

	begin, finish time.Duration
	pulls         []time.Duration
	answers       backend.Answers
	// refused says that the backend rejects such looks.
	refused bool
}

func newMeasurement(ctx context.Context, b *Backend) (*measurement, error) {
	r := rand.New(rand.NewPCG(1, 2))
	gaussian := func(n, dim int) []float32 {
		x := make([]float32, n*dim)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	ready := func(n, dim int) (*collection.Collection, backend.Resident, backend.Queries, error) {
		q := backend.Queries{M: costQueries, Dim: dim, Data: gaussian(costQueries, dim)}
		c, err := collection.Build(ctx, gaussian(n, dim), dim, &collection.Options{Threads: 1})
		if err != nil {
			return nil, nil, q, err
		}
		resident, err := b.Load(ctx, c)
		return c, resident, q, err
	}
	c, large, q, err := ready(costAtoms, costDim)
	if err != nil {
		return nil, err
	}
	_, small, shorts, err := ready(costAtoms, costLess)
	if err != nil {
		return nil, err
	}
	_, tiny, _, err := ready(collection.PanelAtoms, costDim)
	if err != nil {
		return nil, err
	}

	// Scores of these atoms have deviation sqrt(dim); at alpha 1/2 a bound is little above the
	// estimate.
	look := func(rep backend.Representation, stage int) backend.Look {
		return backend.Look{Rep: rep, To: c.Stages[stage].Width, Rule: backend.Student, Alpha: .5, FirstChunk: costAtoms / 2}
	}
	last, panel := len(c.Stages)-1, 0
	for c.Stages[panel+1].Width <= c.PanelWidth {
		panel++
	}
	deviation := math.Sqrt(costDim)
	none, some := 18*deviation, 3*deviation
	m := &measurement{c: c,
		narrow:   trial{r: large, q: q, floor: none, looks: []backend.Look{look(backend.Panels, 0)}},
		panel:    trial{r: large, q: q, floor: none, looks: []backend.Look{look(backend.Panels, panel)}},
		whole:    trial{r: large, q: q, floor: none, looks: []backend.Look{look(backend.Panels, last)}},
		some:     trial{r: large, q: q, floor: some, looks: []backend.Look{look(backend.Panels, panel), look(backend.RowCodes, last)}},
		dense:    trial{r: large, q: q, floor: none},
		gathered: trial{r: large, q: q, floor: none, allow: everyOther(c)},
		less:     trial{r: small, q: shorts, floor: none},
		few:      trial{r: tiny, q: q, floor: none, looks: []backend.Look{look(backend.Panels, 0)}},
		alone:    trial{r: large, q: backend.Queries{M: 1, Dim: costDim, Data: q.Data[:costDim]}, floor: none},
	}
	m.kernels, m.random, m.memory = b.kernels, r, make([]float32, costMemory/4)
	for i := range m.memory { // pages that were never written may share memory
		m.memory[i] = q.Data[i%len(q.Data)]
	}
	return m, nil
}

// everyOther allows every other row.
func everyOther(c *collection.Collection) *backend.Filter {
	var atoms []uint32
	for i, row := range c.Order {
		if row%2 == 0 {
			atoms = append(atoms, uint32(i))
		}
	}
	return backend.ListFilter(c.Order, atoms)
}

// round runs every trial once.
func (m *measurement) round(ctx context.Context) error {
	for _, t := range []*trial{&m.narrow, &m.panel, &m.whole, &m.some, &m.dense, &m.less, &m.alone, &m.gathered, &m.few} {
		if err := t.run(ctx); err != nil {
			return err
		}
	}
	m.codes(&m.short, m.c.Stages[0].Width)
	m.codes(&m.long, m.c.D)
	m.signs(&m.fewer, m.c.D/4)
	m.signs(&m.every, m.c.D)
	m.farther(&m.far)
	m.reach(&m.half, costRow/2)
	m.reach(&m.full, costRow)
	return nil
}

// codes times sums of head and width rest codes of costCodes rows.
func (m *measurement) codes(least *time.Duration, width int) {
	half := make([]int8, (m.c.R+m.c.D+63)&^63)
	query := simd.RowQuery{Hi: half, Lo: half}
	ids, out := make([]uint32, costCodes), make([]simd.RowSums, costCodes)
	for k := range ids {
		ids[k] = uint32(3 * k)
	}
	begun := threadTime()
	for range costCodes {
		m.kernels.Rows(out, m.c.Codes, m.c.R+m.c.D, ids, m.c.R, width, &query)
	}
	keep(least, begun)
}

// signs times sums of head codes and width signs of as many rows, of arbitrary bits.
func (m *measurement) signs(least *time.Duration, width int) {
	half := make([]int8, (m.c.R+m.c.D+63)&^63)
	query := simd.RowQuery{Hi: half, Lo: half}
	ids, out := make([]uint32, costCodes), make([]simd.SignSums, costCodes)
	for k := range ids {
		ids[k] = uint32(3 * k)
	}
	begun := threadTime()
	for range costCodes {
		m.kernels.Signs(out, m.c.Codes, m.c.R+m.c.D, ids, m.c.R, width, &query)
	}
	keep(least, begun)
}

// farther times sums of head and rest codes of costFetches random rows in memory, in ascending
// order as in looks.
func (m *measurement) farther(least *time.Duration) {
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(m.memory))), 4*len(m.memory))
	half := make([]int8, costRow)
	query := simd.RowQuery{Hi: half, Lo: half}
	ids, out := make([]uint32, costFetches), make([]simd.RowSums, costFetches)
	for k := range ids {
		ids[k] = uint32(m.random.IntN(len(bytes) / costRow))
	}
	slices.Sort(ids)
	begun := threadTime()
	m.kernels.Rows(out, bytes, costRow, ids, m.c.R, costRow-m.c.R, &query)
	keep(least, begun)
}

// reach times scores of costFetches random rows in width coordinates.
func (m *measurement) reach(least *time.Duration, width int) {
	query, out, ids := make([]float64, width), make([]float64, 4), make([]uint32, costFetches)
	for k := range ids {
		ids[k] = uint32(m.random.IntN(len(m.memory) / costRow))
	}
	begun := threadTime()
	for ; len(ids) > 0; ids = ids[len(out):] {
		m.kernels.Dots(out, m.memory, costRow, ids[:len(out)], query)
	}
	keep(least, begun)
}

// run runs the search once.
func (t *trial) run(ctx context.Context) error {
	if t.refused {
		return nil
	}
	goals := make([]backend.Goal, t.q.M)
	for j := range goals {
		goals[j] = backend.Goal{Floor: t.floor, Allowed: costAtoms, Skip: -1, Filter: t.allow, Gather: t.allow != nil}
	}
	begun := threadTime()
	run, err := t.r.Begin(ctx, t.q, goals)
	if err != nil {
		return err
	}
	defer run.Close()
	keep(&t.begin, begun)
	if len(t.pulls) == 0 {
		t.pulls = make([]time.Duration, max(1, len(t.looks)))
	}
	if len(t.looks) == 0 {
		all := backend.QueryIndexes(0, t.q.M)
		begun = threadTime()
		err = run.Dense(ctx, all...)
		keep(&t.pulls[0], begun)
		return err
	}
	for k, l := range t.looks {
		begun = threadTime()
		_, err := run.Pull(ctx, l)
		if errors.Is(err, backend.ErrRuleUnsupported) {
			t.refused = true
			return nil
		}
		if err != nil {
			return err
		}
		keep(&t.pulls[k], begun)
	}
	begun = threadTime()
	t.answers, err = run.Finish(ctx)
	keep(&t.finish, begun)
	return err
}

// keep records the time since begun if it is the least.
func keep(least *time.Duration, begun time.Duration) {
	if took := threadTime() - begun; *least == 0 || took < *least {
		*least = took
	}
}

// costs solves for the costs.
func (m *measurement) costs() backend.Costs {
	const pairs = costAtoms * costQueries
	width := func(t *trial, look int) float64 { return float64(m.c.R + t.looks[look].To) }
	per := func(t time.Duration, n float64) float64 { return float64(t.Nanoseconds()) / n }
	// line returns slope and intercept of a cost that grows with width.
	line := func(x0, y0, x1, y1 float64) (slope, at0 float64) {
		slope = max(leastCost, (y1-y0)/(x1-x0))
		return slope, max(leastCost, y0-slope*x0)
	}

	var c backend.Costs
	c.Scan, c.Test = line(width(&m.narrow, 0), per(m.narrow.pulls[0], pairs), width(&m.panel, 0), per(m.panel.pulls[0], pairs))
	if !m.whole.refused {
		c.Wide = max(leastCost, (per(m.whole.pulls[0], pairs)-c.Test)/width(&m.whole, 0))
	}
	passed := 1.
	for _, a := range m.some.answers {
		passed += float64(a.Looks[1].Seen)
	}
	c.List = max(leastCost, per(m.some.pulls[0]-m.panel.pulls[0], passed))
	c.Code, _ = line(float64(m.c.Stages[0].Width), per(m.short, costCodes*costCodes), float64(m.c.D), per(m.long, costCodes*costCodes))
	c.Sign, _ = line(float64(m.c.D/4), per(m.fewer, costCodes*costCodes), float64(m.c.D), per(m.every, costCodes*costCodes))
	c.Visit = max(leastCost, per(m.some.pulls[1], passed)-c.Code*width(&m.some, 1))
	c.Far = max(leastCost, per(m.far, costFetches*costRow)-per(m.long, costCodes*costCodes*float64(m.c.R+m.c.D)))
	c.Score, c.Fetch = line(costRow/2, per(m.half, costFetches), costRow, per(m.full, costFetches))
	c.Dense, c.DenseTest = line(costLess, per(m.less.pulls[0], pairs), costDim, per(m.dense.pulls[0], pairs))
	c.Gather = max(leastCost, per(m.gathered.pulls[0], pairs/2)-per(m.dense.pulls[0], pairs))
	c.DenseOne = per(m.alone.pulls[0], costAtoms*costDim)
	products := float64(2*m.c.R*costDim) * c.Dense
	c.Rotate = max(leastCost, (per(m.some.begin, costQueries)-products)/float64(m.c.D))
	c.Query = per(m.few.pulls[0]+m.few.finish, costQueries)
	return c
}

// leastCost replaces costs too small to be measured.
const leastCost = 1e-4

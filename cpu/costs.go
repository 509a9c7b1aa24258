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

	"github.com/klauspost/cpuid/v2"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/threads"
	"thresher/simd"
)

// The collection that costs are measured on: small, so that it is built quickly.
const (
	costAtoms   = 2048
	costDim     = 512
	costLowDim  = 64 // dimension of another collection, for the dense scan
	costQueries = 64
	costFew     = 8 // queries of a look at whole rows for few
	// costMemory is the size of the float32 rows accessed at random: too large for any cache, like
	// those of a large collection.
	costMemory  = 64 << 20
	costRow     = 1024 // coordinates of such a row
	costFarRows = 256  // such rows accessed in a round
	costRows    = 64   // rows of codes in the cache, each summed as many times in a round

	costTime   = 250 * time.Millisecond
	costRounds = 3 // least number of rounds
)

// builtinCosts returns what Measure found for kernels on an AMD EPYC 9005, and for AVX-512 on an Intel
// processor on a Xeon of model 207, where preparing and scoring take about twice as long. There the kernel's
// own benchmark divides a first look into Scan and Test.
func builtinCosts(kernels simd.Kernels) backend.Costs {
	switch kernels {
	case simd.AVX512:
		if cpuid.CPU.VendorID == cpuid.Intel {
			return backend.Costs{Scan: .003, Wide: .0036, Transpose: .022, Test: .17, List: 3.7, Visit: 19, Code: .0128, Sign: .0045, Lookup: .0042, Far: .1,
				Fetch: 116, Score: .27, Dense: .0122, DenseTest: .2, DenseOne: .152, Gather: 2.4, Rotate: 3.5, Query: 830}
		}
		return backend.Costs{Scan: .0022, Wide: .0021, Transpose: .011, Test: .24, List: 1, Visit: 12, Code: .0079, Sign: .0031, Lookup: .0031, Far: .05,
			Fetch: 110, Score: .11, Dense: .0078, DenseTest: .23, DenseOne: .039, Gather: .6, Rotate: 1.7, Query: 400}
	case simd.AVX2, simd.NEON:
		// NEON has not been measured; its products and shuffles a cycle are about AVX2's.
		return backend.Costs{Scan: .0104, Wide: .0103, Transpose: .024, Test: .31, List: 1.1, Visit: 10, Code: .0254, Sign: .0056, Lookup: .0029, Far: .05,
			Fetch: 110, Score: .18, Dense: .0158, DenseTest: .26, DenseOne: .048, Gather: .6, Rotate: 1.2, Query: 430}
	}
	c := backend.Portable()
	c.Wide, c.Sign, c.Lookup = .248, .165, .5
	return c
}

// Measure times searches on one core, round after round, and keeps the least time of each.
// Looks of different widths that keep different shares separate the costs of a code, an atom, a
// survivor and a query.
func (b *Backend) Measure(ctx context.Context) (backend.Costs, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m, err := newMeasurement(ctx, b.kernels)
	if err == nil {
		begun := threadTime()
		for round := 0; err == nil && (round < costRounds || threadTime()-begun < costTime); round++ {
			err = m.timeAll(ctx)
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
	narrow, panel, fullWidth, someKept, fewAtoms trial
	fullFew                                      trial // the look at whole rows for few queries
	// Dense scans with many coordinates, with fewer, and for one query; one that gathers every other
	// row.
	dense, lowDim, oneQuery, gathered trial

	narrowCodes, allCodes  time.Duration // sums of rows of codes in the cache
	fewSigns, allSigns     time.Duration // sums of rows of signs in the cache
	fewLookups, allLookups time.Duration // sums of panels of signs in the cache
	random                 *rand.Rand
	memory                 []float32     // costMemory of rows, too many for any cache
	farCodes               time.Duration // sums of random rows of codes in memory
	farHalfRows, farRows   time.Duration // scores of random rows in memory
}

// trial is a search to be timed, with its least times.
type trial struct {
	resident backend.Resident
	queries  backend.Queries
	floor    float64
	looks    []backend.Look  // if empty, the dense path answers
	filter   *backend.Filter // the dense path gathers its rows; if nil it reads all

	begin, finish time.Duration
	pulls         []time.Duration
	answers       backend.Answers
	// refused says that the backend rejects such looks.
	refused bool
}

func newMeasurement(ctx context.Context, kernels simd.Kernels) (*measurement, error) {
	b := &Backend{threads: 1, helpers: threads.NewHelpers(1), kernels: kernels, keepsThread: true}
	r := rand.New(rand.NewPCG(1, 2))
	gaussian := func(n, dim int) []float32 {
		x := make([]float32, n*dim)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	load := func(n, dim int) (*collection.Collection, backend.Resident, backend.Queries, error) {
		q := backend.Queries{M: costQueries, Dim: dim, Data: gaussian(costQueries, dim)}
		c, err := collection.Build(ctx, gaussian(n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Threads: 1})
		if err != nil {
			return nil, nil, q, err
		}
		resident, err := b.Load(ctx, c)
		return c, resident, q, err
	}
	c, large, q, err := load(costAtoms, costDim)
	if err != nil {
		return nil, err
	}
	_, small, shorts, err := load(costAtoms, costLowDim)
	if err != nil {
		return nil, err
	}
	_, tiny, _, err := load(collection.PanelAtoms, costDim)
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
	dropsAll, dropsMost := 18*deviation, 3*deviation
	m := &measurement{c: c,
		narrow:    trial{resident: large, queries: q, floor: dropsAll, looks: []backend.Look{look(backend.Panels, 0)}},
		panel:     trial{resident: large, queries: q, floor: dropsAll, looks: []backend.Look{look(backend.Panels, panel)}},
		fullWidth: trial{resident: large, queries: q, floor: dropsAll, looks: []backend.Look{look(backend.Panels, last)}},
		fullFew: trial{resident: large, queries: backend.Queries{M: costFew, Dim: costDim, Data: q.Data[:costFew*costDim]}, floor: dropsAll,
			looks: []backend.Look{look(backend.Panels, last)}},
		someKept: trial{resident: large, queries: q, floor: dropsMost, looks: []backend.Look{look(backend.Panels, panel), look(backend.RowCodes, last)}},
		dense:    trial{resident: large, queries: q, floor: dropsAll},
		gathered: trial{resident: large, queries: q, floor: dropsAll, filter: everyOther(c)},
		lowDim:   trial{resident: small, queries: shorts, floor: dropsAll},
		fewAtoms: trial{resident: tiny, queries: q, floor: dropsAll, looks: []backend.Look{look(backend.Panels, 0)}},
		oneQuery: trial{resident: large, queries: backend.Queries{M: 1, Dim: costDim, Data: q.Data[:costDim]}, floor: dropsAll},
	}
	m.kernels, m.random, m.memory = kernels, r, make([]float32, costMemory/4)
	for i := range m.memory { // pages that were never written may share physical memory
		m.memory[i] = q.Data[i%len(q.Data)]
	}
	return m, nil
}

// everyOther returns a filter that allows every other row.
func everyOther(c *collection.Collection) *backend.Filter {
	var atoms []uint32
	for i, row := range c.Order {
		if row%2 == 0 {
			atoms = append(atoms, uint32(i))
		}
	}
	return backend.ListFilter(c.Order, atoms)
}

// timeAll runs every trial once.
func (m *measurement) timeAll(ctx context.Context) error {
	for _, t := range []*trial{&m.narrow, &m.panel, &m.fullWidth, &m.fullFew, &m.someKept, &m.dense, &m.lowDim, &m.oneQuery, &m.gathered, &m.fewAtoms} {
		if err := t.run(ctx); err != nil {
			return err
		}
	}
	timeRows(m, &m.narrowCodes, m.c.Stages[0].Width, m.kernels.Rows)
	timeRows(m, &m.allCodes, m.c.D, m.kernels.Rows)
	timeRows(m, &m.fewSigns, m.c.D/4, m.kernels.Signs)
	timeRows(m, &m.allSigns, m.c.D, m.kernels.Signs)
	m.timeLookups(&m.fewLookups, m.c.D/4)
	m.timeLookups(&m.allLookups, m.c.D)
	m.timeFarCodes(&m.farCodes)
	m.timeFarScores(&m.farHalfRows, costRow/2)
	m.timeFarScores(&m.farRows, costRow)
	return nil
}

// timeRows times costRows sums of head and width rest coordinates of costRows rows in the cache.
// Where sum reads signs, their bits are arbitrary.
func timeRows[Sums any](m *measurement, least *time.Duration, width int,
	sum func(out []Sums, codes []uint8, stride int, ids []uint32, head, width int, q *simd.RowQuery)) {
	half := make([]int8, (m.c.R+m.c.D+63)&^63)
	query := simd.RowQuery{Hi: half, Lo: half}
	ids, out := make([]uint32, costRows), make([]Sums, costRows)
	for k := range ids {
		ids[k] = uint32(3 * k)
	}
	begun := threadTime()
	for range costRows {
		sum(out, m.c.Codes, m.c.R+m.c.D, ids, m.c.R, width, &query)
	}
	keepMin(least, begun)
}

// timeLookups times the sums of costRows panels of signs in the cache, of width coordinates each. Their bits are
// arbitrary.
func (m *measurement) timeLookups(least *time.Duration, width int) {
	var tables simd.SignTables
	tables.Make(make([]int16, width))
	codes := make([]int8, m.c.R)
	var sums [simd.PanelLanes]simd.RowSums8
	size := simd.SignPanelBytes(m.c.R, width)
	begun := threadTime()
	for k := range costRows {
		m.kernels.SignPanel(&sums, m.c.Codes[k%4*size:], codes, width, tables.Sums)
	}
	keepMin(least, begun)
}

// timeFarCodes times sums of head and rest codes of costFarRows random rows in memory, in
// ascending order as in looks.
func (m *measurement) timeFarCodes(least *time.Duration) {
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(m.memory))), 4*len(m.memory))
	half := make([]int8, costRow)
	query := simd.RowQuery{Hi: half, Lo: half}
	ids, out := make([]uint32, costFarRows), make([]simd.RowSums, costFarRows)
	for k := range ids {
		ids[k] = uint32(m.random.IntN(len(bytes) / costRow))
	}
	slices.Sort(ids)
	begun := threadTime()
	m.kernels.Rows(out, bytes, costRow, ids, m.c.R, costRow-m.c.R, &query)
	keepMin(least, begun)
}

// timeFarScores times scores of costFarRows random rows in memory in width coordinates.
func (m *measurement) timeFarScores(least *time.Duration, width int) {
	query, out, ids := make([]float64, width), make([]float64, 4), make([]uint32, costFarRows)
	for k := range ids {
		ids[k] = uint32(m.random.IntN(len(m.memory) / costRow))
	}
	begun := threadTime()
	for ; len(ids) > 0; ids = ids[len(out):] {
		m.kernels.Dots(out, m.memory, costRow, ids[:len(out)], query)
	}
	keepMin(least, begun)
}

// run runs the search once.
func (t *trial) run(ctx context.Context) error {
	if t.refused {
		return nil
	}
	goals := make([]backend.Goal, t.queries.M)
	for j := range goals {
		goals[j] = backend.Goal{Floor: t.floor, Allowed: costAtoms, Ceiling: math.Inf(1), Filter: t.filter, Gather: t.filter != nil}
	}
	begun := threadTime()
	run, err := t.resident.Begin(ctx, t.queries, goals)
	if err != nil {
		return err
	}
	defer run.Close()
	if x, ok := run.(interface{ prepareLooks(context.Context) error }); ok && len(t.looks) > 0 {
		if err := x.prepareLooks(ctx); err != nil {
			return err
		}
	}
	keepMin(&t.begin, begun)
	if len(t.pulls) == 0 {
		t.pulls = make([]time.Duration, max(1, len(t.looks)))
	}
	if len(t.looks) == 0 {
		all := backend.QueryIndexes(0, t.queries.M)
		begun = threadTime()
		err = run.Dense(ctx, all...)
		keepMin(&t.pulls[0], begun)
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
		keepMin(&t.pulls[k], begun)
	}
	begun = threadTime()
	t.answers, err = run.Finish(ctx)
	keepMin(&t.finish, begun)
	return err
}

// keepMin records the time since begun if it is the least.
func keepMin(least *time.Duration, begun time.Duration) {
	if took := threadTime() - begun; *least == 0 || took < *least {
		*least = took
	}
}

// costs computes the costs from the times.
func (m *measurement) costs() backend.Costs {
	const pairs = costAtoms * costQueries
	width := func(t *trial, look int) float64 { return float64(m.c.R + t.looks[look].To) }
	per := func(t time.Duration, n float64) float64 { return float64(t.Nanoseconds()) / n }
	// line returns slope and intercept of a cost that grows with width.
	line := func(x0, y0, x1, y1 float64) (slope, at0 float64) {
		slope = max(minCost, (y1-y0)/(x1-x0))
		return slope, max(minCost, y0-slope*x0)
	}

	var c backend.Costs
	c.Scan, c.Test = line(width(&m.narrow, 0), per(m.narrow.pulls[0], pairs), width(&m.panel, 0), per(m.panel.pulls[0], pairs))
	if !m.fullWidth.refused {
		// Per atom, a full run and one of few queries take: transposing, and for each query a test and codes.
		const few = costQueries / costFew
		once := (few*per(m.fullFew.pulls[0], costAtoms) - per(m.fullWidth.pulls[0], costAtoms)) / (few - 1)
		c.Transpose = max(minCost, once/width(&m.fullWidth, 0))
		c.Wide = max(minCost, (per(m.fullWidth.pulls[0], pairs)-c.Test)/width(&m.fullWidth, 0)-c.Transpose/costQueries)
	}
	passed := 1.
	for _, a := range m.someKept.answers {
		passed += float64(a.Looks[1].Seen)
	}
	c.List = max(minCost, per(m.someKept.pulls[0]-m.panel.pulls[0], passed))
	c.Code, _ = line(float64(m.c.Stages[0].Width), per(m.narrowCodes, costRows*costRows), float64(m.c.D), per(m.allCodes, costRows*costRows))
	c.Sign, _ = line(float64(m.c.D/4), per(m.fewSigns, costRows*costRows), float64(m.c.D), per(m.allSigns, costRows*costRows))
	c.Lookup, _ = line(float64(m.c.D/4), per(m.fewLookups, costRows*simd.PanelLanes), float64(m.c.D), per(m.allLookups, costRows*simd.PanelLanes))
	c.Visit = max(minCost, per(m.someKept.pulls[1], passed)-c.Code*width(&m.someKept, 1))
	c.Far = max(minCost, per(m.farCodes, costFarRows*costRow)-per(m.allCodes, costRows*costRows*float64(m.c.R+m.c.D)))
	c.Score, c.Fetch = line(costRow/2, per(m.farHalfRows, costFarRows), costRow, per(m.farRows, costFarRows))
	c.Dense, c.DenseTest = line(costLowDim, per(m.lowDim.pulls[0], pairs), costDim, per(m.dense.pulls[0], pairs))
	c.Gather = max(minCost, per(m.gathered.pulls[0], pairs/2)-per(m.dense.pulls[0], pairs))
	c.DenseOne = per(m.oneQuery.pulls[0], costAtoms*costDim)
	products := float64(2*m.c.R*costDim) * c.Dense
	c.Rotate = max(minCost, (per(m.someKept.begin, costQueries)-products)/float64(m.c.D))
	c.Query = per(m.fewAtoms.pulls[0]+m.fewAtoms.finish, costQueries)
	return c
}

// minCost replaces costs too small to be measured.
const minCost = 1e-4

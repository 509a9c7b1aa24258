package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"thresher/batch"
	"thresher/collection"
)

// NoGroup is the group of a row without a key, which equals no other.
const NoGroup = -1

// RightOptions say what a join by keys finds for each row of the left table.
type RightOptions struct {
	// Groups are the groups of the rows of the right table: rows of the two tables have equal keys if they are in the
	// same group, 0 or more. nil: all rows are in group 0.
	Groups []int32
	// Left are how many rows of the left table are in each group (CountGroups); nil if nobody knows. It serves the
	// choice of what is built, and Groups.
	Left []int64
	// Request is what each row asks for: K, MinScore, MaxScore, Epsilon, Method and Delta. Method is one of Methods.
	Request batch.Request
	// Build are the options by which collections of single groups are built; Builds tells, if it is not nil, whether codes
	// are built of so many rows for so many queries, or -1 if that is unknown.
	Build  collection.Options
	Builds func(rows int, queries int64) bool
	// Threads is how many goroutines answer rows of small groups; 0 is 1.
	Threads int
}

// Methods are the methods of a join by keys. The answers of groups that are scanned are exact, by any of them.
func Methods() []batch.Method {
	return []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive}
}

// Check returns a *batch.RequestError for a request that a join by keys does not have.
func (o *RightOptions) Check() error {
	if m := cmp.Or(o.Request.Method, batch.Auto); !slices.Contains(Methods(), m) {
		var names []string
		for _, m := range Methods() {
			names = append(names, string(m))
		}
		return &batch.RequestError{Field: "method", Query: -1, Err: fmt.Errorf("%s is for searches; a join has %s", m, strings.Join(names, ", "))}
	}
	return nil
}

// Right is the right table of a join by keys, whose rows lie group by group. Match is not safe for concurrent use.
type Right struct {
	engine  *batch.Engine // over all rows
	c       *collection.Collection
	o       RightOptions
	rows    []int64 // as Matches number them, nil: as they lie
	starts  []int
	mu      sync.Mutex
	engines map[int32]*batch.Engine         // over the rows of single groups, made when they are first searched; belongs to mu
	floor   float64                         // least search score
	ceiling float64                         // greatest
	scans   func(g int32, queries int) bool // whether queries of a group are answered by a scan
}

// NewRight returns the table of the rows of an engine's collection, which are those of SortRows if there are groups.
// The caller keeps the engine, and closes the table before it.
func NewRight(e *batch.Engine, rows []int64, starts []int, o RightOptions) (*Right, error) {
	c := e.Collection()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if c.Float64() {
		return nil, &batch.RequestError{Field: "vectors", Query: -1, Err: fmt.Errorf("join: %w", collection.ErrFloat64)}
	}
	if starts == nil {
		starts = []int{0, c.N}
	}
	if end := starts[len(starts)-1]; end != c.N || rows != nil && len(rows) != c.N {
		return nil, fmt.Errorf("groups of %d rows for %d vectors", end, c.N)
	}
	r := &Right{engine: e, c: c, o: o, rows: rows, starts: starts, engines: map[int32]*batch.Engine{}}
	r.o.Request.Part, r.o.Request.Stored, r.o.Request.SearchScores = true, true, true
	r.o.Build.Metric, r.o.Build.Origin, r.o.Build.Change = c.Metric, c.Origin, c.Change
	r.scans = r.scanPays
	r.setLimits()
	check := r.o.Request
	if o.Groups != nil { // what groups need is built of them
		check.Method = batch.Exact
	}
	if _, err := e.Footprint(check, 1); err != nil {
		return nil, err
	}
	return r, nil
}

// Groups is how many groups have rows of both tables; of the right one, if nobody knows those of the left.
func (r *Right) Groups() int {
	n := 0
	for g := range len(r.starts) - 1 {
		if r.o.Left != nil && (g >= len(r.o.Left) || r.o.Left[g] == 0) || r.starts[g] == r.starts[g+1] {
			continue
		}
		n++
	}
	return n
}

// size is how many rows are in a group, 0 of one that is not there.
func (r *Right) size(g int32) int {
	if g < 0 || int(g) >= len(r.starts)-1 {
		return 0
	}
	return r.starts[g+1] - r.starts[g]
}

// number is what Matches call the row that lies at i.
func (r *Right) number(i int) int64 {
	if r.rows == nil {
		return int64(i)
	}
	return r.rows[i]
}

// engineOf returns the engine over the rows of a group.
func (r *Right) engineOf(ctx context.Context, g int32) (*batch.Engine, error) {
	whole := r.size(g) == r.c.N
	if whole && (r.o.Groups == nil || !r.c.Unbuilt()) {
		return r.engine, nil
	}
	r.mu.Lock()
	e := r.engines[g]
	r.mu.Unlock()
	if e != nil {
		return e, nil
	}
	o := r.o.Build
	if !r.builds(g) {
		if whole {
			return r.engine, nil
		}
		o.NoCodes, o.Basis = true, collection.Rotated
	}
	c, err := collection.BuildVectors(ctx, r.c.Vectors.Slice(r.starts[g], r.starts[g+1]), &o)
	if err != nil {
		return nil, err
	}
	if e, err = r.engine.Over(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engines[g] = e // nobody else makes it: Match has one share of a group
	return e, nil
}

// builds reports whether codes are built of the rows of a group.
func (r *Right) builds(g int32) bool {
	queries := int64(-1)
	if r.o.Left != nil {
		queries = 0
		if int(g) < len(r.o.Left) {
			queries = r.o.Left[g]
		}
	}
	return r.o.Builds != nil && r.o.Builds(r.size(g), queries)
}

// Close closes the engines over single groups.
func (r *Right) Close() error {
	var err error
	for _, e := range r.engines {
		err = errors.Join(err, e.Close(), e.Collection().Close())
	}
	clear(r.engines)
	return err
}

// setLimits sets which search scores the request lets through.
func (r *Right) setLimits() {
	r.floor, r.ceiling = math.Inf(-1), math.Inf(1)
	if s := r.o.Request.MinScore; s != nil {
		r.floor = r.c.Metric.Floor(*s)
	}
	if s := r.o.Request.MaxScore; s != nil {
		r.ceiling = r.c.Metric.Ceiling(*s)
	}
}

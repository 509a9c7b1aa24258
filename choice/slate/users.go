package slate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// ManyOptions configure a Many. Zero fields stand for the defaults.
type ManyOptions struct {
	// Scorer returns a Scorer for the rows of a matrix, row-major with d numbers in [0,1]
	// each. It may keep the matrix, which does not change. Default: NewScorer.
	Scorer func(d int, matrix []float32) Scorer
	// Workers is the most blocks of users planned concurrently, each by one goroutine.
	// Default: GOMAXPROCS.
	Workers int
}

// Many makes slates of many users over the same items. They equal those that a Planner
// makes of one user after another, bit for bit, except for Evaluations.
//
// It computes upper bounds in place of most scores: first of whole cells of similar
// items, for many users and partial lists in one matrix product, then of the items of
// cells that may hold the next choice; it scores exactly only the candidates left. A
// user's slate depends neither on the other users of a call nor on Workers.
//
// The bounds need gains that are a product of item and residual, that is a Separable
// objective, and one of the algorithms AFSM, LSBGreedy, ModifiedGreedy and BetterGreedy.
// Other calls, and users whose matrix is too close to singular for useful bounds, are
// planned one by one within the call.
//
// A Many is immutable and safe for concurrent use.
type Many struct {
	items     *Items
	separable Separable // nil if the objective is not separable
	cells     *cells
	scorer    Scorer
	workers   int
}

// NewMany groups the items by their vectors, in O(n d log n). It takes up to 32 nd + 8n
// bytes if no two vectors are similar, and about 8 nd if items share topics.
func NewMany(items *Items, o ManyOptions) (*Many, error) {
	if items == nil {
		return nil, errors.New("slate: many: no items")
	}
	if o.Workers < 0 {
		return nil, fmt.Errorf("slate: many: %d workers", o.Workers)
	}
	b := &Many{items: items, workers: o.Workers}
	if b.workers == 0 {
		b.workers = runtime.GOMAXPROCS(0)
	}
	s, ok := items.objective.(Separable)
	if !ok {
		return b, nil
	}
	b.separable = s
	d := s.Features()
	b.cells = newCells(s.Size(), d, s.Vectors())
	if o.Scorer == nil {
		o.Scorer = NewScorer
	}
	b.scorer = o.Scorer(d, b.cells.envelopes)
	return b, nil
}

// Recommend chooses a list for every user, as Planner.Recommend does. Users without
// observations share one computation. On an error, which names the user it concerns, or
// when ctx ends, it returns no slates.
func (b *Many) Recommend(ctx context.Context, c *Constraint, users []*Estimator, o Options) ([]Slate, error) {
	if c == nil {
		return nil, errors.New("slate: many: no constraint")
	}
	if c.items != b.items {
		return nil, errors.New("slate: many: the constraint is one of other items")
	}
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	distinct, twin, err := b.distinct(users)
	if err != nil {
		return nil, err
	}
	p := &plan{many: b, c: c, options: o, users: distinct, slates: make([]Slate, len(distinct))}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	out := make([]Slate, len(users))
	for i, k := range twin {
		out[i] = p.slates[k]
		out[i].Picks = slices.Clone(out[i].Picks)
	}
	return out, nil
}

// distinct drops users that equal an earlier one: the same Estimator, or both cold with
// the same lambda. User i is distinct[twin[i]].
func (b *Many) distinct(users []*Estimator) (distinct []*Estimator, twin []int, err error) {
	type key struct {
		user   *Estimator
		lambda float64
	}
	twin = make([]int, len(users))
	seen := make(map[key]int)
	d := b.items.objective.Features()
	for i, u := range users {
		if u == nil {
			return nil, nil, fmt.Errorf("slate: many: user %d: no estimator", i)
		}
		if u.d != d {
			return nil, nil, fmt.Errorf("slate: many: user %d: estimator of %d features, items of %d", i, u.d, d)
		}
		k := key{user: u}
		if u.Cold() {
			k = key{lambda: u.lambda}
		}
		at, ok := seen[k]
		if !ok {
			at = len(distinct)
			seen[k] = at
			distinct = append(distinct, u)
		}
		twin[i] = at
	}
	return distinct, twin, nil
}

// blockUsers is the number of users planned together: enough for wide matrix products
// from the first step on, few enough for their lists to stay in cache.
const blockUsers = 64

// plan is a call of Recommend.
type plan struct {
	many    *Many
	c       *Constraint
	options Options
	users   []*Estimator
	slates  []Slate // of users

	single bool // without bounds: one user after another
	prices *prices
	alone  sync.Mutex // held while planning a user without bounds if others have bounds
	// grid holds the thresholds, descending, and -Inf if LSBGreedy is wanted.
	grid     []float64
	runs     int  // thresholds of AFSM, the first of grid
	modified bool // ModifiedGreedy is wanted
}

// prepare determines which lists are wanted.
func (p *plan) prepare() error {
	o := p.options
	switch o.Algorithm {
	case AFSM:
		grid, err := o.thresholds(p.c)
		if err != nil {
			return err
		}
		p.grid, p.runs = grid, len(grid)
		if o.Greedy {
			p.grid, p.modified = append(grid, math.Inf(-1)), true
		}
	case LSBGreedy:
		p.grid = []float64{math.Inf(-1)}
	case ModifiedGreedy:
		p.modified = true
	case BetterGreedy:
		p.grid, p.modified = []float64{math.Inf(-1)}, true
	default:
		p.single = true
	}
	if p.many.separable == nil {
		p.single = true
	}
	if !p.single {
		p.prices = newPrices(p.c, p.many.cells)
	}
	return nil
}

// run distributes the blocks of users to the workers and waits for them. Its error is
// that of the first block that failed.
func (p *plan) run(ctx context.Context) error {
	most, together, err := p.share(p.many.workers)
	if err != nil {
		return err
	}
	blocks := (len(p.users) + together - 1) / together
	errs := make([]error, blocks)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := make(chan int, blocks)
	for i := range blocks {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range min(most, blocks) {
		workers.Go(func() {
			b := newBlock(p, together)
			for i := range next {
				from := i * together
				if errs[i] = b.plan(ctx, from, min(from+together, len(p.users))); errs[i] != nil {
					stop() // cancels the remaining work
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return ctx.Err()
}

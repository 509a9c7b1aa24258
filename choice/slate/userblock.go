package slate

import (
	"context"
	"fmt"
	"math"
)

// node is the common prefix of the lists of several runs, those of the thresholds
// grid[lo:hi]. Scores do not depend on the threshold, so runs are one node as long as
// they choose the same items, which neighbouring thresholds do for long. A long grid
// costs little, since runs that the filters do not change stay together.
type node struct {
	user   int // index in the block
	lo, hi int
	rule   rule // filtered, or perCost with a single entry at the end of the grid
}

// front holds the nodes of one length. The picks of node i are
// picks[i*length:(i+1)*length].
type front struct {
	length int
	nodes  []node
	picks  []Pick
}

func (f *front) list(i int) []Pick { return f.picks[i*f.length : (i+1)*f.length] }

func (f *front) reset(length int) {
	f.length, f.nodes, f.picks = length, f.nodes[:0], f.picks[:0]
}

// blockUser is a user being planned.
type blockUser struct {
	user    *Estimator
	beta    float64
	ceiling ceiling
	slate   *Slate // the best list so far; nil for a user without bounds
	// threshold is the index in the grid of slate's threshold, -1 before the first list.
	threshold int
	alpha     float64 // slate's alpha if a run of AFSM picks anything
}

// block plans users together and extends all their lists by one item a step. Its scratch
// belongs to one goroutine:
//
//	figures of 64 queries        256 * cells bytes
//	users and queries             64 * 48 d
//	nodes of two steps           128 * P (40 + 32 m), for P thresholds, at most
//	a basket and L^-1            n + 8 d^2
type block struct {
	of      *plan
	planner *Planner
	search  search
	users   []blockUser
	now     front
	next    front

	columns  []float64 // d*d
	residual []float64
	// For at most as many nodes as users: their queries, which share linear and square, and
	// the figures of all cells.
	queries        []query
	linear, square []float32
	figures        []float32
}

func newBlock(p *plan, users int) *block {
	b := &block{of: p, planner: NewPlanner(p.c), users: make([]blockUser, users)}
	if p.single {
		return b
	}
	cells, objective := p.many.cells, p.many.separable
	d := cells.d
	b.columns, b.residual = make([]float64, d*d), make([]float64, d)
	b.queries, b.linear, b.square = newQueries(users, d)
	b.figures = make([]float32, users*cells.size())
	for i, c := range newCeilings(users, d) {
		b.users[i].ceiling = c
	}
	thresholds := len(p.grid) + 1
	b.search = search{
		cells: cells, prices: p.prices, grid: append(p.grid[:len(p.grid):len(p.grid)], math.Inf(-1)),
		planner: b.planner, empty: objective.NewList(),
		chosen: make([]Pick, thresholds), top: make([]float64, thresholds), rate: make([]float64, thresholds),
		queue: make(cellQueue, 0, cells.size()),
	}
	return b
}

// plan makes the slates of users from to to of the call.
func (b *block) plan(ctx context.Context, from, to int) error {
	b.now.reset(0)
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.admit(i, i-from); err != nil {
			return err
		}
	}
	if err := b.climb(ctx); err != nil {
		return err
	}
	// A user whose lists are all empty because of the filters gets that of LSBGreedy.
	last := len(b.of.grid)
	b.now.reset(0)
	for i := range b.users[:to-from] {
		if u := &b.users[i]; u.slate != nil && len(u.slate.Picks) == 0 {
			u.threshold = -1
			b.now.nodes = append(b.now.nodes, node{user: i, lo: last, hi: last + 1})
		}
	}
	return b.climb(ctx)
}

// climb extends the nodes of now until their lists are complete.
func (b *block) climb(ctx context.Context) error {
	for length := 0; len(b.now.nodes) > 0; length++ {
		b.next.reset(length + 1)
		for i := 0; i < len(b.now.nodes); i += len(b.users) {
			if err := b.step(ctx, i, min(i+len(b.users), len(b.now.nodes))); err != nil {
				return err
			}
		}
		b.now, b.next = b.next, b.now
	}
	return nil
}

// admit starts the lists of user i of the call, or makes the whole slate if the user has
// no bounds.
func (b *block) admit(i, slot int) error {
	p, user := b.of, b.of.users[i]
	beta, err := user.Beta(p.options.Confidence)
	if err != nil {
		return err
	}
	u := &b.users[slot]
	u.slate = nil
	if p.single {
		p.slates[i], err = b.planner.Recommend(user, p.options)
		return err
	}
	if !u.ceiling.set(user, beta, b.columns) {
		p.slates[i], err = p.unbounded(b.planner, user)
		return err
	}
	slate := &p.slates[i]
	*slate = Slate{Algorithm: p.options.Algorithm, Beta: beta, Picks: []Pick{}}
	u.user, u.beta, u.slate, u.threshold, u.alpha = user, beta, slate, -1, 0
	if p.options.Confidence.guaranteed(user.lambda) {
		u.alpha = p.c.Alpha(p.options.Epsilon)
	}
	if last := len(p.grid); last > 0 {
		b.now.nodes = append(b.now.nodes, node{user: slot, hi: last})
	}
	if last := len(p.grid); p.modified {
		b.now.nodes = append(b.now.nodes, node{user: slot, lo: last, hi: last + 1, rule: perCost})
	}
	return nil
}

// unbounded plans a user without bounds. If memory is limited, one such user is planned
// at a time and the scratch is released afterwards.
func (p *plan) unbounded(planner *Planner, user *Estimator) (Slate, error) {
	if p.options.Memory == 0 {
		return planner.Recommend(user, p.options)
	}
	p.alone.Lock()
	defer p.alone.Unlock()
	o := p.options
	o.Memory /= 2
	return NewPlanner(p.c).Recommend(user, o)
}

// step extends the nodes from to to by one item.
func (b *block) step(ctx context.Context, from, to int) error {
	d, cells := b.search.cells.d, b.search.cells.size()
	for i := from; i < to; i++ {
		for g := range b.residual {
			b.residual[g] = 1
		}
		for _, pick := range b.now.list(i) {
			b.of.many.separable.Shrink(b.residual, pick.Item)
		}
		u := &b.users[b.now.nodes[i].user]
		b.queries[i-from].set(&u.ceiling, b.residual, b.search.cells.scale)
	}
	m := to - from
	figures := b.figures[:m*cells]
	if err := b.of.many.scorer.Score(ctx, figures, b.linear[:m*d], b.square[:m*d]); err != nil {
		return fmt.Errorf("slate: many: %w", err)
	}
	for i := from; i < to; i++ {
		k := i - from
		b.grow(i, &b.queries[k], figures[k*cells:(k+1)*cells])
	}
	return nil
}

// grow finds what follows node i. For each choice it appends a node with the thresholds
// that agree on it to next; thresholds without a choice finish their list.
func (b *block) grow(i int, q *query, figures []float32) {
	nd, list, p, s := b.now.nodes[i], b.now.list(i), b.planner, &b.search
	u := &b.users[nd.user]
	p.rewind(0)
	for _, pick := range list {
		p.push(pick.Item)
	}
	p.user, p.beta, p.evaluations = u.user, u.beta, 0
	s.lo, s.hi, s.rule = nd.lo, nd.hi, nd.rule
	s.run(q, figures)
	u.slate.Evaluations += p.evaluations
	p.user = nil
	for j := nd.lo; j < nd.hi; {
		from, pick := j, s.chosen[j]
		for j < nd.hi && s.chosen[j].Item == pick.Item {
			j++
		}
		if pick.Item < 0 {
			b.finish(u, list, from)
			continue
		}
		pick.Value = pick.Mean
		if len(list) > 0 {
			pick.Value += list[len(list)-1].Value
		}
		b.next.picks = append(append(b.next.picks, list...), pick)
		if len(list)+1 == p.c.length {
			at := len(b.next.picks) - b.next.length
			b.finish(u, b.next.picks[at:], from)
			b.next.picks = b.next.picks[:at]
			continue
		}
		b.next.nodes = append(b.next.nodes, node{user: nd.user, lo: from, hi: j, rule: nd.rule})
	}
}

// finish compares a complete list with the best so far; threshold is the index in the
// grid of the largest one that makes it. Among lists of equal UCB the one of the largest
// threshold stays, as in a Planner, which tries thresholds one after the other.
func (b *block) finish(u *blockUser, list []Pick, threshold int) {
	var value, width float64
	for _, pick := range list {
		value += pick.Mean
		width += pick.Width
	}
	ucb := value + 3*width
	s := u.slate
	if len(list) > 0 && threshold < b.of.runs {
		s.Alpha = u.alpha
	}
	if u.threshold >= 0 && (ucb < s.UCB || ucb == s.UCB && threshold > u.threshold) {
		return
	}
	u.threshold = threshold
	s.Picks = append(s.Picks[:0], list...)
	s.Value, s.Width, s.UCB, s.Rho = value, width, ucb, 0
	if threshold < len(b.of.grid) && !math.IsInf(b.of.grid[threshold], -1) {
		s.Rho = b.of.grid[threshold]
	}
}

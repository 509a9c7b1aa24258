package slates

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"thresher/choice/slate"
	"thresher/service/catalog"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// prepared are the items of a collection's version under its settings.
type prepared struct {
	version    int64
	writes     uint64
	generation uint64 // of the settings
	settings   *Settings
	ids        IDs
	// priced have costs, for requests with budgets, if the settings have costs; plain have
	// none.
	priced, plain *basket
	groups        map[string]int // numbers of groups by name
	// unlisted is the number of the group, always excluded, of items that the settings do not
	// list; -1 if they list none.
	unlisted int
	listed   int // number of listed items
}

// basket holds items and, once needed, the planner of their slates.
type basket struct {
	items *slate.Items
	many  func() (*slate.Many, error)
}

func newBasket(o slate.Objective, a slate.Attributes, threads int) (*basket, error) {
	items, err := slate.NewItems(o, a)
	if err != nil {
		return nil, err
	}
	return &basket{items, sync.OnceValues(func() (*slate.Many, error) {
		return slate.NewMany(items, slate.ManyOptions{Workers: threads})
	})}, nil
}

// prepare returns the items of a version, which the caller holds. It waits for a concurrent
// preparation until ctx ends.
func (s *Store) prepare(ctx context.Context, name string, v Version) (*prepared, error) {
	lock, leave := s.lockOf(name)
	defer leave()
	if err := acquire(ctx, lock.making); err != nil {
		return nil, err
	}
	defer func() { <-lock.making }()
	version, writes := v.Number(), v.Writes()
	k := cacheKey{collection: name, items: true}
	stripe := s.stripe(name, "")
	seen := s.cache.seen(stripe)
	var settings *Settings
	var generation uint64
	var old *prepared
	if known, ok := s.cache.get(k); ok {
		old = known.(*prepared)
	}
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		r := findRecords(tx, name)
		if r != nil {
			generation = r.Sequence()
		}
		if old != nil && old.generation == generation {
			settings = old.settings
			return nil
		}
		settings, err = r.settings()
		return err
	})
	if err != nil || old != nil && old.version == version && old.writes == writes && old.generation == generation {
		return old, err
	}
	p, err := s.makePrepared(name, v, settings)
	if err != nil {
		return nil, err
	}
	p.version, p.writes, p.generation = version, writes, generation
	s.cache.insertUnchanged(k, p, p.bytes(v), stripe, seen)
	return p, nil
}

// bytes estimates the memory of the items: the vectors, and up to four times as much for the
// planners of the baskets.
func (p *prepared) bytes(v Version) int64 {
	n, d := int64(v.Len()), int64(v.Dim())
	total := n * (40*d + 8)
	if l := int64(costs(p.settings)); l > 0 {
		total += n * (32*d + 8 + 8*l)
	}
	if p.unlisted >= 0 {
		total += 32 * n
	}
	for i := range p.settings.Items {
		it := &p.settings.Items[i]
		total += 96 + int64(len(it.ID.Name)) + int64(8*len(it.Costs)+24*len(it.Groups))
	}
	return total
}

// makePrepared prepares the items of a version.
func (s *Store) makePrepared(name string, v Version, settings *Settings) (*prepared, error) {
	n, d := v.Len(), v.Dim()
	if d > s.o.Dimension {
		return nil, problem.New(problem.Conflict, "collection %s has %d dimensions, and those of slates have %d at most: a user's state takes their square", name, d, s.o.Dimension).
			In("name").Within(s.o.Dimension)
	}
	p := &prepared{settings: settings, ids: v.IDs(), unlisted: -1, listed: len(settings.Items)}
	if need := p.bytes(v); need > s.o.Memory {
		return nil, problem.New(problem.OutOfMemory, "the slates of collection %s need %d bytes, slates may take %d", name, need, s.o.Memory).
			In("name").Within(s.o.Memory)
	}
	vectors, err := topics(v)
	if err != nil {
		return nil, err
	}
	coverage, err := slate.NewCoverage(n, d, vectors)
	if err != nil {
		return nil, err
	}
	rows, err := rowsOf(settings, v.IDs(), true)
	if err != nil {
		return nil, err
	}
	plain := p.grouping(n, rows)
	if p.plain, err = newBasket(coverage, plain, s.o.Threads); err != nil {
		return nil, err
	}
	if p.priced = p.plain; costs(settings) > 0 {
		p.priced, err = newBasket(coverage, pricing(settings, n, rows, plain), s.o.Threads)
	}
	return p, err
}

// topics returns the vectors of a version, whose values must be in [0, 1].
func topics(v Version) ([]float64, error) {
	n, d := v.Len(), v.Dim()
	all := make([]float64, 0, n*d)
	for i := range n {
		for j, x := range v.Row(int64(i)) {
			if !(x >= 0 && x <= 1) {
				return nil, problem.New(problem.Conflict, "the vector %s has %v at coordinate %d; slates need vectors in [0, 1], how much an item covers each topic", v.IDs().Name(int64(i)), x, j).
					At("rows", i).Within([]int{0, 1})
			}
			all = append(all, float64(x))
		}
	}
	return all, nil
}

// grouping numbers the groups; rows are those of the listed items, -1 if they no longer
// exist.
func (p *prepared) grouping(n int, rows []int64) slate.Attributes {
	if p.listed == 0 {
		return slate.Attributes{}
	}
	p.groups = map[string]int{}
	groups := make([][]int, n)
	listed := make([]bool, n)
	for i, row := range rows {
		if row < 0 {
			continue
		}
		listed[row] = true
		for _, g := range p.settings.Items[i].Groups {
			number, ok := p.groups[g]
			if !ok {
				number = len(p.groups)
				p.groups[g] = number
			}
			groups[row] = append(groups[row], number)
		}
	}
	p.unlisted = len(p.groups)
	for row, ok := range listed {
		if !ok {
			groups[row] = append(groups[row], p.unlisted)
		}
	}
	return slate.Attributes{GroupCount: p.unlisted + 1, Groups: groups}
}

// pricing adds costs to the attributes.
func pricing(s *Settings, n int, rows []int64, a slate.Attributes) slate.Attributes {
	a.Knapsacks = costs(s)
	a.Costs = make([]float64, n*a.Knapsacks)
	for i, row := range rows {
		if row >= 0 {
			copy(a.Costs[row*int64(a.Knapsacks):], s.Items[i].Costs)
		}
	}
	return a
}

// constrain returns the items and the limits of a request's slates.
func (p *prepared) constrain(req *Request) (*basket, *slate.Constraint, error) {
	from, l := p.plain, costs(p.settings)
	limits := slate.Limits{Length: req.K, Groups: map[int]int{}}
	if req.Budgets != nil {
		if len(req.Budgets) != l {
			return nil, nil, problem.New(problem.InvalidValue, "budgets has %d values, and items have %d costs", len(req.Budgets), l).In("budgets").Within(l)
		}
		from, limits.Budgets = p.priced, req.Budgets
	}
	for name, most := range req.GroupLimits {
		number, ok := p.groups[name]
		if !ok {
			return nil, nil, problem.New(problem.InvalidValue, "group_limits: no item is in a group %q", jsonbody.Clip(name)).In("group_limits")
		}
		limits.Groups[number] = most
	}
	if p.unlisted >= 0 {
		limits.Groups[p.unlisted] = 0
	}
	c, err := from.items.Constrain(limits)
	if errors.Is(err, slate.ErrEmpty) {
		err = p.empty(req)
	}
	return from, c, err
}

// empty returns the problem of a request whose limits exclude all items.
func (p *prepared) empty(req *Request) error {
	field := "group_limits"
	if req.Budgets != nil {
		field = "budgets"
	}
	return problem.New(problem.InvalidValue, "no single item is within the limits").In(field)
}

// shown bounds the number of excluded items that an answer names.
const shown = 10

// excluding lists the items that no slate of a request can contain.
func (p *prepared) excluding(c *slate.Constraint) *Excluding {
	e := &Excluding{}
	count := func(at **Excluded, row int) {
		if *at == nil {
			*at = &Excluded{}
		}
		if (*at).Count++; (*at).Count <= shown {
			(*at).IDs = append((*at).IDs, p.id(row))
		}
	}
	for _, row := range c.Unaffordable() {
		count(&e.Unaffordable, row)
	}
	groups := p.plain.items.Attributes().Groups
	for _, row := range c.Barred() {
		if g := groups[row]; g[len(g)-1] == p.unlisted {
			count(&e.Unlisted, row)
		} else {
			count(&e.Barred, row)
		}
	}
	if *e == (Excluding{}) {
		return nil
	}
	return e
}

// id returns the id of a row.
func (p *prepared) id(row int) ID {
	if p.ids.Kind() == catalog.Strings {
		return ID{Name: p.ids.Name(int64(row)), Text: true}
	}
	return ID{Int: p.ids.Int(int64(row))}
}

// conflict returns the problem of states that belong to another model.
func conflict(name string, have, want model) error {
	if have.dim != want.dim {
		return problem.New(problem.Conflict, "the users' states of collection %s have %d dimensions, and the collection now has %d: DELETE its slates to start over", name, have.dim, want.dim).
			In("name").Within(have.dim)
	}
	return problem.New(problem.Conflict, "lambda is %v, and the users' states of collection %s were learned with %v: DELETE its slates to start over", want.lambda, name, have.lambda).
		In("lambda").Within(fmt.Sprint(have.lambda))
}

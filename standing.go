package thresher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/batch"
	"thresher/collection"
	"thresher/segments"
	"thresher/verify"
)

// standing is what a snapshot of changed vectors holds, prepared as one block.
type standing struct {
	of    *segments.Snapshot
	index *Index
	coded bool // there are codes
	users int  // and the changes themselves; guarded by changes.building
}

// now returns the vectors as one block, coded or only to be read, and what ends its use: x itself before the first
// change, and else an Index of what is there now, which later calls share until the next change.
func (x *Index) now(ctx context.Context, coded bool) (*Index, func(), error) {
	c, leave := x.life.enter()
	if c == nil {
		return x, leave, nil
	}
	block, err := c.block(ctx, coded)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return block.index, func() {
		c.building.Lock()
		err := block.leave()
		c.building.Unlock()
		c.note(err)
		leave()
	}, nil
}

// block returns what is there now as a block, for one more user.
func (c *changes) block(ctx context.Context, coded bool) (*standing, error) {
	c.building.Lock()
	defer c.building.Unlock()
	s := c.set.Snapshot()
	if b := c.made; b != nil && b.of == s && (b.coded || !coded) {
		b.users++
		return b, s.Release()
	}
	index, err := c.build(ctx, s, coded)
	if err != nil {
		return nil, errors.Join(err, s.Release())
	}
	b := &standing{of: s, index: index, coded: coded, users: 1}
	if err := c.replaceLocked(b); err != nil {
		return nil, err
	}
	b.users++
	return b, nil
}

// replace gives up the block that was made for another, which may be nil.
func (c *changes) replace(b *standing) error {
	c.building.Lock()
	defer c.building.Unlock()
	return c.replaceLocked(b)
}

func (c *changes) replaceLocked(b *standing) error {
	before := c.made
	c.made = b
	if before == nil {
		return nil
	}
	return before.leave()
}

// leave ends a use; building is held.
func (b *standing) leave() error {
	if b.users--; b.users > 0 {
		return nil
	}
	return errors.Join(b.index.Close(), b.of.Release())
}

// build prepares what a snapshot holds.
func (c *changes) build(ctx context.Context, s *segments.Snapshot, coded bool) (*Index, error) {
	r, err := s.Rows()
	if err != nil {
		return nil, err
	}
	if r.Len() == 0 {
		return nil, errors.New("there are no vectors: all were removed")
	}
	rows, err := r.Vectors()
	if err != nil {
		return nil, err
	}
	x := c.index
	o := x.o
	o.Metric, o.Seed = x.Metric(), x.atoms.Seed
	settings := o.settings(!coded)
	settings.Basis, settings.Origin, settings.Change = x.atoms.Basis, r.Origin(), r.Change()
	atoms, err := collection.BuildVectors(ctx, rows, settings)
	if err != nil {
		return nil, err
	}
	numbers := c.numbers(r)
	o.IDs = c.idsOf(numbers, r.Len())
	made, err := adopted(ctx, atoms, o)
	if err != nil {
		return nil, err
	}
	made.numbers = numbers
	return made, nil
}

// toRows replaces what the caller calls rows, in a request, by the rows of the block. Those of removed vectors are left out.
func (x *Index) toRows(req *Request) error {
	if x.numbers == nil {
		return nil
	}
	req.Filter, req.Exclude = x.kept(req.Filter), x.kept(req.Exclude)
	req.Goals = slices.Clone(req.Goals)
	filters := map[batch.Wanted][]int64{}
	for j := range req.Goals {
		g := &req.Goals[j]
		g.Exclude, g.Candidates = x.kept(g.Exclude), x.kept(g.Candidates)
		if g.Filter == nil {
			continue
		}
		wanted := req.WantedOf(g) // lists that share their memory go on doing so
		wanted.K = 0
		if filters[wanted] == nil {
			filters[wanted] = x.kept(g.Filter)
		}
		g.Filter = filters[wanted]
	}
	if !req.ExcludeSelf {
		return nil
	}
	selves := make([]int64, max(len(req.Queries), len(req.Queries64))/x.Dim())
	if req.Selves != nil {
		selves = slices.Clone(req.Selves)
	} else {
		for j := range selves {
			selves[j] = req.SelfFirst + int64(j)
		}
	}
	for j, self := range selves {
		row, found := slices.BinarySearch(x.numbers, self)
		if !found {
			return noSelf(j, self)
		}
		selves[j] = int64(row)
	}
	req.Selves, req.SelfFirst = selves, 0
	return nil
}

// kept returns the rows of the block that the caller calls so, without those that are not there; nil of nil. Negative ones
// are left to be refused.
func (x *Index) kept(numbers []int64) []int64 {
	if numbers == nil {
		return nil
	}
	rows := []int64{}
	for _, number := range numbers {
		if row, found := slices.BinarySearch(x.numbers, number); found {
			rows = append(rows, int64(row))
		} else if number < 0 {
			rows = append(rows, number)
		}
	}
	return rows
}

// rowsOf returns the rows of the block that an answer calls so. One that is not there is an error.
func (x *Index) rowsOf(answer int, numbers []int64) ([]int64, error) {
	if x.numbers == nil {
		return numbers, nil
	}
	rows := make([]int64, len(numbers))
	for i, number := range numbers {
		row, found := slices.BinarySearch(x.numbers, number)
		if !found {
			return nil, fmt.Errorf("answer %d, rank %d: there is no vector %d", answer, i+1, number)
		}
		rows[i] = int64(row)
	}
	return rows, nil
}

// renumbered passes comparisons on with the rows that the caller knows.
func (x *Index) renumbered(visit func(*Compared) error) func(*Compared) error {
	if visit == nil || x.numbers == nil {
		return visit
	}
	return func(c *Compared) error {
		own := *c
		own.Missed = slices.Clone(c.Missed)
		x.renumber(own.Missed)
		return visit(&own)
	}
}

// renumberedFinding is renumbered of what a verification finds.
func (x *Index) renumberedFinding(visit func(query int64, f *verify.Finding)) func(query int64, f *verify.Finding) {
	if visit == nil || x.numbers == nil {
		return visit
	}
	return func(query int64, f *verify.Finding) {
		own := *f
		own.Missed = slices.Clone(f.Missed)
		x.renumber(own.Missed)
		visit(query, &own)
	}
}

package segments

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"thresher/collection"
)

// Upkeep is a seal or a merge on its way: rows of several segments that become those of one, with codes and without what
// is deleted. It is made by Set.Begin and ends with Install or Abandon. Reading its rows takes no lock: searches and writes go on.
type Upkeep struct {
	set        *Set
	*Reading   // of the inputs, with what was deleted of them at the beginning; if Len is 0, Install takes nil
	generation int
}

// Begin returns the upkeep that is due, nil if none is. There is one at a time: it is nil until the one before has ended, too.
func (s *Set) Begin() *Upkeep {
	return s.begin(func(all []standing) ([]int, int) { return choose(all, s.seal) })
}

// Due reports whether an upkeep is due: Begin begins it if nothing changes meanwhile.
func (s *Set) Due() bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.upkeep != nil || s.closed {
		return false
	}
	chosen, _ := choose(s.standings(), s.seal)
	return len(chosen) > 0
}

// standings are what a policy knows of the segments; s.writing is held.
func (s *Set) standings() []standing {
	views := s.current.views
	all := make([]standing, len(views))
	for i := range views {
		all[i] = standing{views[i].c.N, views[i].deleted, views[i].coded}
	}
	return all
}

// Freeze makes a segment without codes of the tail, unless an upkeep is under way: then the next one takes in all writes until now.
func (s *Set) Freeze() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if len(s.current.tail.ids) == 0 || s.upkeep != nil || s.closed {
		return nil
	}
	n := s.next()
	if err := s.freeze(n); err != nil {
		return err
	}
	s.publish(n)
	return nil
}

// BeginAll returns the upkeep that makes one segment of all, with codes and nothing deleted, the tail included; nil if that
// is how the set is, or if another upkeep is under way.
func (s *Set) BeginAll() (*Upkeep, error) {
	if err := s.Freeze(); err != nil {
		return nil, err
	}
	return s.begin(func(all []standing) (chosen []int, generation int) {
		if len(all) == 1 && all[0].generation > 0 && all[0].deleted == 0 {
			return nil, 0
		}
		rows := 0
		for i, one := range all {
			chosen, generation, rows = append(chosen, i), max(generation, one.generation), rows+one.rows
		}
		return chosen, max(generation, grownGeneration(rows))
	}), nil
}

// begin begins the upkeep of the segments that a policy chooses; nil if none is due. It does little while it holds the lock.
func (s *Set) begin(policy func([]standing) ([]int, int)) *Upkeep {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.upkeep != nil || s.closed {
		return nil
	}
	views := s.current.views
	chosen, generation := policy(s.standings())
	if len(chosen) == 0 {
		return nil
	}
	u := &Upkeep{set: s, Reading: &Reading{set: s}, generation: generation}
	for _, i := range chosen {
		views[i].hold()
		u.inputs = append(u.inputs, views[i])
	}
	s.upkeep = u
	return u
}

// Segments lists the segments that become one.
func (u *Upkeep) Segments() []*Segment {
	all := make([]*Segment, len(u.inputs))
	for i := range u.inputs {
		all[i] = u.inputs[i].Segment
	}
	return all
}

// Generation is that of the segment to be.
func (u *Upkeep) Generation() int { return u.generation }

// Build builds the segment in memory; nil if no row is left.
func (u *Upkeep) Build(ctx context.Context) (*Segment, error) {
	if u.Len() == 0 {
		return nil, nil
	}
	v, err := u.Vectors()
	if err != nil {
		return nil, err
	}
	o := u.set.o.Collection
	o.Change = u.Change()
	c, err := collection.BuildVectors(ctx, v, &o)
	if err != nil {
		return nil, err
	}
	made, err := New(ctx, c, u.IDs(), u.set.o.Backend, &u.set.o.Engine, u.generation, nil)
	if err == nil && len(u.set.o.Columns) > 0 {
		err = made.SetColumns(u.Columns())
	}
	return made, err
}

// Install replaces the segments by made, which has the rows of Read and the ids of IDs, and ends the upkeep. What was deleted of them meanwhile is
// deleted of it. The Set takes over the caller's reference of made, unless it fails.
func (u *Upkeep) Install(made *Segment) error {
	n := 0
	if made != nil {
		n = made.Len()
	}
	if n != u.Len() {
		return fmt.Errorf("a segment of %d rows in place of %d", n, u.Len())
	}
	s := u.set
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.upkeep != u {
		return errors.New("this upkeep has ended")
	}
	if s.closed {
		u.end()
		return ErrClosed
	}
	next := s.next()
	var gone []int // rows of made
	var kept []view
	for _, m := range s.current.views {
		if input := u.input(m.Segment); input != nil {
			for _, row := range deletedSince(input, &m) {
				at, _ := made.Row(m.ID(row))
				gone = append(gone, at)
			}
			continue
		}
		kept = append(kept, m)
	}
	next.views = kept
	if made != nil {
		m := view{Segment: made, deleted: len(gone)}
		if len(gone) > 0 {
			m.live = m.engine.Without(nil, gone)
		}
		next.views = append(next.views, m)
	}
	s.counts.Coded += int64(n)
	s.publish(next)
	u.end()
	return nil
}

// deletedSince lists the rows of one segment that are in before and no longer in now.
func deletedSince(before, now *view) (rows []int) {
	if now.live == before.live {
		return nil
	}
	for word, left := range now.live.Bits() {
		was := ^uint64(0)
		if before.live != nil {
			was = before.live.Bits()[word]
		}
		for gone := was &^ left; gone != 0; gone &= gone - 1 {
			if i := word*64 + bits.TrailingZeros64(gone); i < now.c.N {
				rows = append(rows, int(now.c.Order[i]))
			}
		}
	}
	return rows
}

// Abandon ends the upkeep and leaves the segments as they are.
func (u *Upkeep) Abandon() {
	u.set.writing.Lock()
	defer u.set.writing.Unlock()
	if u.set.upkeep == u {
		u.end()
	}
}

// end gives up what the upkeep holds; s.writing is held.
func (u *Upkeep) end() {
	u.set.upkeep = nil
	for i := range u.inputs {
		u.set.ended = errors.Join(u.set.ended, u.inputs[i].Close())
	}
}

// Maintain seals and merges until nothing is due.
func (s *Set) Maintain(ctx context.Context) error {
	for {
		u := s.Begin()
		if u == nil {
			return nil
		}
		if err := u.finish(ctx); err != nil {
			return err
		}
	}
}

// finish builds and installs.
func (u *Upkeep) finish(ctx context.Context) error {
	made, err := u.Build(ctx)
	if err != nil {
		u.Abandon()
		return err
	}
	if err = u.Install(made); err != nil && made != nil {
		err = errors.Join(err, made.Close())
	}
	return err
}

package batch

import (
	"context"
	"slices"
	"time"

	"thresher/backend"
)

// groupQueries is memory for a group's queries.
type groupQueries struct {
	values []float32
	given  []float64 // values as given, if the vectors are of float64
	goals  []backend.Goal
}

// runGroup answers a group of several members.
func (c *Coalescer) runGroup(ctx context.Context, g *searchGroup) {
	defer c.calls.Done()
	defer g.stop()
	b, ok := c.memory.Get().(*groupQueries)
	if !ok {
		b = &groupQueries{}
	}
	b.values, b.given, b.goals = b.values[:0], b.given[:0], b.goals[:0]
	g.shared = slices.Clone(g.members)
	for _, m := range g.shared {
		m.offset, m.done = len(b.goals), make(chan struct{})
		q := m.work.queries(m.lo, m.lo+m.n)
		b.values, b.given, b.goals = append(b.values, q.Data...), append(b.given, q.Given...), append(b.goals, m.goals[m.lo:m.lo+m.n]...)
	}
	e, p := g.shared[0].e, g.shared[0].strategy
	if o := c.o.Observer; o != nil {
		o.Began(len(g.shared), len(b.goals))
	}
	close(g.begun)
	q := backend.Queries{M: len(b.goals), Dim: e.c.Dim, Data: b.values}
	if e.c.Float64() {
		q.Given = b.given
	}
	answers, by, err := e.answer(ctx, p, q, b.goals, g)
	clear(b.goals) // keep no filter of a request alive
	c.memory.Put(b)
	c.endRun(g.queries) // the next run begins before the members copy their answers
	for _, m := range g.shared {
		m.by, m.err = by, err
		if answers != nil {
			m.answers = answers[m.offset : m.offset+m.n]
		}
		close(m.done)
	}
}

// leavable returns r with runs that release members of g at their deadlines. by names the
// backend. A nil group has no members.
func (g *searchGroup) leavable(r backend.Resident, by string) backend.Resident {
	if g == nil {
		return r
	}
	return &sharedResident{r, g, by}
}

type sharedResident struct {
	backend.Resident
	g  *searchGroup
	by string
}

func (r *sharedResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	run, err := r.Resident.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	l, ok := run.(backend.Leaver)
	if !ok {
		return run, nil
	}
	r.g.c.mu.Lock()
	defer r.g.c.mu.Unlock()
	r.g.leaver = true
	return &sharedRun{Leaver: l, r: r, began: time.Now()}, nil
}

// sharedRun is a run that releases members at their deadlines: a call under way is
// interrupted and made again without them.
type sharedRun struct {
	backend.Leaver
	r     *sharedResident
	began time.Time
}

func (s *sharedRun) Pull(ctx context.Context, look backend.Look) (left backend.Survivors, err error) {
	for interrupted := true; interrupted; {
		interrupted, err = s.untilDeadline(ctx, func(ctx context.Context) (err error) {
			left, err = s.Leaver.Pull(ctx, look)
			return err
		})
	}
	return left, err
}

// minDense is the least number of queries of a dense scan after interruptions.
const minDense = 64

// Dense scans for half as many queries at a time after each interruption, because an
// interrupted scan starts over.
func (s *sharedRun) Dense(ctx context.Context, queries ...int) error {
	for n := len(queries); len(queries) > 0; {
		some := queries[:min(n, len(queries))]
		interrupted, err := s.untilDeadline(ctx, func(ctx context.Context) error { return s.Leaver.Dense(ctx, some...) })
		switch {
		case interrupted:
			n = max(minDense, n/2)
		case err != nil:
			return err
		default:
			queries = queries[len(some):]
		}
	}
	return nil
}

// untilDeadline releases members that are due and makes a call that the next deadline
// interrupts. The caller makes an interrupted call again.
func (s *sharedRun) untilDeadline(ctx context.Context, call func(context.Context) error) (interrupted bool, err error) {
	if err := s.releaseDue(); err != nil {
		return false, err
	}
	limited := ctx
	if next := s.nextDeadline(); !next.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, next)
		defer cancel()
	}
	err = call(limited)
	return err != nil && contextEnded(err) && ctx.Err() == nil && limited.Err() != nil, err
}

// finishTogether is how many queries are finished between two checks of the clock.
const finishTogether = 64

// Finish releases members in the order of their deadlines while one is due within the
// run's elapsed time, which bounds what finishing takes.
func (s *sharedRun) Finish(ctx context.Context) (backend.Answers, error) {
	for {
		if err := s.releaseDue(); err != nil {
			return nil, err
		}
		next := s.nextDeadline()
		if ctx.Err() != nil || next.IsZero() || time.Until(next) > time.Since(s.began) {
			return s.Leaver.Finish(ctx)
		}
		slices.SortStableFunc(s.r.g.shared, byDeadline)
		n, queries := 0, 0
		for ; n < len(s.r.g.shared) && queries < finishTogether; n++ {
			queries += s.r.g.shared[n].n
		}
		if err := s.release(ctx, s.r.g.shared[:n], ""); err != nil {
			return nil, err
		}
	}
}

// byDeadline orders members by deadline; those without one come last.
func byDeadline(a, b *member) int {
	switch {
	case a.deadline.Equal(b.deadline):
		return 0
	case b.deadline.IsZero() || !a.deadline.IsZero() && a.deadline.Before(b.deadline):
		return -1
	}
	return 1
}

// nextDeadline is the first deadline of a member; zero if there is none.
func (s *sharedRun) nextDeadline() (t time.Time) {
	for _, m := range s.r.g.shared {
		if !m.deadline.IsZero() && (t.IsZero() || m.deadline.Before(t)) {
			t = m.deadline
		}
	}
	return t
}

// releaseDue finishes members that were abandoned or are past their deadline. Members due
// within 1/16 of the run's elapsed time go with them, which bounds interruptions.
func (s *sharedRun) releaseDue() error {
	now, next := time.Now(), s.nextDeadline()
	soon := now
	if !next.IsZero() && !next.After(now) {
		soon = now.Add(now.Sub(s.began) / 16)
	}
	var some []*member
	c := s.r.g.c
	c.mu.Lock()
	for _, m := range s.r.g.shared {
		if m.abandoned || !m.deadline.IsZero() && !m.deadline.After(soon) {
			some = append(some, m)
		}
	}
	c.mu.Unlock()
	if len(some) == 0 {
		return nil
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return s.release(over, some, Deadline)
}

// release finishes members: completely, or with the best so far if ctx has ended.
func (s *sharedRun) release(ctx context.Context, some []*member, why Stop) error {
	var queries []int
	for _, m := range some {
		for i := range m.n {
			queries = append(queries, m.offset+i)
		}
	}
	answers, err := s.Leave(ctx, queries...)
	if err != nil {
		return err
	}
	g := s.r.g
	g.c.mu.Lock()
	for _, m := range some {
		g.removeMember(m)
	}
	g.c.mu.Unlock()
	for _, m := range some {
		m.answers, answers = answers[:m.n], answers[m.n:]
		m.by, m.stopped, m.released = s.r.by, why, true
		close(m.done)
	}
	g.shared = slices.DeleteFunc(g.shared, func(m *member) bool { return m.released })
	return nil
}

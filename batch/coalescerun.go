package batch

import (
	"context"
	"slices"
	"time"

	"thresher/backend"
)

// gathered is memory for a group's queries.
type gathered struct {
	values []float32
	goals  []backend.Goal
}

// run answers a group of several.
func (c *Coalescer) run(ctx context.Context, g *group) {
	defer c.calls.Done()
	defer g.stop()
	b, ok := c.memory.Get().(*gathered)
	if !ok {
		b = &gathered{}
	}
	b.values, b.goals = b.values[:0], b.goals[:0]
	g.shared = slices.Clone(g.members)
	for _, m := range g.shared {
		m.at, m.done = len(b.goals), make(chan struct{})
		b.values, b.goals = append(b.values, m.work.queries(m.lo, m.lo+m.n).Data...), append(b.goals, m.goals[m.lo:m.lo+m.n]...)
	}
	e, p := g.shared[0].e, g.shared[0].plan
	if o := c.o.Observer; o != nil {
		o.Began(len(g.shared), len(b.goals))
	}
	close(g.begun)
	answers, by, err := e.answer(ctx, p, backend.Queries{M: len(b.goals), Dim: e.c.Dim, Data: b.values}, b.goals, g)
	clear(b.goals) // whose filters are the requests'
	c.memory.Put(b)
	c.end(g.queries) // the next run need not wait until the members have their answers
	for _, m := range g.shared {
		m.by, m.err = by, err
		if answers != nil {
			m.answers = answers[m.at : m.at+m.n]
		}
		close(m.done)
	}
}

// share has the members of g leave runs on r, the backend by's, at their deadlines. No
// group has none.
func (g *group) share(r backend.Resident, by string) backend.Resident {
	if g == nil {
		return r
	}
	return &sharedResident{r, g, by}
}

type sharedResident struct {
	backend.Resident
	g  *group
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
	r.g.keeps = true
	return &sharedRun{Leaver: l, r: r, began: time.Now()}, nil
}

// sharedRun is a run that its members leave at their deadlines: what is under way then
// is stopped, and goes on without them.
type sharedRun struct {
	backend.Leaver
	r     *sharedResident
	began time.Time
}

func (s *sharedRun) Pull(ctx context.Context, look backend.Look) (left backend.Survivors, err error) {
	for struck := true; struck; {
		struck, err = s.try(ctx, func(ctx context.Context) (err error) {
			left, err = s.Leaver.Pull(ctx, look)
			return err
		})
	}
	return left, err
}

// denseLeast is how many queries share a dense scan at least.
const denseLeast = 64

// Dense scans for fewer at a time once a deadline has struck: scans that were stopped
// begin again.
func (s *sharedRun) Dense(ctx context.Context, queries ...int) error {
	for n := len(queries); len(queries) > 0; {
		some := queries[:min(n, len(queries))]
		struck, err := s.try(ctx, func(ctx context.Context) error { return s.Leaver.Dense(ctx, some...) })
		switch {
		case struck:
			n = max(denseLeast, n/2)
		case err != nil:
			return err
		default:
			queries = queries[len(some):]
		}
	}
	return nil
}

// try makes a call that a deadline of a member may strike; then it is to be made again.
func (s *sharedRun) try(ctx context.Context, call func(context.Context) error) (struck bool, err error) {
	if err := s.dismiss(); err != nil {
		return false, err
	}
	limited := ctx
	if next := s.next(); !next.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, next)
		defer cancel()
	}
	err = call(limited)
	return err != nil && stopped(err) && ctx.Err() == nil && limited.Err() != nil, err
}

// finishTogether is how many queries are finished between two looks at the clock.
const finishTogether = 64

// Finish has the members leave in the order of their deadlines if one is near: within as
// long as the run has taken so far, for the end takes less.
func (s *sharedRun) Finish(ctx context.Context) (backend.Answers, error) {
	for {
		if err := s.dismiss(); err != nil {
			return nil, err
		}
		next := s.next()
		if ctx.Err() != nil || next.IsZero() || time.Until(next) > time.Since(s.began) {
			return s.Leaver.Finish(ctx)
		}
		slices.SortStableFunc(s.r.g.shared, sooner)
		n, queries := 0, 0
		for ; n < len(s.r.g.shared) && queries < finishTogether; n++ {
			queries += s.r.g.shared[n].n
		}
		if err := s.letGo(ctx, s.r.g.shared[:n], ""); err != nil {
			return nil, err
		}
	}
}

// sooner compares deadlines.
func sooner(a, b *member) int {
	switch {
	case a.until.Equal(b.until):
		return 0
	case b.until.IsZero() || !a.until.IsZero() && a.until.Before(b.until):
		return -1
	}
	return 1
}

// next is the first deadline of a member; zero when none has one.
func (s *sharedRun) next() (t time.Time) {
	for _, m := range s.r.g.shared {
		if !m.until.IsZero() && (t.IsZero() || m.until.Before(t)) {
			t = m.until
		}
	}
	return t
}

// dismiss lets go who waits no more, and if somebody's deadline has come, those whose is
// near: each time costs the others a little.
func (s *sharedRun) dismiss() error {
	now, next := time.Now(), s.next()
	soon := now
	if !next.IsZero() && !next.After(now) {
		soon = now.Add(now.Sub(s.began) / 16)
	}
	var some []*member
	c := s.r.g.c
	c.mu.Lock()
	for _, m := range s.r.g.shared {
		if m.away || !m.until.IsZero() && !m.until.After(soon) {
			some = append(some, m)
		}
	}
	c.mu.Unlock()
	if len(some) == 0 {
		return nil
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return s.letGo(over, some, Deadline)
}

// letGo has members leave with what there is, all of it unless ctx has ended.
func (s *sharedRun) letGo(ctx context.Context, some []*member, why Stop) error {
	var queries []int
	for _, m := range some {
		for i := range m.n {
			queries = append(queries, m.at+i)
		}
	}
	answers, err := s.Leave(ctx, queries...)
	if err != nil {
		return err
	}
	g := s.r.g
	g.c.mu.Lock()
	for _, m := range some {
		g.part(m)
	}
	g.c.mu.Unlock()
	for _, m := range some {
		m.answers, answers = answers[:m.n], answers[m.n:]
		m.by, m.stopped, m.gone = s.r.by, why, true
		close(m.done)
	}
	g.shared = slices.DeleteFunc(g.shared, func(m *member) bool { return m.gone })
	return nil
}

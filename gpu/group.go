//go:build cuda && cgo

package gpu

import (
	"context"
	"slices"
	"unsafe"
)

// which selects the queries that a kernel processes: those whose flags, masked with mask, equal
// value.
type which struct{ mask, value uint32 }

var (
	// scanned are under elimination, with atoms that no look has read.
	scanned = which{flagDone | flagDense | flagListed | flagOverflow, 0}
	// live are under elimination.
	live = which{flagDone | flagDense | flagOverflow, 0}
	// unanswered are all but the answered.
	unanswered = which{flagDone, 0}
)

// The order in which leaders are chosen.
const (
	byBound = iota
	byEstimate
)

const (
	// drainPiece is how many arms of a query are scored between updates of the threshold when all
	// remaining arms are scored.
	drainPiece = 256
	// drainRounds is how many such rounds are enqueued before the host checks what is left.
	drainRounds = 8
	// liftRounds is how many rounds of scoring follow a chunk or a look; raiseMost is the greatest k
	// for the kernel that does them in one launch.
	liftRounds, raiseMost = 2, 256
	// partialRows is the most rows a query scores after its deadline, so that a partial answer is
	// the best of what was scored.
	partialRows = 256
)

// group is queries lo to hi-1 of a batch, whose lists share an arena.
type group struct {
	b      *queryBatch
	lists  *arena
	lo, hi int
	// collects says that the host collects the scores; otherwise the device keeps the best, which
	// raise the threshold.
	collects bool
	next     int    // first atom that no look has read
	taken    bool   // this was the run's last look
	under    *look  // a look that a context interrupted during its scan; nil if none
	parked   *arena // the lists while other groups use the arena; nil if they are in it
}

// m returns the number of queries.
func (g *group) m() int { return g.hi - g.lo }

// answered reports whether all queries are answered, as the host last saw them.
func (g *group) answered() bool {
	for _, s := range g.b.states[g.lo:g.hi] {
		if s.flags&flagDone == 0 {
			return false
		}
	}
	return true
}

// among returns the group's part of places, which are ascending.
func (g *group) among(places []int) []int {
	lo, _ := slices.BinarySearch(places, g.lo)
	hi, _ := slices.BinarySearch(places, g.hi)
	return places[lo:hi]
}

// array returns the address of the group's part of one of the batch's arrays, with bytes for
// each query.
func (g *group) array(at, bytes int) Arg { return PtrAt(g.b.mem, at+g.lo*bytes) }

func (g *group) states() Arg { return g.array(g.b.at.states, int(unsafe.Sizeof(query{}))) }

// threads is the shape of a kernel with a thread a query.
func (g *group) threads() Shape {
	return Shape{Grid: Dim{X: blocks(g.m(), 256)}, Block: Dim{X: 256}}
}

// blocks is the shape of a kernel with a block a query.
func (g *group) blocks() Shape { return Shape{Grid: Dim{X: g.m()}, Block: Dim{X: 256}} }

// shared is the shape of a kernel whose blocks, of so many threads, share a query's list: four
// blocks for each multiprocessor, of which at most two for one query.
func (g *group) shared(q *queue, threads int) Shape {
	n := q.t.d.info.Multiprocessors
	y := max(1, min(2*n, 4*n/g.m()))
	return Shape{Grid: Dim{X: g.m(), Y: y}, Block: Dim{X: threads}}
}

// prune drops the entries that cannot reach the threshold; carry keeps estimates.
func (g *group) prune(q *queue, w which, carry bool) {
	q.launch("prune", g.blocks(), g.states(), g.lists.table(), U32(w.mask), U32(w.value), boolean(carry))
}

// score moves at most most leaders of each query (0 for its k) from its list and scores them. If
// the device keeps the best, that may raise the threshold.
func (g *group) score(q *queue, w which, by, most int, carry bool) {
	b := g.b
	q.launch("leaders", g.blocks(), g.states(), g.lists.table(), U32(w.mask), U32(w.value), I32(by), U32(uint32(most)), boolean(carry),
		g.array(b.at.lead, 4*b.leadRoom), g.array(b.at.led, 4), U32(uint32(b.leadRoom)))
	g.scoreLed(q)
}

// scoreLed scores the leaders already chosen.
func (g *group) scoreLed(q *queue) {
	b, r := g.b, g.b.r
	room := U32(uint32(b.leadRoom))
	lead, led := g.array(b.at.lead, 4*b.leadRoom), g.array(b.at.led, 4)
	scores, rows := g.array(b.at.leadScore, 8*b.leadRoom), g.array(b.at.leadRow, 4*b.leadRoom)
	q.launch("score", g.shared(q, 128), g.states(), lead, led, room, Ptr(r.rows.memory()), I32(r.c.Dim), Ptr(r.order),
		g.array(b.at.scaled, 8*r.c.Dim), orNull(r.rowSquare), scoringOf(r.c), scores, rows)
	if !g.collects {
		q.launch("merge", g.blocks(), g.states(), led, scores, rows, room, I32(r.c.Dim),
			g.array(b.at.bestScore, 8*b.bestRoom), g.array(b.at.bestRow, 4*b.bestRoom), U32(uint32(b.bestRoom)))
	}
}

// lift scores the k leaders, then k more by the new threshold, drops entries that cannot reach
// the threshold, and marks the queries that are finished with the scan: those that no atom of
// norm beyond can reach, if there are such atoms, and those that kept more than a share of the
// atoms.
func (g *group) lift(q *queue, w which, by int, share float64, beyond float32) {
	b, r := g.b, g.b.r
	if !g.collects && b.bestRoom <= raiseMost {
		q.launch("raise", g.blocks(), g.states(), g.lists.table(), U32(w.mask), U32(w.value), I32(by), I32(liftRounds),
			Ptr(r.rows.memory()), I32(r.c.Dim), Ptr(r.order), g.array(b.at.scaled, 8*r.c.Dim), orNull(r.rowSquare), scoringOf(r.c),
			g.array(b.at.bestScore, 8*b.bestRoom), g.array(b.at.bestRow, 4*b.bestRoom), U32(uint32(b.bestRoom)), F64(share), F32(beyond))
		return
	}
	for range liftRounds {
		if !g.collects {
			g.score(q, w, by, 0, by == byEstimate)
		}
	}
	g.prune(q, w, false)
	q.launch("survey", g.threads(), g.states(), U32(uint32(g.m())), F64(share), F32(beyond))
}

// longest returns the length of the longest list of the queries selected by w, as the host last
// saw them.
func (g *group) longest(w which) int {
	n := 0
	for _, s := range g.b.states[g.lo:g.hi] {
		if s.flags&w.mask == w.value {
			n = max(n, min(int(s.listed), g.lists.room))
		}
	}
	return n
}

// drain scores the remaining lists of the queries selected by w, best bound first, until none
// reaches the threshold; it passes what the host collects to found. If ctx has ended it scores
// the leaders only and leaves the rest in the lists.
func (g *group) drain(ctx context.Context, q *queue, w which, found func(j int, s []scored)) error {
	if g.collects {
		return g.collect(ctx, q, w, found)
	}
	most, rounds := 0, 1 // the k best at once
	if ctx.Err() != nil && g.b.bestRoom > partialRows {
		most = partialRows
	}
	for {
		for range rounds {
			g.score(q, w, byBound, most, false)
		}
		g.prune(q, w, false)
		if err := g.b.settle(q); err != nil {
			return err
		}
		left := g.longest(w)
		if left == 0 || ctx.Err() != nil {
			return nil
		}
		most, rounds = drainPiece, min(drainRounds, blocks(left, drainPiece))
	}
}

// collect is drain for queries whose scores go to the host.
func (g *group) collect(ctx context.Context, q *queue, w which, found func(j int, s []scored)) error {
	for {
		g.score(q, w, byBound, g.b.leadRoom, false)
		if err := g.take(q, found); err != nil {
			return err
		}
		if g.longest(w) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// take downloads the last scores and the states.
func (g *group) take(q *queue, found func(j int, s []scored)) (err error) {
	b := g.b
	n := g.m() * b.leadRoom
	pin, err := q.p.pool.takePinned(q.t, "scores", 12*n+4*g.m())
	if err != nil {
		return err
	}
	defer func() { err = q.p.pool.back(q.t, pin, err) }()
	down := func(to, at, bytes int) {
		q.do(func(t *Thread, s *Stream) error {
			return b.mem.DownloadAsync(t, s, pin, to, at+g.lo*bytes, g.m()*bytes)
		})
	}
	scores, rows, led := view[float64](pin, 0, n), view[uint32](pin, 8*n, n), view[uint32](pin, 12*n, g.m())
	down(0, b.at.leadScore, 8*b.leadRoom)
	down(8*n, b.at.leadRow, 4*b.leadRoom)
	down(12*n, b.at.led, 4)
	if err := g.b.settle(q); err != nil {
		return err
	}
	for j, k := range led {
		all := make([]scored, k)
		for e := range all {
			all[e] = scored{scores[j*b.leadRoom+e], rows[j*b.leadRoom+e]}
		}
		found(g.lo+j, all)
	}
	return nil
}

// park moves the lists out of the arena, which other groups need; the host has
// seen how long they are.
func (g *group) park(q *queue) (err error) {
	if g.parked, err = newHostArena(q.t, &q.p.pool, g.m(), max(1, g.longest(unanswered))); err != nil {
		return err
	}
	g.move(q, g.lists, g.parked)
	return q.sync()
}

// unpark moves the lists back.
func (g *group) unpark(q *queue) error {
	if g.parked == nil {
		return nil
	}
	g.move(q, g.parked, g.lists)
	if err := q.sync(); err != nil {
		return err
	}
	err := g.parked.free(q.t)
	g.parked = nil
	return err
}

func (g *group) move(q *queue, from, to *arena) {
	q.launch("park", g.shared(q, 256), g.states(), from.table(), to.table())
}

func boolean(b bool) Arg {
	if b {
		return I32(1)
	}
	return I32(0)
}

// orNull passes a buffer, or a null pointer for nil.
func orNull[T any](b *Buffer[T]) Arg {
	if b == nil {
		return Null()
	}
	return Ptr(b)
}

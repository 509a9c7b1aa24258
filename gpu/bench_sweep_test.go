//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/gpu/device"
)

// swept is the time of a first look for several shapes of its kernel and several sequences of
// chunks, among them the program's.
type swept struct {
	Shapes []shaped  `json:"shapes"`
	Chunks []chunked `json:"chunks"`
}

// shaped is one scan of all atoms, with the thresholds of a search's end.
type shaped struct {
	Tile    int     `json:"tile"`   // of a block
	Blocks  int     `json:"blocks"` // of the grid, for each multiprocessor
	Seconds float64 `json:"seconds"`
	Own     bool    `json:"own"` // it is the program's
}

// chunked is a complete first look: scans, with thresholds tightened between them.
type chunked struct {
	Start     int     `json:"start"`  // atoms of a start, which is the first chunk then; 0 for none
	First     int     `json:"first"`  // atoms of the first chunk
	Growth    int     `json:"growth"` // ratio of the ends of consecutive chunks
	Seconds   float64 `json:"seconds"`
	Listed    float64 `json:"listed"`          // arms of a query at its end
	Overflows int     `json:"overflows"`       // queries whose list overflowed, or that kept too much
	Mixed     bool    `json:"mixed,omitempty"` // at mixed codes, otherwise at panels
	Own       bool    `json:"own"`
}

// sweeping repeats the first look of one batch.
type sweeping struct {
	k       *clock
	r       *resident
	queries backend.Queries
	goals   []backend.Goal
	look    backend.Look
	stall   int
	seconds float64 // of the last pass
	states  []query // after the last pass
}

// sweep answers a request of the same name.
func (s *server) sweep(ctx context.Context, r *request) (out *swept, err error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	k, err := s.ticking()
	if err != nil {
		return nil, err
	}
	ask, err := x.ask(r, 0)
	if err != nil {
		return nil, err
	}
	if x.card.machines[0] != k.m || r.To < 1 || r.To > x.c.PanelWidth {
		return nil, fmt.Errorf("a look at %d codes of set %q, of %d in panels", r.To, r.Set, x.c.PanelWidth)
	}
	w := &sweeping{k: k, queries: backend.Queries{Data: ask.Queries, M: r.M, Dim: x.c.Dim}, stall: r.Stall,
		look: backend.Look{Rep: backend.Panels, To: r.To, Rule: backend.Student, Alpha: r.Delta / float64(r.K), MaxSurvivors: .1}}
	for range r.M {
		w.goals = append(w.goals, backend.Goal{K: r.K, Floor: math.Inf(-1), Allowed: x.c.N, Ceiling: math.Inf(1)})
	}
	if w.r, err = loadResident(ctx, k.m, x.c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.r.Close()) }()
	out = &swept{}
	if err := w.chunks(ctx, r.Count, out); err != nil {
		return nil, err
	}
	return out, w.shapes(ctx, r.Count, out)
}

// chunks tries sequences of chunks, with a start if looks of the goals have one, and the program's own also at mixed codes.
func (w *sweeping) chunks(ctx context.Context, count int, out *swept) error {
	firsts, starts := []int{512, scanFirst, 4096, 16384}, w.r.start != nil && w.goals[0].K <= startMost
	if starts {
		firsts = append(firsts, 0)
	}
	for _, first := range firsts {
		start, slower := 0, 1
		if first == 0 {
			start, first = w.r.start.atoms, w.r.start.atoms
		}
		for _, growth := range []int{2, 4, scanGrowth, 16, 64} {
			own := growth == scanGrowth && (first == scanFirst && !starts || start > 0)
			same := first*slower >= w.r.c.N // the second chunk is the last, as with the growth before
			if slower = growth; same && !own {
				continue
			}
			c := chunked{Start: start, First: first, Growth: growth, Own: own}
			if err := w.chunk(ctx, count, out, c); err != nil {
				return err
			}
			if c.Mixed = own && mayMix(w.r.c); c.Mixed {
				if err := w.chunk(ctx, count, out, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chunk times one sequence of chunks and adds it to out.
func (w *sweeping) chunk(ctx context.Context, count int, out *swept, c chunked) error {
	if c.Mixed {
		w.look.Rep = backend.Mixed
		defer func() { w.look.Rep = backend.Panels }()
	}
	err := w.median(ctx, count, func(q *queue, x *run, g *queryChunk, l *look) {
		end := c.First
		if c.Start > 0 {
			x.takeStart(q, g, l, nil, toScan)
			x.encodeMixed(q, g, l)
			end *= c.Growth
		}
		for ; g.nextAtom < w.r.c.N; end *= c.Growth {
			for end = min(end, w.r.c.N); g.nextAtom < end; {
				lo := g.nextAtom
				g.nextAtom = min(end, lo+g.launchAtoms())
				x.scanAtoms(q, g, l, lo, g.nextAtom)
			}
			g.tighten(q, toScan, rankByBound, l.MaxSurvivors, x.normBeyond(g))
			if g.nextAtom < w.r.c.N {
				x.encodeMixed(q, g, l)
			}
		}
	})
	if err != nil {
		return err
	}
	c.Seconds = w.seconds
	for _, s := range w.states {
		c.Listed += float64(s.listed) / float64(len(w.states))
		if s.flags&(flagOverflow|flagDense) != 0 {
			c.Overflows++
		}
	}
	out.Chunks = append(out.Chunks, c)
	return nil
}

// shapes tries shapes, with the thresholds that chunks found.
func (w *sweeping) shapes(ctx context.Context, count int, out *swept) error {
	for p, s := range w.states {
		w.goals[p].Floor = math.Ldexp(s.tau, int(s.exp))
	}
	c, m, usual := w.r.c, len(w.goals), 0
	err := w.k.m.do(ctx, func(q *queue) error {
		usual, _ = scanShape(q, c, m, w.look.To)
		return nil
	})
	if err != nil {
		return err
	}
	tiles := []int{64, 128, scanTile, usual}
	slices.Sort(tiles)
	for _, tile := range slices.Compact(tiles) {
		wide := 32*((c.R+31)/32+(w.look.To+31)/32) + 16
		shared := tile*(wide+80) + 256*wide + 12288 // as in scan.cu
		if shared > w.k.m.d.Info().SharedPerBlock || tile != usual && tile >= 2*m {
			continue
		}
		for _, per := range []int{1, 2, 3, 4, 8} {
			err := w.median(ctx, count, func(q *queue, x *run, g *queryChunk, l *look) {
				y, hi := blocks(g.m(), tile), min(c.N, g.launchAtoms())
				grid := min(blocks(hi, 256), max(1, per*q.t.Device().Info().Multiprocessors/y))
				x.scanPanels(q, g, l, toScan, 0, hi, tile, device.Shape{Grid: device.Dim{X: grid, Y: y}, Block: device.Dim{X: 256}, Shared: shared})
			})
			if err != nil {
				return err
			}
			out.Shapes = append(out.Shapes, shaped{tile, per, w.seconds, tile == usual && per == 2})
		}
	}
	return nil
}

// median repeats pass count times, after one untimed pass if count is above 1; seconds becomes the
// median.
func (w *sweeping) median(ctx context.Context, count int, f func(*queue, *run, *queryChunk, *look)) error {
	var took []float64
	warm := min(1, count/2)
	for pass := range max(1, count) + warm {
		if err := w.pass(ctx, f); err != nil {
			return err
		}
		if pass >= warm {
			took = append(took, w.seconds)
		}
	}
	slices.Sort(took)
	w.seconds = took[len(took)/2]
	return nil
}

// pass begins the batch and times f, which enqueues the first look.
func (w *sweeping) pass(ctx context.Context, f func(*queue, *run, *queryChunk, *look)) (err error) {
	x, err := beginRun(ctx, w.r, w.queries, w.goals)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	return x.onDevice(ctx, func(q *queue) error {
		l, err := w.r.compileLook(ctx, q, w.look)
		if err != nil {
			return err
		}
		if err := x.allocLists(q, l); err != nil {
			return err
		}
		if len(x.chunks) != 1 {
			return errors.New("a batch's lists find no room")
		}
		if err := w.k.buffers(q.t, w.stall); err != nil {
			return err
		}
		g := &x.chunks[0]
		g.beginLook(q)
		x.encodeQueries8(q, g, l)
		x.computeFactors(q, g, l)
		x.mixQueries(q, g, l)
		x.encodeMixed(q, g, l)
		var sides [2]*device.Event
		for side := range sides {
			if sides[side], err = w.k.event(q.t, side); err != nil {
				return err
			}
		}
		if w.stall > 0 { // the host runs ahead
			q.enqueue(func(t *device.Thread, s *device.Stream) error { return w.k.copy(t, s, w.stall) })
		}
		q.enqueue(sides[0].Record)
		f(q, x, g, l)
		q.enqueue(sides[1].Record)
		if err := x.b.syncStates(q); err != nil {
			return err
		}
		took, err := sides[1].Since(q.t, sides[0])
		w.seconds, w.states = took.Seconds(), slices.Clone(x.b.states)
		return err
	})
}

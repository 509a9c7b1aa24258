//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"thresher/batch"
	"thresher/gpu/device"
)

// timed is how long the device took for batches, from the first kernel's begin to the last one's end: what lies between,
// such as waiting for the host, included.
type timed struct {
	Seconds  []float64 `json:"seconds"`
	Launches []int     `json:"launches"` // kernels of each batch
}

// device answers Count batches with two events around the kernels of each. As the last kernel is known by its number only, it answers
// each batch before that to count them.
func (s *server) device(ctx context.Context, r *request) (*timed, error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	k, err := s.ticking()
	if err != nil {
		return nil, err
	}
	if x.card.machines[0] != k.m {
		return nil, fmt.Errorf("set %q is on a card of its own", r.Set)
	}
	out := &timed{}
	for i := range max(1, r.Count) {
		ask, err := x.ask(r, i)
		if err != nil {
			return nil, err
		}
		seconds, launches, err := k.whole(ctx, x.engine, ask)
		if err != nil {
			return nil, err
		}
		out.Seconds, out.Launches = append(out.Seconds, seconds), append(out.Launches, launches)
	}
	return out, nil
}

// whole answers a batch twice, and returns the time from its first kernel to its last.
func (k *clock) whole(ctx context.Context, e *batch.Engine, ask batch.Request) (seconds float64, launches int, err error) {
	if launches, err = k.marked(ctx, e, ask, 0); err != nil {
		return 0, 0, err
	}
	if launches == 0 {
		return 0, 0, errors.New("a batch launched no kernel on this device")
	}
	again, err := k.marked(ctx, e, ask, launches)
	if err != nil {
		return 0, 0, err
	}
	if again != launches {
		return 0, 0, fmt.Errorf("a batch launched %d kernels, and %d when it was asked again", launches, again)
	}
	err = k.m.d.Do(ctx, func(t *device.Thread) error {
		took, err := k.events[1].Since(t, k.events[0])
		seconds = took.Seconds()
		return errors.Join(k.m.stream.Sync(t), err)
	})
	return seconds, launches, err
}

// marked answers a batch and returns how many kernels it launched. It records event 0 before the first of them and event 1 after the
// last-th, unless last is 0.
func (k *clock) marked(ctx context.Context, e *batch.Engine, ask batch.Request, last int) (launches int, err error) {
	sides := 0
	hook := func(q *queue, _ string) error { // before and after each launch
		sides++
		launches = (sides + 1) / 2
		if last == 0 || sides != 1 && sides != 2*last {
			return nil
		}
		mark, err := k.event(q.t, sides/(2*last))
		if err != nil {
			return err
		}
		return mark.Record(q.t, q.s)
	}
	set := func(f func(*queue, string) error) error {
		return k.m.d.Do(ctx, func(*device.Thread) error { k.m.onLaunch = f; return nil })
	}
	if err := set(hook); err != nil {
		return 0, err
	}
	_, err = e.Search(ctx, ask)
	return launches, errors.Join(err, set(nil))
}

// TestDeviceTimes: the time of a batch by two events is at least that of all its kernels, whose number is that of the split.
func TestDeviceTimes(t *testing.T) {
	needDriver(t)
	s, r := benchSet(t, 1000, 4)
	for _, most := range []int{graphQueries, 0} { // with graphs and without
		s.cards[0].machines[0].graphQueries = most
		for _, r.Plan = range []string{"64,whole,rescore", "mixed64,rescore", "dense"} {
			split, err := s.split(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			launched := 0
			for _, of := range split.Kernels {
				launched += of.Launches
			}
			out, err := s.device(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Seconds) != 2 || len(out.Launches) != 2 || out.Launches[1] != launched || out.Seconds[0] <= 0 || out.Seconds[1] <= 0 {
				t.Errorf("graphs up to %d queries, %s: %+v, and %d kernels by the split", most, r.Plan, out, launched)
			}
		}
		if s.clock.m.onLaunch != nil {
			t.Error("the hook stays")
		}
	}
}

// benchSet returns a server with set "a" of synthetic atoms, and a request for two batches of m queries.
func benchSet(t *testing.T, n, m int) (*server, *request) {
	t.Helper()
	const dim = 256
	s := &server{cards: map[int64]*Backend{}, sets: map[string]*set{}, signs: signs{out: io.Discard}, log: io.Discard}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	atoms, queries := benchData(t, n, m, dim)
	if _, err := s.build(t.Context(), &request{Set: "a", Atoms: atoms, Queries: queries, Dim: dim, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	return s, &request{Set: "a", M: m, K: 5, Count: 2, Delta: .01}
}

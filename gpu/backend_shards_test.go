//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// several opens the backend on three devices of the emulator.
func several(t *testing.T) *Backend {
	t.Helper()
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "3")
	b, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	waitForMixed(b)
	if n := len(b.(*Backend).Devices()); n != 3 {
		t.Fatalf("%d devices", n)
	}
	return b.(*Backend)
}

// asks returns goals of every kind for each query of a set.
func asks(s *backendtest.Set, o *backendtest.Oracle) (backend.Queries, []backend.Goal, []int) {
	n := s.N()
	q := backend.Queries{Dim: s.Dim}
	var goals []backend.Goal
	var of []int
	filter, allowed := o.Filter(func(row int) bool { return row%3 == 1 })
	for j := range s.M() {
		plain := backend.Goal{K: 10, Floor: -1e300, Allowed: n, Ceiling: math.Inf(1)}
		best := o.Answer(s.Query(j), plain)
		with := func(f func(g *backend.Goal)) {
			g := plain
			f(&g)
			goals, of = append(goals, g), append(of, j)
			q.M++
			q.Data = append(q.Data, s.Query(j)...)
		}
		with(func(*backend.Goal) {})
		with(func(g *backend.Goal) { g.K = n })
		with(func(g *backend.Goal) { g.Filter, g.Allowed = filter, allowed })
		with(func(g *backend.Goal) { g.Filter, g.Allowed, g.Gather = filter, allowed, true })
		with(func(g *backend.Goal) { g.Exclude, g.Allowed = []uint32{uint32(o.Internal(int(best.IDs[0])))}, n-1 })
		with(func(g *backend.Goal) { g.K, g.Floor = 0, (best.Scores[6]+best.Scores[7])/2 })
		with(func(g *backend.Goal) { g.Ceiling = (best.Scores[4] + best.Scores[5]) / 2 })
		with(func(g *backend.Goal) { g.From, g.Allowed = 700, n-700 })
		with(func(g *backend.Goal) { // excluded atoms and candidates on every device
			for _, id := range best.IDs[:5] {
				g.Exclude = append(g.Exclude, uint32(o.Internal(int(id))))
			}
			g.Exclude = append(g.Exclude, 0, 600, 1399)
			slices.Sort(g.Exclude)
			g.Exclude = slices.Compact(g.Exclude)
			for _, i := range []uint32{3, 511, 512, 1024, 1398} {
				if !slices.Contains(g.Exclude, i) {
					g.Candidates = append(g.Candidates, i)
				}
			}
			g.Allowed = n - len(g.Exclude)
		})
		with(func(g *backend.Goal) { g.Epsilon = (best.Scores[0] - best.Scores[9]) / 2 })
	}
	return q, goals, of
}

// TestShards searches a collection distributed over devices, in every metric and by every kind of
// ladder: answers differ from the oracle's by ties only.
func TestShards(t *testing.T) {
	b := several(t)
	defer shut(t, "backend", b.Close)
	rng := vectors.Rand(21)
	const n, dim = 1400, 160
	s := &backendtest.Set{Name: "power-law", Dim: dim, Rows: vectors.PowerLaw(rng, n, dim), Queries: vectors.PowerLaw(rng, 2, dim)}
	for k, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		if !myTurn(k) {
			continue
		}
		c, err := collection.Build(t.Context(), s.Rows, dim, &collection.Options{Seed: 2, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if k := len(r.(*shards).all); k != 3 {
			t.Fatalf("%d parts", k)
		}
		o := backendtest.NewOracle(c)
		q, goals, of := asks(s, o)
		for _, l := range backendtest.Ladders(c, 1e-12) {
			if len(l.Looks) > 0 && l.Looks[0].Rep == backend.SignPanels {
				continue // for CPUs
			}
			got, left, err := l.Search(t.Context(), r, q, goals)
			if err != nil {
				t.Fatalf("%v, %s: %v", metric, l.Name, err)
			}
			if len(left) != len(l.Looks) && !left[len(left)-1].None() {
				t.Errorf("%v, %s: %d looks taken", metric, l.Name, len(left))
			}
			for j := range got {
				for _, d := range o.Explain(s.Query(of[j]), goals[j], got[j], o.Answer(s.Query(of[j]), goals[j])) {
					if d.Kind != backendtest.Tie {
						t.Errorf("%v, %s, goal %d: %v", metric, l.Name, j, d)
					}
				}
				if !got[j].Complete() || got[j].Random && !l.Random || got[j].Dense != l.Dense && l.Dense {
					t.Errorf("%v, %s, goal %d: open %g, random %v, dense %v", metric, l.Name, j, got[j].OpenBound, got[j].Random, got[j].Dense)
				}
				for k, look := range got[j].Looks {
					if look.Seen > n || look.Survivors > n || k > 0 && look.Seen > got[j].Looks[k-1].Survivors {
						t.Errorf("%v, %s, goal %d: looks %+v", metric, l.Name, j, got[j].Looks)
					}
				}
			}
		}
		// contexts that end
		l := backendtest.Ladders(c, 1e-12)[2]
		for k, stopped := 0, true; stopped; k += 1 + k/3 {
			ctx := backendtest.NewCountdown(k, context.DeadlineExceeded)
			got, _, err := l.Search(ctx, r, q, goals)
			stopped = ctx.Ended()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				continue
			}
			for j := range got {
				ds := o.Explain(s.Query(of[j]), goals[j], got[j], o.Answer(s.Query(of[j]), goals[j]))
				if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 {
					t.Errorf("%v, stopped after %d, goal %d, open %g: %v", metric, k, j, got[j].OpenBound, ds)
				}
			}
		}
		shut(t, "resident", r.Close)
	}
}

// TestShardLost checks that a search fails if one device is lost.
func TestShardLost(t *testing.T) {
	b := several(t)
	e := newErrand(t, 1400, 48)
	r, err := b.Load(t.Context(), e.c)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := e.run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	e.check(t, answers)
	for _, n := range []string{"1", "7"} {
		t.Setenv(failVariable, "cuLaunchKernel:"+n+":719")
		_, err = e.run(t.Context(), r)
		t.Setenv(failVariable, "")
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	}
	shut(t, "resident", r.Close)
	shut(t, "backend", b.Close)
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/internal/vectors"
)

// openStarting opens the backend on the first device with starts of one strip, in collections of any size: the sets of
// the conformance suite have at most a few strips.
func openStarting(t testing.TB) *Backend {
	t.Helper()
	b := open(t, Options{}).(*Backend)
	shortStarts(b)
	return b
}

func shortStarts(b *Backend) {
	for _, m := range b.machines {
		m.startAtoms, m.startLeast = looks.StripAtoms, 1
	}
}

// TestBackendStarts is the conformance suite with starts; `make test-cuda` runs a small part, `make suite-cuda` all.
func TestBackendStarts(t *testing.T) {
	p := part()
	p.Of *= 9
	backendtest.RunPart(t, func() backend.Backend { return openStarting(t) }, p)
}

// TestGoalsStart: goals with ceilings, lists of atoms, first atoms and candidates, with starts.
func TestGoalsStart(t *testing.T) {
	backendtest.Goals(t, func() backend.Backend { return openStarting(t) }, goalsPart())
}

// TestListsStart: the device's lists and scores equal those of the other backends with starts, too.
func TestListsStart(t *testing.T) {
	if !myTurn(0) {
		t.Skip("another order of threads has it")
	}
	backendtest.Lists(t, func() backend.Backend { return openStarting(t) })
}

// TestStart searches with every kind of goal, for some of which no look may have a start, in every metric, on one device
// and on three: answers differ from the oracle's by ties only, also if a context ends, and answers and figures of a
// query are the same alone as in the batch.
func TestStart(t *testing.T) {
	const n, dim = 1400, 96
	rng := vectors.Rand(61)
	s := &backendtest.Set{Name: "power-law", Dim: dim, Rows: vectors.PowerLaw(rng, n, dim), Queries: vectors.PowerLaw(rng, 2, dim)}
	metrics := []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}
	for k := range 2 * len(metrics) {
		if !myTurn(k) {
			continue
		}
		b := open(t, Options{}).(*Backend)
		if k >= len(metrics) {
			shut(t, "backend", b.Close)
			b = several(t)
		}
		shortStarts(b)
		c, err := collection.Build(t.Context(), s.Rows, dim, &collection.Options{Seed: 2, Metric: metrics[k%len(metrics)]})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		o := backendtest.NewOracle(c)
		q, goals, of := asks(s, o)
		check := func(what string, j int, a backend.Answer, stopped bool) {
			t.Helper()
			for _, d := range o.Explain(s.Query(of[j]), goals[j], a, o.Answer(s.Query(of[j]), goals[j])) {
				if d.Kind != backendtest.Tie && !(stopped && d.Kind == backendtest.StillOpen) {
					t.Errorf("%v, %s, goal %d, open %g: %v", c.Metric, what, j, a.OpenBound, d)
				}
			}
		}
		for turn, l := range backendtest.Ladders(c, 1e-12) {
			if len(l.Looks) > 0 && l.Looks[0].Rep == backend.SignPanels {
				continue // for CPUs
			}
			got, _, err := l.Search(t.Context(), r, q, goals)
			if err != nil {
				t.Fatalf("%v, %s: %v", c.Metric, l.Name, err)
			}
			for j := range got {
				check(l.Name, j, got[j], false)
			}
			if turn%3 != k%3 || k >= len(metrics) {
				continue
			}
			for j := range got {
				alone, _, err := l.Search(t.Context(), r, backend.Queries{M: 1, Dim: dim, Data: q.Row(j)}, goals[j:j+1])
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(alone[0], got[j]); d != "" {
					t.Errorf("%v, %s, goal %d (-alone +batch):\n%s", c.Metric, l.Name, j, d)
				}
			}
		}
		l := backendtest.Ladders(c, 1e-12)[2]
		for k, stopped := 0, true; stopped; k += 1 + k/3 {
			ctx := backendtest.NewCountdown(k, context.DeadlineExceeded)
			got, _, err := l.Search(ctx, r, q, goals)
			stopped = ctx.Ended()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			for j := range got {
				check("stopped", j, got[j], true)
			}
		}
		shut(t, "resident", r.Close)
		shut(t, "backend", b.Close)
	}
}

// kernelsOf returns the kernels that f launches on r's device, in order.
func kernelsOf(t *testing.T, r backend.Resident, f func()) (names []string) {
	t.Helper()
	m, before := r.(*resident).m, true
	m.onLaunch = func(_ *queue, name string) error {
		if before {
			names = append(names, name)
		}
		before = !before
		return nil
	}
	defer func() { m.onLaunch = nil }()
	f()
	return names
}

// TestStartOfFirstLook: a search of a collection of the least size for a start, as users have it: which kernels run,
// with a start and without one, and what is counted of the atoms.
func TestStartOfFirstLook(t *testing.T) {
	needEmulator(t)
	if !myTurn(2) {
		t.Skip("another order of threads has it")
	}
	const n, dim = startLeast, 136
	rng := vectors.Rand(62)
	s := &backendtest.Set{Name: "gaussian", Dim: dim, Rows: vectors.Gaussian(rng, n, dim), Queries: vectors.Gaussian(rng, 2, dim)}
	c, err := collection.Build(t.Context(), s.Rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	o := backendtest.NewOracle(c)
	few, fewAllowed := o.Filter(func(row int) bool { i := o.Internal(row); return i < 100 || i >= 3*512 && i < 3*512+200 || i > n-50 })
	panels := backend.Look{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12}
	whole := backend.Look{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}
	plain := backend.Goal{K: 10, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
	chunk := []string{"scan_seen", "scan_s8", "tighten"}
	begin := []string{"dense_load", "scan_seen", "dense_tf32", "tighten"}
	mixed := []string{"mixed_codes", "scan_seen", "scan_mixed", "scan_s8", "tighten"}
	for _, x := range []struct {
		name   string
		goals  func(*backend.Goal)
		look   func(*backend.Look)
		want   []string // the kernels between look_begin and look_end
		starts int      // atoms of the start that are read
	}{
		{"k 10", nil, nil, slices.Concat(begin, chunk, chunk), startAtoms},
		{"k 1", func(g *backend.Goal) { g.K = 1 }, nil, slices.Concat(begin, chunk, chunk), startAtoms},
		{"the greatest k with a start", func(g *backend.Goal) { g.K = startMost }, func(l *backend.Look) { l.FirstChunk = startAtoms }, slices.Concat(begin, chunk, chunk), startAtoms},
		{"mixed codes", nil, func(l *backend.Look) { l.Rep = backend.Mixed }, slices.Concat([]string{"mix_queries", "mixed_codes"}, begin, mixed, mixed), startAtoms},
		{"a greater k", func(g *backend.Goal) { g.K = startMost + 1 }, nil, nil, 0},
		{"more atoms than a start has", func(g *backend.Goal) { g.K = startAtoms + 904 }, func(l *backend.Look) { l.FirstChunk = 4 * (startAtoms + 904) / 64 * 64 }, nil, 0},
		{"a first chunk beyond a start", nil, func(l *backend.Look) { l.FirstChunk = startAtoms + 64 }, slices.Concat(chunk, chunk, chunk), 0},
		{"from the second strip on", func(g *backend.Goal) { g.From, g.Allowed = 512, n-512 }, nil, slices.Concat(chunk, chunk, chunk), 0},
		{"a range", func(g *backend.Goal) { g.K, g.Floor = 0, 12 }, nil, nil, 0},
		// Two strips of the start with allowed atoms, merged with those between them, and the last strip.
		{"a filter", func(g *backend.Goal) { g.Filter, g.Allowed = few, fewAllowed }, nil, nil, 4 * 512},
	} {
		g, look := plain, panels
		if x.goals != nil {
			x.goals(&g)
		}
		if x.look != nil {
			x.look(&look)
		}
		l := backendtest.Ladder{Looks: []backend.Look{look, whole}}
		var got backend.Answers
		names := kernelsOf(t, r, func() {
			if got, _, err = l.Search(t.Context(), r, backend.Queries{M: 1, Dim: dim, Data: s.Query(0)}, []backend.Goal{g}); err != nil {
				t.Fatal(x.name, err)
			}
		})
		for _, d := range o.Explain(s.Query(0), g, got[0], o.Answer(s.Query(0), g)) {
			if d.Kind != backendtest.Tie {
				t.Errorf("%s: %v", x.name, d)
			}
		}
		first := names[slices.Index(names, "look_begin")+1 : slices.Index(names, "look_end")]
		if x.want != nil && !slices.Equal(first[max(0, len(first)-len(x.want)):], x.want) {
			t.Errorf("%s: kernels %v, want %v", x.name, first, x.want)
		}
		if starts := slices.Contains(first, "dense_tf32"); starts != (x.starts > 0) {
			t.Errorf("%s: a start is %v", x.name, starts)
		}
		a := got[0]
		if a.Dense || len(a.Looks) == 0 {
			t.Errorf("%s: dense %v, looks %+v", x.name, a.Dense, a.Looks)
			continue
		}
		read := a.Looks[0].Seen + a.Looks[0].Disallowed
		pulls, bytes := (c.R+look.To)*(read-x.starts)+dim*(x.starts+a.RowsScored), (c.R+look.To+12)*(read-x.starts)+4*dim*(x.starts+a.RowsScored)
		if look.Rep == backend.Mixed {
			bytes += (20 - (c.R+look.To)%32) * (read - x.starts)
		}
		for _, later := range a.Looks[1:] {
			pulls, bytes = pulls+(c.R+c.D)*later.Seen, bytes+(c.R+c.D+12)*later.Seen
		}
		if a.Looks[0].Seen != g.Allowed || a.Pulls != int64(pulls) || a.Bytes != int64(bytes) {
			t.Errorf("%s: %d atoms seen, %d read, %d coordinates and %d bytes; want %d and %d", x.name, a.Looks[0].Seen, read, a.Pulls, a.Bytes, pulls, bytes)
		}
	}
	// A smaller collection.
	small, err := collection.Build(t.Context(), s.Rows[:(n-1)*dim], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Load(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", p.Close)
	if p.(*resident).start != nil {
		t.Errorf("%d atoms have a start", n-1)
	}
}

// TestStartTogether: queries with and without a start in one batch, in any order, have the answers and figures that
// they have alone, and those with a start are in chunks of their own.
func TestStartTogether(t *testing.T) {
	needEmulator(t)
	w := newWide(t, 1300, 24)
	for j := range w.goals {
		switch {
		case j%4 == 1:
			w.goals[j].From, w.goals[j].Allowed = 300*j/4, 1300-300*j/4
		case j%4 == 3:
			w.goals[j].K, w.goals[j].Floor = startMost+1+j%2, math.Inf(-1)
		}
		w.goals[j].From = min(w.goals[j].From, 1100)
		w.goals[j].Allowed = 1300 - w.goals[j].From
	}
	for _, lists := range []int{0, 3} {
		b := openStarting(t)
		b.machines[0].maxLists = lists
		r, err := b.Load(t.Context(), w.c)
		if err != nil {
			t.Fatal(err)
		}
		q := backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}
		got, _, err := w.ladder.Search(t.Context(), r, q, w.goals)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			alone, _, err := w.ladder.Search(t.Context(), r, backend.Queries{M: 1, Dim: q.Dim, Data: q.Row(j)}, w.goals[j:j+1])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(alone[0], got[j]); d != "" {
				t.Errorf("%d lists at once, query %d of goal %+v (-alone +batch):\n%s", lists, j, w.goals[j], d)
			}
			for _, d := range w.oracle.Explain(w.set.Query(j), w.goals[j], got[j], w.oracle.Answer(w.set.Query(j), w.goals[j])) {
				if d.Kind != backendtest.Tie {
					t.Errorf("query %d: %v", j, d)
				}
			}
		}
		shut(t, "resident", r.Close)
		shut(t, "backend", b.Close)
	}
}

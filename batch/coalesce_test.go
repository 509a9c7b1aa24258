package batch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// TestCoalescerIdle: searches begin at once while fewer than Idle queries are answered.
func TestCoalescerIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, Idle: 2}, nil)
		defer l.close()
		a, b := l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))
		l.runs(1, 1)
		c, d := l.ask(t.Context(), l.one(3)), l.ask(t.Context(), l.one(4))
		l.runs(1, 1)
		l.gate.pass() // one may begin: both waiting searches run together
		l.runs(1, 1, 2)
		l.gate.open()
		for _, x := range []*pending{a, b, c, d} {
			if x.right(); x.took != 0 {
				t.Errorf("a search took %v of time that nobody spent", x.took)
			}
		}
		if l.ask(t.Context(), l.one(5)).right(); !slices.Equal(l.told.waited, make([]time.Duration, 5)) {
			t.Errorf("waited %v", l.told.waited)
		}
	})
}

// device is a backend without threads.
type device struct{ backend.Backend }

// TestCoalescerThreads: by default Idle is the number of threads, and 1 on a GPU.
func TestCoalescerThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := fixtureRows()
		c := build(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
		for _, x := range []struct {
			device bool
			want   []int
		}{
			{false, []int{1, 1, 1}},
			{true, []int{1}},
		} {
			g := newGate()
			g.Backend = cpu.New(cpu.Options{Threads: 3})
			b := backend.Backend(g)
			if x.device {
				b = device{g}
			}
			e, err := batch.Open(t.Context(), c, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := &coalescing{T: t, gate: g, Coalescer: batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Runs: 1}), engine: e, dim: fixtureDim, rows: rows}
			for j := range 5 {
				l.ask(t.Context(), l.one(j))
			}
			l.runs(x.want...)
			g.open()
			l.close()
		}
	})
}

// TestCoalescerApart: searches that waited together run separately if Idle has room for all of
// them.
func TestCoalescerApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, Idle: 2}, nil)
		defer l.close()
		large := l.one(0)
		large.Queries = l.rows[:3*l.dim]
		all := []*pending{l.ask(t.Context(), large), l.ask(t.Context(), l.one(3)), l.ask(t.Context(), l.one(4))}
		l.runs(3)
		l.gate.pass()
		l.runs(3, 1, 1)
		for range 3 { // these wait; Idle has room for two of them
			all = append(all, l.ask(t.Context(), l.one(10+len(all))))
		}
		l.runs(3, 1, 1)
		l.gate.pass()
		l.runs(3, 1, 1, 3)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerWindow: searches wait until their window, which starts with the first, ends,
// and then until a run ends.
func TestCoalescerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 2 * time.Millisecond
		l := newCoalescing(t, newGate(), nil, nil)
		defer l.close()
		a := l.ask(t.Context(), l.one(1))
		b := l.ask(t.Context(), l.one(2))
		time.Sleep(window - 1)
		c := l.ask(t.Context(), l.one(3))
		l.runs(1)
		time.Sleep(time.Nanosecond)
		l.runs(1, 2)
		d := l.ask(t.Context(), l.one(4)) // two runs are active
		time.Sleep(window + 3)
		l.runs(1, 2)
		l.gate.pass()
		l.runs(1, 2, 1)
		l.gate.open()
		for _, x := range []*pending{a, b, c, d} {
			x.right()
		}
		slices.Sort(l.told.waited)
		if want := []time.Duration{0, 1, window, window + 3}; !slices.Equal(l.told.waited, want) {
			t.Errorf("waited %v, want %v", l.told.waited, want)
		}
		if want := [][2]int{{1, 1}, {2, 2}, {1, 1}}; !slices.Equal(l.told.runs, want) {
			t.Errorf("told of runs %v, want %v", l.told.runs, want)
		}
	})
}

// TestCoalescerNatural: searches wait until the previous run ends, within their window.
func TestCoalescerNatural(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		all := []*pending{l.ask(t.Context(), l.one(0))}
		for round := range 3 {
			for j := range round + 2 {
				all = append(all, l.ask(t.Context(), l.one(10*round+j)))
				time.Sleep(time.Second)
			}
			l.gate.pass()
		}
		l.runs(1, 2, 3, 4)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerFull: full groups begin.
func TestCoalescerFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MaxQueries: 4}, nil)
		several := func(j, n int) batch.Request {
			req := l.one(j)
			req.Queries = l.rows[j*l.dim : (j+n)*l.dim]
			return req
		}
		all := []*pending{l.ask(t.Context(), l.one(0))}
		all = append(all, l.ask(t.Context(), several(10, 3)))
		l.runs(1)
		all = append(all, l.ask(t.Context(), several(20, 1))) // 4 together
		l.runs(1, 4)
		all = append(all, l.ask(t.Context(), several(30, 3)))
		l.runs(1, 4)
		all = append(all, l.ask(t.Context(), several(40, 2)))                                     // no room: those may go
		all = append(all, l.ask(t.Context(), several(50, 4)), l.ask(t.Context(), several(60, 9))) // as many as run together, and more
		l.runs(1, 4)
		for _, next := range [][]int{{1, 4, 3}, {1, 4, 3, 2}, {1, 4, 3, 2, 4}} { // for 2 the 4 had no room left, nor had others before
			l.gate.pass()
			l.runs(next...)
		}
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.runs(1, 4, 3, 2, 4, 9)
		l.close()
	})
}

// TestCoalescerRoom: a member that leaves a waiting group makes room for others.
func TestCoalescerRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MaxQueries: 3}, nil)
		defer l.close()
		ctx, cancel := context.WithCancel(t.Context())
		all := []*pending{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1))}
		left := l.ask(ctx, l.one(2))
		cancel()
		left.unseen(batch.Cancelled)
		all = append(all, l.ask(t.Context(), l.one(3)))
		l.runs(1)
		all = append(all, l.ask(t.Context(), l.one(4)))
		l.runs(1, 3)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerReferences: methods of reference implementations share no runs.
func TestCoalescerReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, rows := newGate(), fixtureRows()
		e, err := batch.Open(t.Context(), build(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		l := &coalescing{T: t, gate: g, Coalescer: batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1}), plain: e}
		defer l.Coalescer.Close()
		held := l.ask(t.Context(), batch.Request{Queries: rows[:fixtureDim], K: 1, Method: batch.Certain})
		beside := l.ask(t.Context(), batch.Request{Queries: rows[:fixtureDim], K: 1, Method: batch.BoundedME})
		if !beside.answered() {
			t.Error("a search that none can share waits for its window")
		}
		beside.right()
		g.open()
		held.right()
	})
}

// TestCoalescerGroups: searches with the same looks run together, whatever their goals;
// others run separately.
func TestCoalescerGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		with := func(j int, change func(*batch.Request)) *pending {
			req := l.one(j)
			change(&req)
			return l.ask(t.Context(), req)
		}
		least := -1.
		all := []*pending{l.ask(t.Context(), l.one(0)),
			with(1, func(r *batch.Request) {}),
			with(2, func(r *batch.Request) { r.Delta = .1 }),
			with(3, func(r *batch.Request) { r.K = 5 }),
			with(4, func(r *batch.Request) { r.Epsilon = .5 }),
			with(5, func(r *batch.Request) { r.Plan = "64,rescore" }),
			with(6, func(r *batch.Request) { r.Method, r.Part = batch.Auto, true }),
			with(7, func(r *batch.Request) { r.MinScore = &least }),
			with(8, func(r *batch.Request) { r.ExcludeSelf, r.SelfFirst = true, 8 }),
			with(9, func(r *batch.Request) { r.Method, r.Plan = batch.Exact, "" }),
			with(10, func(r *batch.Request) { r.Method, r.Plan, r.K, r.Delta = batch.Exact, "", 7, .3 }),
		}
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		// the first alone; then 1, 4, 6, 7 and 8; 2; 3; 5; 9 and 10
		l.runs(1, 5, 1, 1, 1, 2)
	})
}

// mixed returns random requests of every kind, in few enough variants for many to share a
// run.
func mixed(t *testing.T, e *batch.Engine, rows []float32, n int) []batch.Request {
	t.Helper()
	r, c := vectors.Rand(11), e.Collection()
	methods := batch.Methods()
	plans, err := e.Plans(batch.Request{Queries: rows[:c.Dim], K: 10})
	if err != nil {
		t.Fatal(err)
	}
	least := 3.
	if c.Metric == collection.Cosine {
		least = .4
	}
	if c.Metric == collection.Euclidean {
		least = 40
	}
	var all []batch.Request
	for range n {
		j, m := r.IntN(c.N-8), 1+r.IntN(3)
		req := batch.Request{Queries: rows[j*c.Dim : (j+m)*c.Dim], K: 1 + 9*r.IntN(2), Method: methods[r.IntN(len(methods))]}
		if r.IntN(3) > 0 { // common requests
			req.Method = methods[r.IntN(5)]
		}
		if len(plans) > 0 && r.IntN(6) == 0 {
			req.Method, req.Plan = batch.Auto, plans[r.IntN(len(plans))].Plan
		}
		switch r.IntN(8) {
		case 0:
			req.Filter = []int64{int64(j), int64(j) / 2, 3, 5, 8, 13, 21}
		case 1:
			req.Exclude = []int64{int64(j), int64(c.N - 1)}
		case 2:
			req.ExcludeSelf, req.SelfFirst = true, int64(j)
		case 3:
			req.MinScore = &least
		case 4:
			req.MinScore, req.K = &least, 0
		case 5:
			req.Epsilon, req.Relative = .05, true
		case 6:
			req.Delta = .2
		}
		if r.IntN(20) == 0 {
			req.K = c.N + 1 // a warning
		}
		if r.IntN(20) == 0 {
			req.Queries = req.Queries[1:] // refused
		}
		all = append(all, req)
	}
	return all
}

// TestCoalescerAnswers makes hundreds of different searches concurrently, with the engine
// blocked at first, so that they run together, and without. Every answer and certificate, or
// error, must be that of the engine alone.
func TestCoalescerAnswers(t *testing.T) {
	n := 240
	if testing.Short() {
		n = 80
	}
	for i, opt := range []collection.Options{
		{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Cosine}, {Seed: 1, Metric: collection.Euclidean},
		{Metric: collection.InnerProduct, Seed: 1, NoHead: true, KeepRotated: true},
		{Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw}, {Seed: 1, Basis: collection.Raw, Metric: collection.Cosine}, {Seed: 1, Basis: collection.Raw, Metric: collection.Euclidean},
		{Metric: collection.InnerProduct, Seed: 2},
	} {
		atoms, dim := 700, 48
		if i == 7 { // with looks at signs
			atoms, dim = 300, 770
		}
		rows := vectors.PowerLaw(vectors.Rand(3), atoms, dim)
		c := build(t, rows, dim, &opt)
		plain := over(t, c, 2, nil)
		requests := mixed(t, plain, rows, n)
		want, refused := make([]*batch.Response, n), make([]error, n)
		good := 0
		for i, req := range requests {
			if want[i], refused[i] = plain.Search(t.Context(), req); refused[i] == nil {
				good++
			}
		}
		ask := func(t *testing.T, c *batch.Coalescer) {
			var wg sync.WaitGroup
			for i, req := range requests {
				wg.Go(func() {
					got, err := c.Search(t.Context(), req)
					if err != nil || refused[i] != nil {
						if fmt.Sprint(err) != fmt.Sprint(refused[i]) {
							t.Errorf("%+v: error %v, alone %v", req, err, refused[i])
						}
						return
					}
					alike(t, want[i], got)
				})
			}
			wg.Wait()
		}
		t.Run(fmt.Sprintf("%v %v %d", opt.Metric, opt.Basis, dim), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, told := newGate(), &waits{}
				e, err := batch.Open(t.Context(), c, g, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				co := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1, MaxQueries: 16, Observer: told})
				defer co.Close()
				go func() { co.Search(t.Context(), batch.Request{Queries: rows[:dim], K: 1, Method: batch.Certain}) }()
				synctest.Wait()
				go func() { synctest.Wait(); g.open() }()
				ask(t, co)
				shared, most := 0, 0
				for _, r := range told.runs {
					if r[0] > 1 {
						shared += r[0]
					}
					most = max(most, r[1])
				}
				t.Logf("%d searches, %d refused; %d in shared runs of up to %d queries", n, n-good, shared, most)
				least := good / 2
				if opt.Basis == collection.Raw { // most methods share no runs there
					least = good / 8
				}
				if shared < least || most < 8 || most > 16 {
					t.Errorf("%d of %d searches shared runs, of up to %d queries; want %d of them, and runs of 8 to 16", shared, good, most, least)
				}
			})
			co := batch.NewCoalescer(plain, &batch.CoalescerOptions{Window: batch.DefaultWindow, Idle: 1})
			ask(t, co)
			co.Close()
		})
	}
}

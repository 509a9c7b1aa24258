//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/internal/vectors"
)

// endsAt returns a context that ends when r's device launches a kernel for the n-th time, so that
// the next check of the context stops the search. For a collection on several devices it never
// ends. The test must call unhook before another search on the device.
func endsAt(ctx context.Context, r backend.Resident, kernel string, n int) (amid context.Context, unhook func()) {
	amid, end := context.WithCancel(ctx)
	one, ok := r.(*resident)
	if !ok {
		return amid, end
	}
	launches := 0
	one.m.onLaunch = func(_ *queue, name string) error {
		if name == kernel {
			if launches++; launches == 2*n { // called before and after each launch
				end()
			}
		}
		return nil
	}
	return amid, func() {
		one.m.onLaunch = nil
		end()
	}
}

// strikes runs a ladder under contexts that end after so many checks; after each interruption some
// queries leave, two of them together with their best so far and two with all, until many have
// left.
type strikes struct {
	*wide
	every   int
	struck  int
	gone    []bool
	partial []bool
	chunks  int // chunks of queries whose lists are swapped, on one device
}

func (s *strikes) search(t *testing.T, r backend.Resident, q backend.Queries) backend.Answers {
	t.Helper()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("interrupted every %d: %v", s.every, err)
		}
	}
	begun, err := r.Begin(t.Context(), q, s.goals)
	fail(err)
	x := begun.(backend.Leaver)
	defer shut(t, "run", x.Close)
	s.struck, s.gone, s.partial = 0, make([]bool, q.M), make([]bool, q.M)
	got := make(backend.Answers, q.M)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	leave := func() {
		for k, ctx := range []context.Context{over, t.Context()} {
			var some []int // of both kinds of slots, and of every chunk
			for _, at := range []int{7*s.struck + k*q.M/2, 7*s.struck + k*q.M/2 + 3} {
				if j := at % q.M; !s.gone[j] {
					some = append(some, j)
				}
			}
			answers, err := x.Leave(ctx, some...)
			fail(err)
			for i, j := range some {
				got[j], s.gone[j], s.partial[j] = answers[i], true, k == 0
			}
		}
		s.struck++
	}
	for _, l := range s.ladder.Looks {
		for {
			ctx := context.Context(backendtest.NewCountdown(s.every, context.DeadlineExceeded))
			if 6*s.struck >= q.M {
				ctx = t.Context()
			}
			_, err := x.Pull(ctx, l)
			if !errors.Is(err, context.DeadlineExceeded) {
				fail(err)
				break
			}
			leave()
		}
	}
	if one, ok := begun.(*run); ok {
		s.chunks = len(one.chunks)
	}
	rest, err := x.Finish(t.Context())
	fail(err)
	for j := range rest {
		if !s.gone[j] {
			got[j] = rest[j]
		} else if d := cmp.Diff(backend.Answer{}, rest[j]); d != "" {
			t.Fatalf("interrupted every %d: query %d has left and is answered again:\n%s", s.every, j, d)
		}
	}
	return got
}

// TestLeaving has queries leave runs that contexts interrupt between the chunks of a scan, between
// chunks of queries whose lists are swapped, in the dense path, where lists overflow, and on
// several devices: queries that left have an answer whose bound covers everything better, and the
// others have the answers and figures of an uninterrupted run.
func TestLeaving(t *testing.T) {
	w := newWide(t, 1300, 24)
	for k, c := range []struct {
		name    string
		devices int
		share   float64 // that a first look may keep, or 0
		lists   int     // most lists at once, or 0
		room    int     // most entries of a list, or 0
		starts  bool    // first looks begin with a start
	}{
		{"one group", 1, 0, 0, 0, false},
		{"groups", 1, 0, 5, 0, false},
		{"several devices", 3, 0, 0, 0, false},
		{"dense path", 1, .003, 0, 0, false},
		{"short lists", 1, 0, 8, 1020, false},
		{"dense path in groups", 1, .003, 5, 0, false},
		{"start", 1, 0, 0, 0, true},
		{"start in groups", 1, 0, 5, 0, true},
		{"short lists after a start", 1, 0, 8, 500, true},
	} {
		if !myTurn(k) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var b *Backend
			if c.devices > 1 {
				b = several(t)
			} else {
				b = open(t, Options{}).(*Backend)
			}
			defer shut(t, "backend", b.Close)
			for _, m := range b.machines {
				m.maxPairs, m.maxLists, m.maxListRoom = 1, c.lists, c.room // one strip at a time
			}
			if c.starts {
				shortStarts(b)
			}
			r, err := b.Load(t.Context(), w.c)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, "resident", r.Close)
			q := backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}
			w.ladder.Looks[0].MaxSurvivors = c.share
			s := strikes{wide: w, every: 1 << 20}
			want := s.search(t, r, q)
			dense := 0
			for j := range want {
				if want[j].Dense {
					dense++
				}
			}
			if (c.share > 0 || c.room > 0) != (dense > 0) || dense == q.M || c.lists > 0 && s.chunks < 4 {
				t.Errorf("%d groups, %d of %d dense", s.chunks, dense, q.M)
			}
			most := 0
			for n, struck := 0, true; struck; n += 1 + n/2 {
				s.every = n
				got := s.search(t, r, q)
				struck, most = s.struck > 0, max(most, s.struck)
				for j := range got {
					ds := w.oracle.Explain(w.set.Query(j), w.goals[j], got[j], w.oracle.Answer(w.set.Query(j), w.goals[j]))
					if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 || !s.partial[j] && !got[j].Complete() {
						t.Fatalf("interrupted every %d, query %d, left %v, open %g: %v", n, j, s.gone[j], got[j].OpenBound, ds)
					}
					if s.gone[j] {
						continue
					}
					var work cmp.Option // interrupted dense scans start again
					if want[j].Dense {
						work = cmpopts.IgnoreFields(backend.Answer{}, "Pulls", "Bytes", "RowsScored")
					}
					if d := cmp.Diff(want[j], got[j], work); d != "" {
						t.Fatalf("interrupted every %d, query %d stayed (-alone +here):\n%s", n, j, d)
					}
				}
			}
			if most < 4 {
				t.Errorf("struck %d times at most", most)
			}
		})
	}
}

// newFlat returns a batch over atoms of equal norms, so that norms rule out none: the best of query
// j is atom 1500 + j.
func newFlat(t *testing.T, m int) *wide {
	const n, dim = 1600, 144
	rng := vectors.Rand(17)
	w := &wide{errand: errand{set: backendtest.Set{Name: "gaussian", Dim: dim, Rows: vectors.Gaussian(rng, n, dim)}}}
	var err error
	if w.c, err = collection.Build(t.Context(), w.set.Rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	for j := range m {
		w.set.Queries = append(w.set.Queries, w.set.Row(int(w.c.Order[1500+j]))...)
		w.goals = append(w.goals, backend.Goal{K: 1 + j%12, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
		if j%7 == 6 {
			w.goals[j].K, w.goals[j].Floor = 0, 30
		}
	}
	w.oracle = backendtest.NewOracle(w.c)
	w.ladder.Looks = []backend.Look{{Rep: backend.Panels, To: w.c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12}, {Rep: backend.RowCodes, To: w.c.D, Rule: backend.Cauchy}}
	return w
}

// begin loads the collection and begins the batch.
func (w *wide) begin(t *testing.T) (backend.Resident, func() backend.Leaver) {
	b := open(t, Options{})
	r, err := b.Load(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shut(t, "resident", r.Close)
		shut(t, "backend", b.Close)
	})
	return r, func() backend.Leaver {
		run, err := r.Begin(t.Context(), backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}, w.goals)
		if err != nil {
			t.Fatal(err)
		}
		return run.(backend.Leaver)
	}
}

// TestLeaveTells has queries leave during their first look: their figures are those of the look so
// far, and the atoms not seen are reported as open.
func TestLeaveTells(t *testing.T) {
	w := newFlat(t, 4)
	copy(w.set.Query(3), w.set.Row(int(w.c.Order[0]))) // its best has the greatest norm
	r, begin := w.begin(t)
	r.(*resident).m.maxPairs = 1 // one strip at a time
	x := begin()
	defer shut(t, "run", x.Close)
	amid, unhook := endsAt(t.Context(), r, "scan_s8", 1)
	in, err := x.Pull(amid, w.ladder.Looks[0])
	unhook()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("not stopped: %v", err)
	}
	one := x.(*run) // slots equal query numbers here
	for j, n := range in {
		if n == 0 {
			t.Errorf("query %d: no survivors of what nobody has seen", j)
		}
	}
	left, err := x.Leave(amid, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range []int{2, 0} {
		a := left[i]
		if len(a.Looks) != 1 || a.Looks[0].Seen != looks.StripAtoms || a.Complete() || len(a.IDs) != w.goals[j].K || a.Pulls <= int64(a.RowsScored*w.set.Dim) || a.RowsScored == 0 {
			t.Errorf("query %d: %+v; want %d atoms, and a look at %d", j, a, w.goals[j].K, looks.StripAtoms)
		}
		if best := w.oracle.Answer(w.set.Query(j), w.goals[j]).Scores[0]; a.OpenBound < best {
			t.Errorf("query %d: open up to %g, the best is %g", j, a.OpenBound, best)
		}
	}
	work := func() [4]uint64 {
		return [4]uint64{one.b.states[0].pulls, uint64(one.b.states[0].rows), one.b.states[2].pulls, uint64(one.b.states[2].rows)}
	}
	before := work()
	for _, j := range []int{2, 4, -1} {
		if _, err := x.Leave(t.Context(), j); err == nil {
			t.Errorf("query %d could leave", j)
		}
	}
	if err := x.Dense(t.Context(), 0, 2); err != nil {
		t.Errorf("dense for who has left: %v", err)
	}
	if one.queries[0].dense || one.queries[2].dense {
		t.Error("all atoms were scored for who has left")
	}
	if in, err = x.Pull(t.Context(), w.ladder.Looks[0]); err != nil {
		t.Fatal(err)
	}
	for j := range w.goals {
		if gone := j%2 == 0; gone != (in[j] == 0) {
			t.Errorf("query %d: %d survivors", j, in[j])
		}
	}
	if err := one.onDevice(t.Context(), func(q *queue) error { return one.drainSlots(t.Context(), q, unanswered, backend.QueryIndexes(0, 4)) }); err != nil {
		t.Fatal(err)
	}
	if after := work(); after != before {
		t.Errorf("who has left cost %d and then %d", before, after)
	}
	rest, err := x.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []int{1, 3} {
		if l := rest[j].Looks; len(l) != 1 || l[0].Seen != w.set.N() || !rest[j].Complete() {
			t.Errorf("query %d stayed: looks %+v, open %g", j, l, rest[j].OpenBound)
		}
	}
	if len(rest[0].IDs)+len(rest[2].IDs) > 0 {
		t.Error("who has left is answered again")
	}
}

// TestAnotherLook takes a look after a context interrupted another, which ends with its figures so
// far.
func TestAnotherLook(t *testing.T) {
	w := newFlat(t, 3)
	r, begin := w.begin(t)
	run := begin()
	defer shut(t, "run", run.Close)
	amid, unhook := endsAt(t.Context(), r, "tighten", 1)
	_, err := run.Pull(amid, w.ladder.Looks[0])
	unhook()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("not stopped: %v", err)
	}
	if _, err := run.Pull(t.Context(), w.ladder.Looks[1]); err != nil {
		t.Fatal(err)
	}
	got, err := run.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for j, a := range got {
		if l := a.Looks; len(l) != 2 || l[0].Look != w.ladder.Looks[0] || l[0].Seen != scanFirst || l[0].Survivors >= scanFirst || l[1].Look != w.ladder.Looks[1] {
			t.Errorf("query %d: looks %+v", j, l)
		}
		for _, d := range w.oracle.Explain(w.set.Query(j), w.goals[j], a, w.oracle.Answer(w.set.Query(j), w.goals[j])) {
			if d.Kind != backendtest.Tie || !a.Complete() {
				t.Errorf("query %d, open %g: %v", j, a.OpenBound, d)
			}
		}
	}
}

// TestSentAmidScan sends a query to the dense path in the first chunk of a scan that continues for
// others; its best atom is beyond that chunk, and the dense scan is interrupted. When it finishes
// or leaves, its answer must report the unseen atoms as open.
func TestSentAmidScan(t *testing.T) {
	w := newFlat(t, 2)
	w.ladder.Looks[0].MaxSurvivors = .003
	_, begin := w.begin(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	partial := 0
	for n, struck := 0, true; struck; n++ {
		run := begin()
		_, err := run.Pull(backendtest.NewCountdown(n, context.DeadlineExceeded), w.ladder.Looks[0])
		struck = errors.Is(err, context.DeadlineExceeded)
		if err != nil && !struck {
			t.Fatal(err)
		}
		left, err := run.Leave(over, 0)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := run.Finish(over)
		if err != nil {
			t.Fatal(err)
		}
		for j, a := range []backend.Answer{left[0], rest[1]} {
			ds := w.oracle.Explain(w.set.Query(j), w.goals[j], a, w.oracle.Answer(w.set.Query(j), w.goals[j]))
			if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 || !struck && !a.Dense {
				t.Errorf("struck after %d questions, query %d, dense %v, open %g: %v", n, j, a.Dense, a.OpenBound, ds)
			}
			if len(a.Looks) == 1 && a.Looks[0].Seen == scanFirst && !a.Dense {
				partial++
			}
		}
		shut(t, "run", run.Close)
	}
	if partial == 0 {
		t.Error("no dense scan was struck")
	}
}

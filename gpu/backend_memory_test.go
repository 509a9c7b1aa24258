//go:build cuda && cgo

package gpu

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/backend/looks"
	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
	"thresher/internal/vectors"
)

// wide is a batch of many queries, and a ladder for it.
type wide struct {
	errand
	ladder backendtest.Ladder
}

func newWide(t testing.TB, n, m int) *wide {
	const dim = 48
	w := &wide{errand: *newErrand(t, n, dim)}
	w.set.Queries = vectors.PowerLaw(vectors.Rand(12), m, dim)
	w.goals = nil
	for j := range m {
		g := backend.Goal{K: []int{1, 10, 40}[j%3], Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		if j%5 == 4 {
			g.K, g.Floor = 0, w.oracle.Answer(w.set.Query(j), backend.Goal{K: 8, Floor: g.Floor, Allowed: n, Ceiling: math.Inf(1)}).Scores[7]
		}
		w.goals = append(w.goals, g)
	}
	w.ladder = backendtest.Ladder{Looks: []backend.Look{
		{Rep: backend.Panels, To: w.c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12},
		{Rep: backend.RowCodes, To: w.c.D, Rule: backend.Cauchy}}}
	return w
}

// search runs the ladder on a fresh backend; with may change the backend before.
func (w *wide) search(t testing.TB, o Options, with func(*Backend)) backend.Answers {
	t.Helper()
	b := open(t, o).(*Backend)
	defer shut(t, "backend", b.Close)
	if with != nil {
		with(b)
	}
	r, err := b.Load(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	got, _, err := w.ladder.Search(t.Context(), r, backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}, w.goals)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func shut(t testing.TB, what string, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Errorf("closing the %s: %v", what, err)
	}
}

// TestChunksOfQueries checks that batches larger than the memory for lists are answered chunk by
// chunk, with the same answers and figures.
func TestChunksOfQueries(t *testing.T) {
	w := newWide(t, 1300, 40)
	whole := w.search(t, Options{}, nil)
	for _, memory := range []int64{1780 << 10, 1880 << 10} {
		var few int
		got := w.search(t, Options{Memory: memory}, func(b *Backend) {
			r, err := b.Load(t.Context(), w.c)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, "resident", r.Close)
			x, err := r.Begin(t.Context(), backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}, w.goals)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, "run", x.Close)
			if _, err := x.Pull(t.Context(), w.ladder.Looks[0]); err != nil {
				t.Fatal(err)
			}
			few = len(x.(*run).chunks)
		})
		if few < 3 {
			t.Errorf("%s of memory: %d groups", device.FormatBytes(memory), few)
		}
		if d := cmp.Diff(whole, got); d != "" {
			t.Errorf("%s of memory, %d groups (-whole +groups):\n%s", device.FormatBytes(memory), few, d)
		}
	}
}

// TestLocations checks that arrays that do not fit the device are in host memory, float32 rows
// first, with the same answers, and that a collection is refused with figures if that is not
// allowed.
func TestLocations(t *testing.T) {
	w := newWide(t, 6000, 10)
	whole := w.search(t, Options{}, nil)
	seen := map[string]bool{}
	var short int64 // a budget that rows do not fit
	for memory := int64(6 << 20); memory > 0; memory -= 256 << 10 {
		var log bytes.Buffer
		o := Options{Memory: memory, Devices: []int{0}, Log: slog.New(slog.NewTextHandler(&log, nil))}
		b := open(t, o)
		r, err := b.Load(t.Context(), w.c)
		if errors.Is(err, backend.ErrMemory) {
			seen["too little"] = true
			shut(t, "backend", b.Close)
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, codes := r.(*resident).rows.location(), r.(*resident).codes.location()
		seen[rows+" "+codes] = true
		if rows == "host" && codes == "device" {
			short = memory
		}
		if rows == "device" && codes == "host" {
			t.Errorf("%s of memory: codes lie in host memory, rows on the device", device.FormatBytes(memory))
		}
		if (rows == "host") != strings.Contains(log.String(), "rows=host") {
			t.Errorf("%s of memory, rows on the %s: log %s", device.FormatBytes(memory), rows, log.String())
		}
		shut(t, "resident", r.Close)
		shut(t, "backend", b.Close)
		if d := cmp.Diff(whole, w.search(t, o, nil)); d != "" {
			t.Errorf("%s of memory, rows on the %s, codes on the %s:\n%s", device.FormatBytes(memory), rows, codes, d)
		}
	}
	for _, want := range []string{"device device", "host device", "host host", "too little"} {
		if !seen[want] {
			t.Errorf("no memory made %s; seen %v", want, seen)
		}
	}
	b := open(t, Options{Memory: short, Host: -1})
	defer shut(t, "backend", b.Close)
	_, err := b.Load(t.Context(), w.c)
	if !errors.Is(err, backend.ErrMemory) || !strings.Contains(err.Error(), "of float32 rows") || !strings.Contains(err.Error(), "budget of "+device.FormatBytes(short)) {
		t.Errorf("without host memory: %v", err)
	}
	if n := b.(*Backend).machines[0].d.Usage().Used; n != 0 {
		t.Errorf("%d bytes stay allocated", n)
	}
}

// TestOverflow checks that queries whose lists overflow are answered by the dense path, which scans
// as many rows at a time as fit the lists.
func TestOverflow(t *testing.T) {
	w := newWide(t, 3000, 20)
	for _, room := range []int{16, 100, 1024} {
		got := w.search(t, Options{}, func(b *Backend) { b.machines[0].maxListRoom = room })
		dense := 0
		for j := range got {
			q := w.set.Query(j)
			for _, d := range w.oracle.Explain(q, w.goals[j], got[j], w.oracle.Answer(q, w.goals[j])) {
				if d.Kind != backendtest.Tie {
					t.Errorf("room for %d, query %d: %v", room, j, d)
				}
			}
			if got[j].Dense {
				dense++
			}
			if got[j].Dense && got[j].Random || !got[j].Complete() {
				t.Errorf("room for %d, query %d: random %v, open %g", room, j, got[j].Random, got[j].OpenBound)
			}
		}
		t.Logf("room for %d: %d of %d dense", room, dense, len(got))
		if room < 200 && dense == 0 {
			t.Errorf("room for %d: no query went dense", room)
		}
	}
}

// TestStops checks that a search whose context ends enqueues no more than the chunks in flight,
// that it waits for those, and that a look of few pairs needs one wait.
func TestStops(t *testing.T) {
	needEmulator(t)
	w := newWide(t, 8192, 8)
	b := open(t, Options{}).(*Backend)
	defer shut(t, "backend", b.Close)
	b.machines[0].maxPairs = 1 // one strip at a time
	r, err := b.Load(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	q := backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}
	launches := func(ctx context.Context) (n, waits uint64, err error) {
		run, err := r.Begin(t.Context(), q, w.goals)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, "run", run.Close)
		before, _ := emulator.Count("launches")
		waited, _ := emulator.Count("waits")
		_, err = run.Pull(ctx, w.ladder.Looks[0])
		after, _ := emulator.Count("launches")
		waits, _ = emulator.Count("waits")
		return after - before, waits - waited, err
	}
	all, waits, err := launches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strips := uint64(w.set.N() / looks.StripAtoms); waits < strips-2 {
		t.Errorf("%d waits for %d pieces, of which two are to be under way", waits, strips)
	}
	last := uint64(0)
	for n := 1; ; n++ {
		ctx := backendtest.NewCountdown(n, context.Canceled)
		some, _, err := launches(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || some > all+2 {
			t.Fatalf("stopped after %d: %d launches of %d, %v", n, some, all, err)
		}
		if some > last+16 {
			t.Errorf("stopped after %d: %d launches, %d when stopped before", n, some, last)
		}
		last = some
	}
	if last < all/2 {
		t.Errorf("at most %d launches of %d before an end of the context was seen", last, all)
	}
	b.machines[0].maxPairs = scanPairs
	if _, waits, err := launches(t.Context()); err != nil || waits > 4 {
		t.Errorf("a look takes %d waits, error %v", waits, err)
	}
}

// TestTogether searches one resident from several goroutines.
func TestTogether(t *testing.T) {
	w := newWide(t, 1300, 9)
	whole := w.search(t, Options{}, nil)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2 {
				got, _, err := w.ladder.Search(context.Background(), r, backend.Queries{M: w.set.M(), Dim: w.set.Dim, Data: w.set.Queries}, w.goals)
				if err != nil {
					t.Error(err)
					return
				}
				if d := cmp.Diff(whole, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
	wg.Wait()
}

// TestLoadStops checks that loading stops when its context ends.
func TestLoadStops(t *testing.T) {
	e := newErrand(t, 1200, 48)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	for n, stopped := 0, 0; ; n++ {
		r, err := b.Load(backendtest.NewCountdown(n, context.DeadlineExceeded), e.c)
		if err == nil {
			shut(t, "resident", r.Close)
			if stopped == 0 {
				t.Error("no context was asked")
			}
			break
		}
		stopped++
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if u := b.(*Backend).machines[0].d.Usage(); u.Used != 0 || u.Pinned != 0 {
			t.Fatalf("stopped after %d: %d bytes and %d of host memory stay allocated", n, u.Used, u.Pinned)
		}
	}
}

package tournaments

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"thresher/choice/duel"
	"thresher/internal/crashtest"
	"thresher/service/problem"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}

// clock is a clock set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)} }

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// house is a folder with a database and a Store, which can be reopened.
type house struct {
	*Store
	t     testing.TB
	path  string
	o     Options
	clock *clock
	db    *bbolt.DB
}

func newHouse(t testing.TB, o Options) *house {
	t.Helper()
	h := &house{t: t, path: filepath.Join(t.TempDir(), "meta.db"), o: o, clock: newClock()}
	h.o.Now = h.clock.time
	h.open()
	t.Cleanup(h.shut)
	return h
}

func (h *house) open() {
	h.t.Helper()
	var err error
	if h.db, err = bbolt.Open(h.path, 0o600, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second}); err != nil {
		h.t.Fatal(err)
	}
	if h.Store, err = Open(h.db, &h.o); err != nil {
		h.t.Fatal(err)
	}
}

// shut closes everything as a killed process does: logs are not replaced by snapshots.
func (h *house) shut() {
	h.t.Helper()
	if h.Store == nil {
		return
	}
	h.journal.close()
	if err := h.db.Close(); err != nil {
		h.t.Error(err)
	}
	h.Store = nil
}

func (h *house) reopen() {
	h.t.Helper()
	h.shut()
	h.open()
}

func arms(k int) []string {
	list := make([]string, k)
	for i := range list {
		list[i] = fmt.Sprint("arm ", i)
	}
	return list
}

func of[T any](x T) *T { return &x }

// online returns a tournament of k arms that ends soon.
func online(k int) Spec {
	return Spec{Arms: arms(k), Mode: string(duel.Online), Algorithm: string(duel.BeatTheMean), Horizon: of[int64](1e5)}
}

func (h *house) create(spec Spec) string {
	h.t.Helper()
	t, err := h.Create(context.Background(), spec, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return t.ID
}

func (h *house) next(id string, count int) []Duel {
	h.t.Helper()
	issued, err := h.Next(context.Background(), id, count, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return issued.Duels
}

func (h *house) report(id string, results ...duel.Result) Reported {
	h.t.Helper()
	r, err := h.Report(context.Background(), id, results, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) get(id string) Tournament {
	h.t.Helper()
	t, err := h.Get(context.Background(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// judged returns the result of a duel, always the same: in most, the lower number wins.
func judged(d Duel) duel.Result {
	var a, b int
	fmt.Sscanf(d.A, "arm %d", &a)
	fmt.Sscanf(d.B, "arm %d", &b)
	upset := d.ID*2654435761>>7%10 == 0
	return duel.Result{Duel: d.ID, AWon: (a < b) != upset}
}

// refused fails the test unless err is a problem of a kind, about a field and an index.
func refused(t rapid.TB, err error, kind problem.Kind, field string, index int) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s", kind)
		return
	}
	if p := problem.Of(err); p.Kind != kind || p.Field != field || p.Index != index {
		t.Errorf("%s, field %q, index %d; want %s, %q, %d: %v", p.Kind, p.Field, p.Index, kind, field, index, err)
	}
}

// Report takes results alone.
func (s *Store) Report(ctx context.Context, id string, results []duel.Result, lenient bool) (Reported, error) {
	report := make([]Verdict, len(results))
	for i, r := range results {
		report[i].Result = r
	}
	return s.Accept(ctx, id, report, lenient)
}

// Next asks for duels without a judge's name.
func (s *Store) Next(ctx context.Context, id string, count int, key string) (Duels, error) {
	return s.NextFor(ctx, id, "", count, key)
}

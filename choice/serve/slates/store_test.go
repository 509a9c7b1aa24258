package slates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/slate"
	"thresher/service/problem"
)

// TestRound issues a slate, accepts feedback, and finds both after a restart.
func TestRound(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 40)
	a, err := f.ask(v, `{"users":["ann",7],"k":3}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Slates) != 2 || a.Version != 1 || a.Slates[0].User != (ID{Name: "ann", Text: true}) || a.Slates[1].User != (ID{Int: 7}) {
		t.Fatalf("%+v", a)
	}
	ann := a.Slates[0]
	if len(ann.Items) != 3 || ann.Alpha <= 0 || ann.UCB <= 0 || ann.ID == a.Slates[1].ID {
		t.Fatalf("%+v", ann)
	}
	f.reopen()
	got, err := f.tell(ann.ID, 1, 0.5)
	if want := (Accepted{SlateAccepted: choiceapi.SlateAccepted{ID: ann.ID, User: ann.User, Rewards: 2, Observations: 2}, New: true, Sum: 1.5}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	// The state equals that of the regression alone.
	want, err := slate.NewEstimator(dim, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.prepare(t.Context(), "films", v)
	if err != nil {
		t.Fatal(err)
	}
	list := []int{int(ann.Items[0].ID.Int), int(ann.Items[1].ID.Int), int(ann.Items[2].ID.Int)}
	if err := want.Observe(p.plain.items, list, []float64{1, 0.5}); err != nil {
		t.Fatal(err)
	}
	text, err := want.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !bytes.Equal(f.bytesOf(t, "ann"), text) {
			t.Error("ann is known differently")
		}
		f.reopen()
	}
	if i := f.info(); i.Users != 1 || i.Slates != 2 {
		t.Errorf("%+v", i)
	}
	// A number is the same user as the text of its digits.
	if _, err := f.tell(a.Slates[1].ID, 1); err != nil {
		t.Fatal(err)
	}
	st, err := f.state("films", "7", model{dim, 1})
	if err != nil || st.estimator.Observations() != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestFeedbackIsTakenOnce(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 40)
	id := f.issue(v, `{"users":["ann"],"k":3}`)[0].ID
	one, err := f.tell(id, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.reopen()
	for range 2 {
		again, err := f.tell(id, 1, 0)
		one.New = false
		if err != nil || again != one {
			t.Errorf("%+v, %v; want %+v", again, err, one)
		}
	}
	for _, other := range [][]float64{{1, 1}, {1}, {1, 0, 0}} {
		_, err := f.tell(id, other...)
		wants(t, err, problem.Conflict, "rewards")
	}
	_, err = f.tell(id, 1, 0, 0, 0)
	wants(t, err, problem.OverLimit, "rewards")
	_, err = f.tell("slate-none", 1)
	wants(t, err, UnknownSlate, "slate_id")
	if st, err := f.state("films", "ann", model{dim, 1}); err != nil || st.estimator.Observations() != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	release := f.held("elsewhere")
	defer release()
	_, err = f.Store.Feedback(t.Context(), "elsewhere", []Feedback{{ID: id, Rewards: []float64{1, 0}}})
	wants(t, err, UnknownSlate, "slate_id")
}

// TestFeedbackTogether: feedback for several users and slates is accepted completely or not
// at all, repeated feedback too.
func TestFeedbackTogether(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 40)
	s := f.issue(v, `{"users":["a","b","a"],"k":3}`)
	all := []Feedback{{ID: s[0].ID, Rewards: []float64{1}}, {ID: s[1].ID, Rewards: []float64{0, 1}}, {ID: s[2].ID, Rewards: []float64{1, 1, 1}}}
	bad := append(slices.Clone(all), Feedback{ID: "slate-none", Rewards: []float64{1}})
	_, err := f.Store.Feedback(t.Context(), "films", bad)
	wants(t, err, UnknownSlate, "feedback")
	if p := problem.Of(err); p.Index != 3 {
		t.Errorf("%+v", p)
	}
	bad = append(slices.Clone(all), Feedback{ID: s[0].ID, Rewards: []float64{0}})
	_, err = f.Store.Feedback(t.Context(), "films", bad)
	wants(t, err, problem.Conflict, "feedback")
	if i := f.info(); i.Users != 0 {
		t.Errorf("%d users after feedback that was refused", i.Users)
	}
	got, err := f.Store.Feedback(t.Context(), "films", append(slices.Clone(all), all[0]))
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[2].Observations != 4 || got[1].Observations != 2 || !got[2].New || got[3].New || got[3].Observations != 1 {
		t.Errorf("%+v", got)
	}
	if i := f.info(); i.Users != 2 || i.Slates != 3 {
		t.Errorf("%+v", i)
	}
}

// TestKeyFindsTheSlates: the same request under a key gets the same slates, another is
// refused, and one whose slates were removed is a new request.
func TestKeyFindsTheSlates(t *testing.T) {
	now := &clock{time.Unix(1e9, 0)}
	f := open(t, Options{Now: now.Now, Keep: time.Hour})
	v := films(1, 40)
	if _, err := f.put(v, `{"items":[{"id":1,"costs":[9]},{"id":2,"costs":[1]},{"id":3,"costs":[1]}]}`); err != nil {
		t.Fatal(err)
	}
	const body = `{"users":["a","b"],"k":2,"budgets":[2]}`
	one, err := f.ask(v, body, "k")
	if err != nil {
		t.Fatal(err)
	}
	f.reopen()
	two, err := f.ask(films(2, 50), body, "k")
	one.Evaluations = 0
	if diff := cmp.Diff(one, two); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	_, err = f.ask(v, `{"users":["a"],"k":2}`, "k")
	wants(t, err, problem.KeyReused, "Idempotency-Key")
	if i := f.info(); i.Slates != 2 {
		t.Errorf("%+v", i)
	}
	now.now = now.now.Add(2 * time.Hour)
	f.issue(v, `{"users":["c"]}`)
	three, err := f.ask(v, body, "k")
	if err != nil || three.Slates[0].ID == one.Slates[0].ID {
		t.Errorf("%+v, %v", three, err)
	}
}

// TestSlatesAreForgotten: slates are removed by age and by number, the oldest first; states
// stay.
func TestSlatesAreForgotten(t *testing.T) {
	now := &clock{time.Unix(1e9, 0)}
	f := open(t, Options{Now: now.Now, Keep: time.Hour, Slates: 5})
	v := films(1, 40)
	var ids []string
	for range 5 {
		ids = append(ids, f.issue(v, `{"users":["a"],"k":2}`)[0].ID)
		now.now = now.now.Add(time.Minute)
	}
	if _, err := f.tell(ids[0], 1); err != nil {
		t.Fatal(err)
	}
	f.issue(v, `{"users":["b"],"k":2}`)
	_, err := f.tell(ids[0], 1)
	wants(t, err, UnknownSlate, "slate_id")
	if _, err := f.tell(ids[1], 1); err != nil {
		t.Error(err)
	}
	now.now = now.now.Add(time.Hour - 2*time.Minute)
	_, err = f.tell(ids[1], 1) // it exists, but has expired
	wants(t, err, UnknownSlate, "slate_id")
	if _, err := f.tell(ids[4], 1); err != nil {
		t.Error(err)
	}
	f.issue(v, `{"users":["c"],"k":2}`)
	if i := f.info(); i.Slates != 4 || i.Users != 1 {
		t.Errorf("%+v", i)
	}
	f.reopen()
	if st, err := f.state("films", "a", model{dim, 1}); err != nil || st.estimator.Observations() != 3 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestVersions: a version of the same dimension keeps the states, and slates of the previous
// version accept feedback; another dimension is a conflict until everything is deleted.
func TestVersions(t *testing.T) {
	f := open(t, Options{})
	old := films(1, 40)
	id := f.issue(old, `{"users":["a"],"k":3}`)[0].ID
	if _, err := f.ask(films(2, 50), `{"users":["a"]}`, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := f.tell(id, 1, 1, 0); err != nil {
		t.Fatal(err)
	}
	wider := films(3, 40)
	wider.dim = 8
	_, err := f.ask(wider, `{"users":["a"]}`, "")
	wants(t, err, problem.Conflict, "name")
	_, err = f.put(wider, `{}`)
	wants(t, err, problem.Conflict, "name")
	_, err = f.put(old, `{"lambda":2}`)
	wants(t, err, problem.Conflict, "lambda")
	called := false
	if err := f.Drop(t.Context(), "films", func() error { called = true; return nil }); err != nil || !called {
		t.Fatal(err, called)
	}
	_, err = f.tell(id, 1, 1, 0)
	wants(t, err, UnknownSlate, "slate_id")
	if _, err := f.ask(wider, `{"users":["a"]}`, ""); err != nil {
		t.Error(err)
	}
	if i := f.info(); i.Users != 0 || i.Slates != 1 {
		t.Errorf("%+v", i)
	}
	failed := errors.New("no")
	if err := f.Drop(t.Context(), "nothing", func() error { return failed }); err != failed {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	f := open(t, Options{})
	f.issue(films(1, 10), `{"users":["a"]}`)
	if err := f.Sweep([]string{"other"}); err != nil || f.info().Slates != 1 {
		t.Error(err)
	}
	if err := f.Sweep([]string{"films", "other"}); err != nil || f.info().Slates != 0 {
		t.Error(err)
	}
}

// FuzzRecords decodes anything with a correct checksum as each of the records.
func FuzzRecords(f *testing.F) {
	h := &issuedSlate{user: ID{Name: "ann", Text: true}, at: time.Unix(1, 0), picks: []Pick{{ID: ID{Int: 7}}}, rows: []float32{1, 2}}
	for _, text := range [][]byte{h.encode(nil), (&feedback{"s", []float32{1}, []float64{1}}).encode(nil), (&savedState{3, []byte("state")}).encode(nil)} {
		f.Add(text[:len(text)-4])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = sealed(nil, slices.Clone(text))
		var h issuedSlate
		if h.decode(nil, text) == nil && len(h.picks)*26+len(h.rows)*4+len(h.rewards)*8 > len(text) {
			t.Fatal("more was read than there is")
		}
		var fb feedback
		if fb.decode(nil, text) == nil && len(fb.rows)*4+len(fb.rewards)*8 > len(text) {
			t.Fatal("more was read than there is")
		}
		var k savedState
		if k.decode(nil, text) == nil && len(k.state) > len(text) {
			t.Fatal("more was read than there is")
		}
	})
}

// TestDeadline: no slates are made after the end of the context.
func TestDeadline(t *testing.T) {
	f := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := DecodeRequest([]byte(`{"users":["a"]}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.held("films")()
	if _, err := f.Recommend(ctx, "films", films(1, 10), req, "", ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConcurrently: many clients request slates and give feedback for few users in little
// memory; each reward counts once.
func TestConcurrently(t *testing.T) {
	const memory = 40*(40*dim+8) + 3*perEntry // of the items, and of two users
	f := open(t, Options{Logged: 3, Memory: memory})
	v := films(1, 40)
	const clients, rounds, users = 8, 12, 3
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for n := range rounds {
				body := fmt.Sprintf(`{"users":["u%d","u%d"],"k":2}`, (c+n)%users, (c+n+1)%users)
				a, err := f.ask(v, body, "")
				if err != nil {
					t.Error(err)
					return
				}
				all := []Feedback{{ID: a.Slates[0].ID, Rewards: []float64{1, 0}}, {ID: a.Slates[1].ID, Rewards: []float64{0.5}}}
				for range 2 {
					if _, err := f.Store.Feedback(t.Context(), "films", all); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for range 2 {
		var total int64
		for u := range users {
			st, err := f.state("films", fmt.Sprint("u", u), model{dim, 1})
			if err != nil {
				t.Fatal(err)
			}
			total += st.estimator.Observations()
		}
		if total != clients*rounds*3 {
			t.Errorf("%d observations, want %d", total, clients*rounds*3)
		}
		f.reopen()
	}
	if f.Bytes() > memory {
		t.Errorf("%d bytes in memory", f.Bytes())
	}
}

// TestKeyAtOnce: of concurrent requests under one key one makes slates.
func TestKeyAtOnce(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 40)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			a, err := f.ask(v, `{"users":["a"],"k":2}`, "k")
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = a.Slates[0].ID
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if all := slices.Compact(ids); len(all) != 1 || f.info().Slates != 1 {
		t.Errorf("%q", all)
	}
}

// TestLogsEnd: a log is empty once its feedback is in a state.
func TestLogsEnd(t *testing.T) {
	f := open(t, Options{Logged: 2})
	v := films(1, 40)
	for n := range 8 {
		if _, err := f.tell(f.issue(v, `{"users":["a"],"k":2}`)[0].ID, 1); err != nil {
			t.Fatal(err)
		}
		logged := 0
		err := f.db.View(func(tx *bbolt.Tx) error {
			return findRecords(tx, "films").sub(logsBucket).ForEach(func(_, _ []byte) error { logged++; return nil })
		})
		if err != nil || logged != (n+1)%3 {
			t.Errorf("%d records after %d feedbacks, %v", logged, n+1, err)
		}
	}
}

// TestCache: the least recently used value is evicted first, and a value read before a change
// is not cached after it.
func TestCache(t *testing.T) {
	c := newCache(3*(perEntry+1) + 30)
	key := func(name string) cacheKey { return cacheKey{user: name} }
	has := func(names string) {
		t.Helper()
		got := ""
		for e := c.order.Front(); e != nil; e = e.Next() {
			got += e.Value.(*cached).key.user
		}
		if got != names {
			t.Errorf("the cache has %q, want %q", got, names)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		c.insertUnchanged(key(name), name, 10, 0, 0)
	}
	has("cba")
	c.get(key("a"))
	c.insertUnchanged(key("d"), "d", 10, 0, 0)
	has("dac")
	c.insertUnchanged(key("e"), "e", 20, 0, 0)
	has("ed")
	seen := c.seen(0)
	c.change(key("d"), "new", 10, 0)
	c.insertUnchanged(key("d"), "old", 10, 0, seen)
	if d, _ := c.get(key("d")); d != "new" {
		t.Errorf("%v is kept", d)
	}
	c.change(key("d"), nil, 0, 0)
	has("e")
	c.dropCollection("")
	if has(""); c.used() != 0 {
		t.Errorf("%d bytes of nothing", c.used())
	}
}

// TestRecords: an encoded record is decoded to the same value, and a truncated or extended
// one is refused.
func TestRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	floats := func(n int) []float64 {
		var all []float64
		for range n {
			all = append(all, r.NormFloat64())
		}
		return all
	}
	for range 50 {
		h := &issuedSlate{
			user: ID{Name: strings.Repeat("é", r.IntN(9)), Text: true}, version: r.Int64(), at: time.Unix(0, r.Int64()).UTC(), algo: AFSM,
			picks: []Pick{}, ucb: r.NormFloat64(), rho: r.NormFloat64(), alpha: r.Float64(), rewards: floats(r.IntN(3)), observations: r.Int64(),
		}
		if r.IntN(2) == 0 {
			h.user = ID{Int: r.Int64() - r.Int64()}
		}
		for range r.IntN(4) {
			h.picks = append(h.picks, Pick{ID: ID{Int: -r.Int64()}, Mean: r.Float64(), Width: r.Float64(), Value: r.Float64()})
			h.rows = append(h.rows, r.Float32())
		}
		text := h.encode([]byte("k"))
		var got issuedSlate
		if err := got.decode([]byte("k"), text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, &got, cmp.AllowUnexported(issuedSlate{})); diff != "" {
			t.Fatal(diff)
		}
		if err := new(issuedSlate).decode([]byte("other"), text); err == nil {
			t.Fatal("a record is read under another's key")
		}
		for i := range len(text) {
			cutShort := sealed([]byte("k"), slices.Clone(text[:i]))
			if i < len(text)-4 {
				if err := new(issuedSlate).decode([]byte("k"), cutShort); err == nil {
					t.Fatalf("%d of %d bytes are read", i, len(text))
				}
			}
		}
		if err := new(issuedSlate).decode([]byte("k"), sealed([]byte("k"), append(slices.Clone(text[:len(text)-4]), 0))); err == nil {
			t.Fatal("a record that is longer is read")
		}
	}
}

package fair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// model is a queue whose uses a test begins and ends itself.
type model struct {
	*Queue
	waiting map[*waiter]string
	using   map[*waiter]string
}

func newModel(o QueueOptions) *model {
	return &model{NewQueue(o), map[*waiter]string{}, map[*waiter]string{}}
}

// enter adds a waiting use of a client, and pumps the queue.
func (m *model) enter(name string, size int64) *waiter {
	w := m.wait(&Use{q: m.Queue, client: name}, size)
	m.waiting[w] = name
	m.pump()
	return w
}

// moved returns the uses that were admitted and those that were refused since the last call, the oldest
// first.
func (m *model) moved() (began, refused []*waiter) {
	for _, w := range byAge(m.waiting) {
		select {
		case <-w.over:
		default:
			continue
		}
		name := m.waiting[w]
		delete(m.waiting, w)
		if w.err != nil {
			refused = append(refused, w)
			continue
		}
		m.using[w] = name
		began = append(began, w)
	}
	return began, refused
}

// byAge returns uses in the order in which they came.
func byAge(all map[*waiter]string) []*waiter {
	return slices.SortedFunc(maps.Keys(all), func(a, b *waiter) int { return cmp.Compare(a.seq, b.seq) })
}

// oldest returns the first use of a client among these, nil if there is none.
func oldest(all map[*waiter]string, name string) (first *waiter) {
	for w, n := range all {
		if n == name && (first == nil || w.seq < first.seq) {
			first = w
		}
	}
	return first
}

func (m *model) leave(w *waiter) {
	delete(m.using, w)
	w.use.Leave()
}

// TestFair: of two clients that both wait all the time, neither receives more than the other
// by more than one use of each; the capacity is respected; every waiter is served eventually,
// and one that withdraws leaves nothing behind.
func TestFair(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const largest = 10
		capacity := rapid.Int64Range(largest, 30).Draw(r, "capacity")
		m := newModel(QueueOptions{Capacity: capacity, Largest: largest, MaxWaiting: -1})
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(2, 4).Draw(r, "clients")]
		sizes := map[string]int64{}
		given := map[string]int64{}
		// for a waiting pair of clients: how much more the first has received since both wait
		type pair struct{ a, b string }
		ahead := map[pair]int64{}
		waits := func(name string) bool {
			c := m.clients[name]
			return c != nil && len(c.queue) > 0
		}
		for range rapid.IntRange(10, 300).Draw(r, "steps") {
			both := map[pair]bool{}
			for _, a := range names {
				for _, b := range names {
					both[pair{a, b}] = a != b && waits(a) && waits(b)
				}
			}
			name := rapid.SampledFrom(names).Draw(r, "client")
			switch action := rapid.IntRange(0, 5).Draw(r, "action"); {
			case action <= 2:
				size := rapid.Int64Range(1, 14).Draw(r, "size") // some are charged more than they take
				sizes[name] = max(sizes[name], size)
				m.enter(name, size)
			case action == 3: // one withdraws
				if w := oldest(m.waiting, name); w != nil {
					if !m.withdraw(w) {
						t.Fatal("who waits could not give up")
					}
					delete(m.waiting, w)
				}
			default:
				if w := oldest(m.using, name); w != nil {
					m.leave(w)
				}
			}
			began, refused := m.moved()
			if len(refused) > 0 {
				t.Fatal("refused where any number may wait")
			}
			for _, w := range began {
				given[w.use.client] += w.size
				for p := range both {
					switch w.use.client {
					case p.a:
						ahead[p] += w.size
					case p.b:
						ahead[p] -= w.size
					}
				}
			}
			for p, waited := range both {
				if !waited || !waits(p.a) || !waits(p.b) {
					ahead[p] = 0
					continue
				}
				if most := sizes[p.a] + sizes[p.b]; ahead[p] > most {
					t.Fatalf("%s was given %d more than %s while both waited; their largest are %d and %d", p.a, ahead[p], p.b, sizes[p.a], sizes[p.b])
				}
			}
			var used int64
			for w := range m.using {
				used += min(w.size, largest)
			}
			if used != m.used || used > capacity {
				t.Fatalf("%d used, the queue says %d of %d", used, m.used, capacity)
			}
			if len(m.waiting) != m.Queue.waiting {
				t.Fatalf("%d wait, the queue says %d", len(m.waiting), m.Queue.waiting)
			}
			for w := range m.waiting {
				if m.used == 0 || m.used+min(w.size, largest) <= capacity && len(m.waiting) == 1 {
					t.Fatalf("one of size %d waits while %d of %d are used", w.size, m.used, capacity)
				}
			}
		}
		for len(m.using) > 0 { // no starvation
			m.leave(byAge(m.using)[0])
			m.moved()
		}
		if len(m.waiting) > 0 || len(m.clients) > 0 || m.used != 0 || len(m.active) > 0 {
			t.Fatalf("at the end %d wait, %d clients are known, %d is used", len(m.waiting), len(m.clients), m.used)
		}
	})
}

// TestSwapKeepsShare: a client with one use at a time, which enters again as it ends, gets
// half of the capacity next to one with many waiting.
func TestSwapKeepsShare(t *testing.T) {
	m := newModel(QueueOptions{Capacity: 20, Largest: 10, MaxWaiting: -1})
	for range 100 {
		m.enter("many", 10)
	}
	one := m.enter("one", 10)
	under, _ := m.moved() // oldest first
	given := map[string]int{}
	for range 60 {
		ends := under[0]
		delete(m.using, ends)
		if ends == one {
			m.release(ends.use)
			one = m.wait(ends.use, 10)
			m.waiting[one] = "one"
			m.pump()
		} else {
			ends.use.Leave()
		}
		began, _ := m.moved()
		under = append(under[1:], began...)
		for _, w := range began {
			given[w.use.client]++
		}
	}
	if given["one"] < 28 {
		t.Errorf("given %v; want about half for each", given)
	}
}

// TestFull: beyond MaxWaiting, the newest use of the client with the most waiting is
// refused.
func TestFull(t *testing.T) {
	m := newModel(QueueOptions{Capacity: 1, MaxWaiting: 3})
	m.enter("a", 1)
	m.moved()
	var all []*waiter
	for range 3 {
		all = append(all, m.enter("a", 1))
	}
	if _, refused := m.moved(); len(refused) > 0 {
		t.Fatal("refused while there is room to wait")
	}
	late := m.enter("a", 1)
	if _, refused := m.moved(); len(refused) != 1 || refused[0] != late || !errors.Is(late.err, ErrFull) {
		t.Fatalf("%v; want the last refused", refused)
	}
	b := m.enter("b", 1)
	if _, refused := m.moved(); len(refused) != 1 || refused[0] != all[2] {
		t.Fatalf("%v; want the newest of the client with most waiting refused", refused)
	}
	if m.waiting[b] == "" {
		t.Error("a client with nothing waiting was refused")
	}
}

// TestFloor: a client without any use gets a small one even if no capacity is free.
func TestFloor(t *testing.T) {
	m := newModel(QueueOptions{Capacity: 2, Floor: 1, MaxWaiting: -1})
	for range 5 {
		m.enter("a", 1)
	}
	first, large := m.enter("b", 1), m.enter("c", 2)
	m.enter("b", 1)
	m.moved()
	if m.using[first] == "" {
		t.Error("b, which has none, waits")
	}
	if m.waiting[large] == "" || len(m.using) != 3 {
		t.Errorf("%d uses, want 2 of a and one of b", len(m.using))
	}
}

// TestEnter: a waiter is admitted when a use is released, and a context ends waiting.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		q := NewQueue(QueueOptions{Capacity: 1, MaxWaiting: -1, Waited: func(d time.Duration) { waited = append(waited, d) }})
		first, err := q.Enter(t.Context(), "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Enter(ctx, "b", 1); !errors.Is(err, context.DeadlineExceeded) || q.Waiting() != 0 {
			t.Errorf("%v, %d wait", err, q.Waiting())
		}
		done := make(chan error)
		go func() {
			u, err := q.Enter(t.Context(), "b", 1)
			u.Leave()
			done <- err
		}()
		time.Sleep(time.Minute)
		if q.Waiting() != 1 || q.Used() != 1 {
			t.Errorf("%d wait, %d used", q.Waiting(), q.Used())
		}
		first.Leave()
		first.Leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(waited); got != "[0s 1m0s]" {
			t.Errorf("waited %s", got)
		}
		if q.Used() != 0 || len(q.clients) > 0 {
			t.Errorf("%d used, %d clients", q.Used(), len(q.clients))
		}
	})
}

// TestTurns: short work does not wait for long work, of which two lengths are admitted at
// most; and a search holds one turn at a time.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[Class]int{}
		turns := NewTurns(20*time.Millisecond, func(c Class, d time.Duration) { told[c]++ })
		a, b := turns.Of("a"), turns.Of("b")
		for _, u := range []*Turn{a, b} {
			if err := u.Next(t.Context(), time.Second); err != nil { // it takes one length at most
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := turns.Of("c")
		if err := c.Next(ctx, 6*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third: %v", err)
		}
		if err := c.Next(t.Context(), 5*time.Millisecond); err != nil {
			t.Error(err)
		}
		if err := b.Next(t.Context(), time.Second); err != nil { // its own turn is released for it
			t.Error(err)
		}
		if err := b.Next(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if used := turns.large.Used(); used != int64(a.Length()) {
			t.Errorf("%d of long work is under way; b does short work now", used)
		}
		for _, u := range []*Turn{a, b, c} {
			u.End()
			u.End()
		}
		if turns.large.Used()+turns.small.Used() != 0 || turns.Waiting(Small)+turns.Waiting(Large) != 0 {
			t.Error("something is left")
		}
		if told[Small] != 2 || told[Large] != 3 {
			t.Errorf("told of %v", told)
		}
	})
}

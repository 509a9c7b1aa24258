package fair

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// unread are answers that are computed in an instant and that their clients do not read: each
// is held until it is evicted.
type unread struct {
	t   *testing.T
	m   *Memory
	all sync.WaitGroup
	mu  sync.Mutex
	had []string // clients that got memory
}

// ask has a client ask for an answer of n bytes, and fails the test unless it gets the memory
// within an hour.
func (u *unread) ask(client string, n int64) {
	u.all.Go(func() {
		gone := make(chan struct{})
		h := u.answer(client, n)
		defer h.Release()
		u.mu.Lock()
		u.had = append(u.had, client)
		u.mu.Unlock()
		h.Send(func() { close(gone) })
		select {
		case <-gone:
		case <-u.t.Context().Done():
		}
	})
}

// answer returns the memory of an answer of n bytes that is being computed.
func (u *unread) answer(client string, n int64) *Hold {
	h := u.m.Hold(client, n, nil)
	if err := h.Settle(); err != nil {
		u.t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := h.Grow(ctx, n); err != nil {
		u.t.Errorf("%s: %v", client, err)
	}
	return h
}

// wait returns how long a client waits for an answer of n bytes, which it reads at once.
func (u *unread) wait(client string, n int64) time.Duration {
	began := time.Now()
	u.answer(client, n).Release()
	return time.Since(began)
}

// TestNotBehindUnread: whoever asks after clients that do not read their answers, and after
// others that wait for these, gets memory as they are evicted, however long the others have
// waited: at once if its answer is small beside theirs, otherwise in its turn. All get theirs.
func TestNotBehindUnread(t *testing.T) {
	for large, most := range map[int64]time.Duration{0: 5 * time.Second, 32: 0} {
		synctest.Test(t, func(t *testing.T) {
			u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 256, Rate: 10, Grace: time.Second / 2, Large: large})}
			for i := range 40 {
				u.ask(fmt.Sprint("unread ", i), 49)
			}
			for i := range 8 {
				time.Sleep(300 * time.Millisecond)
				if took := u.wait(fmt.Sprint("new ", i), 12); took > most {
					t.Errorf("large %d, %d: it waited %v", large, i, took)
				}
			}
			time.Sleep(time.Minute)
			u.mu.Lock()
			had := len(u.had)
			u.mu.Unlock()
			if had != 40 || u.m.Waiting() != 0 {
				t.Errorf("large %d: %d clients got memory, %d wait", large, had, u.m.Waiting())
			}
			u.wait("all", 256) // evicts the rest
			u.all.Wait()
		})
	}
}

// TestSmallPassesLarge: large answers, also while they are computed and cannot be evicted,
// leave a quarter to others, which wait neither for them nor for those that wait; the largest
// get their memory, too.
func TestSmallPassesLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 256, Rate: 10, Grace: time.Second, Large: 32})}
		computed := make(chan struct{})
		for i := range 8 {
			u.all.Go(func() {
				defer u.answer(fmt.Sprint("large ", i), 49).Release()
				<-computed
			})
		}
		synctest.Wait()
		if used, waiting := u.m.Used(), u.m.Waiting(); used != 3*49 || waiting != 5 {
			t.Errorf("%d are used and %d wait; want three large ones, which take three quarters", used, waiting)
		}
		time.Sleep(time.Minute)
		for i := range 8 {
			if took := u.wait(fmt.Sprint("small ", i), 32); took > 0 {
				t.Errorf("it waited %v", took)
			}
		}
		time.AfterFunc(time.Minute, func() { close(computed) })
		if took := u.wait("largest", 256); took < time.Minute {
			t.Errorf("the largest had memory of others after %v", took)
		}
		u.all.Wait()
	})
}

// TestLargestIsNotStarved: small answers that follow each other do not keep one from its memory
// that needs all.
func TestLargestIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 100, Rate: 10, Grace: time.Hour, Large: 12})}
		stop := make(chan struct{})
		for i := range 4 {
			u.all.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					h := u.answer(fmt.Sprint("small ", i, n), 10)
					time.Sleep(time.Duration(3+i) * time.Second)
					h.Release()
				}
			})
		}
		time.Sleep(time.Minute)
		if took := u.wait("largest", 100); took > 10*time.Second {
			t.Errorf("it waited %v", took)
		}
		close(stop)
		u.all.Wait()
	})
}

// TestShareOfOneClient: a client that reads its answers slowly, though at the rate, leaves
// memory to others, and its own further answers wait for those before.
func TestShareOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 256, Rate: 10, Grace: time.Hour})}
		read := make(chan struct{})
		for range 100 {
			u.all.Go(func() {
				defer u.answer("many", 10).Release()
				<-read
			})
		}
		synctest.Wait()
		if used := u.m.Used(); used != 190 {
			t.Errorf("one client has %d of 256, want three quarters", used)
		}
		if took := u.wait("other", 60); took > 0 {
			t.Errorf("another waited %v", took)
		}
		close(read)
		u.all.Wait()
	})
}

// TestOwnUnread: a client whose connections do not read is given their memory for a further
// answer, and nobody else's.
func TestOwnUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 256, Rate: 10, Grace: time.Second})}
		u.ask("other", 50)
		synctest.Wait()
		for range 7 {
			u.ask("many", 20)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if took := u.wait("many", 20); took > time.Second {
			t.Errorf("it waited %v", took)
		}
		if used := u.m.Used(); used < 50 || u.m.clients["other"] == nil {
			t.Errorf("%d are used: the other client was evicted", used)
		}
		u.wait("all", 256) // evicts the rest
		u.all.Wait()
	})
}

// TestPause: the time in which the server prepares the next piece is not the client's.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{t: t, m: NewMemory(MemoryOptions{Total: 100, Rate: 10, Grace: time.Second})}
		h := u.answer("reads", 60)
		h.Send(func() { t.Error("it was evicted") })
		h.Pause()
		u.all.Go(func() { u.wait("waits", 60) })
		time.Sleep(time.Minute)
		if err := h.Resume(); err != nil {
			t.Error(err)
		}
		h.Release()
		u.all.Wait()
	})
}

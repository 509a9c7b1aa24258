package fair

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func grow(t *testing.T, h *Hold, n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := h.Grow(ctx, n); err != nil {
		t.Fatal(err)
	}
	h.Moved(n)
}

// TestAnnouncedIsNotTaken: bodies that announce much and send little take little memory.
func TestAnnouncedIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryOptions{Total: 512, Rate: 1, Grace: time.Second})
		for range 200 {
			h := m.Hold("bad", 60, func() { t.Error("it need not give way") })
			defer h.Release()
			grow(t, h, 1)
		}
		began := time.Now()
		h := m.Hold("good", 300, nil)
		for range 300 {
			grow(t, h, 1)
		}
		if time.Since(began) > 0 {
			t.Errorf("it waited %v", time.Since(began))
		}
		if err := h.Settle(); err != nil {
			t.Error(err)
		}
		h.Release()
		if m.Used() != 200 {
			t.Errorf("%d are used", m.Used())
		}
	})
}

// TestSlowGiveWay: once a growth waits, stalled bodies are evicted, the slowest first, and
// only as many as needed; those that keep the rate and those that are complete stay.
func TestSlowGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryOptions{Total: 100, Rate: 10, Grace: time.Second})
		gave := map[string]bool{}
		hold := func(name string, n int64) *Hold {
			h := m.Hold(name, 25, func() { gave[name] = true })
			grow(t, h, n)
			return h
		}
		settled, slowest, slow, quick := hold("settled", 20), hold("slowest", 25), hold("slow", 20), hold("quick", 20)
		if err := settled.Settle(); err != nil {
			t.Fatal(err)
		}
		slowest.Moved(1000) // at first
		time.Sleep(5 * time.Second)
		quick.Moved(100)
		slow.Moved(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := m.Hold("new", 40, nil)
		began := time.Now()
		var wait sync.WaitGroup
		wait.Go(func() {
			for !slowest.Evicted() {
				time.Sleep(time.Millisecond)
			}
			slowest.Release() // reading it has failed
		})
		if err := h.Grow(ctx, 20); err != nil {
			t.Fatal(err)
		}
		wait.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if len(gave) != 1 || !gave["slowest"] {
			t.Errorf("%v gave way, want the slowest alone", gave)
		}
		if err := slowest.Settle(); !errors.Is(err, ErrSlow) {
			t.Errorf("one that gave way is told %v", err)
		}
		for _, x := range []*Hold{settled, slow, quick, h} {
			x.Release()
			x.Release()
		}
		if m.Used() != 0 || len(m.holds)+len(m.clients) != 0 {
			t.Error("something is left")
		}
	})
}

// TestFloorOfMemory: small bodies of a client are accepted whatever others hold, and large
// bodies of others do not take its floor.
func TestFloorOfMemory(t *testing.T) {
	m := NewMemory(MemoryOptions{Total: 100, Floor: 10, Rate: 1, Grace: time.Hour})
	full := m.Hold("a", 110, nil)
	grow(t, full, 10)
	grow(t, full, 100)
	if err := full.Settle(); err != nil {
		t.Fatal(err)
	}
	small := m.Hold("b", 10, nil)
	grow(t, small, 10)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := small.Grow(ended, 1); !errors.Is(err, context.Canceled) || m.Waiting() != 0 {
		t.Errorf("%v, %d wait", err, m.Waiting())
	}
	if m.Used() != 100 {
		t.Errorf("%d used", m.Used())
	}
}

// TestLeastFirst: among waiting growths the client that holds least goes first.
func TestLeastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryOptions{Total: 100, Rate: 1, Grace: time.Hour})
		full := m.Hold("full", 60, nil)
		grow(t, full, 60)
		if err := full.Settle(); err != nil {
			t.Fatal(err)
		}
		much, none := m.Hold("much", 40, nil), m.Hold("none", 60, nil)
		grow(t, much, 40)
		began := time.Now()
		got := map[string]chan time.Duration{"much": make(chan time.Duration, 1), "none": make(chan time.Duration, 1)}
		ask := func(name string, h *Hold, n int64) {
			if err := h.Grow(t.Context(), n); err != nil {
				t.Error(err)
			}
			got[name] <- time.Since(began)
			time.Sleep(time.Second)
			if err := h.Settle(); err != nil {
				t.Error(err)
			}
			h.Release()
		}
		var wait sync.WaitGroup
		defer wait.Wait()
		wait.Go(func() { ask("much", much, 20) })
		synctest.Wait()
		wait.Go(func() { ask("none", none, 60) })
		synctest.Wait()
		full.Release()
		if m, n := <-got["much"], <-got["none"]; n > 0 || m < time.Second {
			t.Errorf("who holds much has more after %v, who holds nothing after %v", m, n)
		}
	})
}

// TestNoDeadlock: all bodies that keep the rate complete, in any memory that holds the
// largest, and none is evicted.
func TestNoDeadlock(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		total := rapid.Int64Range(20, 100).Draw(r, "total")
		type body struct {
			client string
			size   int64
			step   int64
		}
		bodies := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) body {
			return body{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "client"), rapid.Int64Range(1, total).Draw(r, "size"), rapid.Int64Range(1, 20).Draw(r, "step")}
		}), 1, 12).Draw(r, "bodies")
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory(MemoryOptions{Total: total, Floor: 2, Rate: 1, Grace: time.Minute})
			var wait sync.WaitGroup
			for _, b := range bodies {
				wait.Go(func() {
					h := m.Hold(b.client, b.size, func() { t.Error("one that keeps the pace gave way") })
					defer h.Release()
					for have := int64(0); have < b.size; {
						n := min(b.step, b.size-have)
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						err := h.Grow(ctx, n)
						cancel()
						if err != nil {
							t.Errorf("%d of %d: %v", have, b.size, err)
							return
						}
						have += n
						h.Moved(1000)
						time.Sleep(time.Millisecond)
						if used := m.Used(); used > total {
							t.Errorf("%d of %d are used", used, total)
						}
					}
					if err := h.Settle(); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				})
			}
			wait.Wait()
			if m.Used() != 0 || m.Waiting() != 0 || len(m.holds) != 0 {
				t.Error("something is left")
			}
		})
	})
}

// TestSend: an answer that is not read is evicted for one that waits.
func TestSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryOptions{Total: 100, Rate: 10, Grace: time.Second})
		a := m.Hold("a", 100, nil)
		if err := a.Settle(); err != nil {
			t.Fatal(err)
		}
		if err := a.Grow(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		time.AfterFunc(time.Hour, func() { a.Send(func() { close(gone) }) }) // computing may take any time
		go func() {
			<-gone
			a.Release()
		}()
		began := time.Now()
		b := m.Hold("b", 50, nil)
		if err := b.Grow(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+2*time.Second {
			t.Errorf("it took %v", took)
		}
		b.Release()
	})
}

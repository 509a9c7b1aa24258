package threads

import (
	"testing"
	"time"
)

// TestHelperWaitsForExpectedRun requires a helper to outlast its patience while a run that called it prepares
// its query, and to end once no run is expected.
func TestHelperWaitsForExpectedRun(t *testing.T) {
	h := NewHelpers(2)
	if h.cores < 2 {
		t.Skip("one core")
	}
	h.busy.Add(1) // the run's
	h.expected.Add(1)
	h.call()
	for begun := time.Now(); time.Since(begun) < 4*patience; {
	}
	// A helper that missed its core for a while ends, and keeps others away for a while: then nothing can be said.
	if n := h.busy.Load(); n != 2 && h.resting.Load() == 0 {
		t.Errorf("%d goroutines compute while a run is expected, not the run and its helper", n)
	}
	h.expected.Add(-1)
	h.Close()
	if n := h.busy.Load(); n != 1 {
		t.Errorf("%d goroutines compute after the helpers' end, not the run alone", n)
	}
}

// TestIdleHelperYields requires a helper without pieces to offer its core, and to go on and not to keep others away though
// that was taken for long. Another process may take the core at other times: hence some attempts.
func TestIdleHelperYields(t *testing.T) {
	for range 2000 {
		h := NewHelpers(2)
		yields := 0
		h.yield = func() {
			if yields++; yields > 1 {
				h.busy.Store(3) // crowded: the helper ends
				return
			}
			for begun := time.Now(); time.Since(begun) < 2*stolen; {
			}
		}
		h.cores = 2
		h.busy.Store(2)
		h.expected.Add(1)
		h.running.Add(1)
		h.help()
		if yields == 2 && h.resting.Load() == 0 {
			return
		}
	}
	t.Error("a helper did not offer its core, or ended and kept others away once it had")
}

// TestHelpersRest requires the pauses of helpers to double while their cores are taken from them again soon
// after each, up to the longest, and to be short again once they were left alone.
func TestHelpersRest(t *testing.T) {
	h := NewHelpers(2)
	now := int64(time.Hour)
	want := shortPause
	for range 8 {
		h.restFrom(now)
		h.restFrom(now + int64(want) - 1) // of the same pause
		if pause, until := time.Duration(h.paused.Load()), h.resting.Load(); pause != want || until != now+int64(want) {
			t.Fatalf("pause of %v until %v, expected %v after %v", pause, time.Duration(until), want, time.Duration(now))
		}
		now += int64(want + time.Millisecond)
		want = min(2*want, longPause)
	}
	now = h.resting.Load() + 2*int64(longPause)
	if h.restFrom(now); time.Duration(h.paused.Load()) != shortPause {
		t.Errorf("after a long time without one, a pause of %v", time.Duration(h.paused.Load()))
	}
}

// TestShortSearchesHaveNoHelpers: whether a search has helpers follows from the bytes that it may be expected
// to read, and from whether another has ended just before.
func TestShortSearchesHaveNoHelpers(t *testing.T) {
	for _, x := range []struct {
		bytes                 float64
		alone, called, recent bool // called: if none has ended just before; recent: if one has
	}{
		{bytes: minHelped - 1, alone: true},
		{bytes: minHelped, recent: true},
		{bytes: wakingBytes - 1, recent: true},
		{bytes: wakingBytes, called: true, recent: true},
	} {
		for _, recent := range []bool{false, true} {
			h := NewHelpers(2)
			h.began = h.began.Add(-time.Hour)
			if recent {
				h.began = time.Now().Add(time.Hour) // a search has ended later than now
				h.ended.Store(1)
			}
			var g Team
			g.Reset(&Crew{Helpers: h}, true, wakingBytes)
			g.Call(x.bytes)
			want := x.called
			if recent {
				want = x.recent
			}
			if enough := h.cores >= 2; enough && (g.alone != x.alone || g.called != want || g.Helped() == x.alone) {
				t.Errorf("%g bytes, recent %v: alone %v, called %v, helped %v", x.bytes, recent, g.alone, g.called, g.Helped())
			}
			g.End()
			h.Close()
		}
	}
}

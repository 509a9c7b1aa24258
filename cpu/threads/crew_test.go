package threads

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thresher/simd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestYields: runs of many queries yield while all processors are occupied, but not again at once, and not at all if
// they are timed. A yield of a goroutine locked to its thread would cost more than what is measured.
func TestYields(t *testing.T) {
	h := NewHelpers(1)
	plain, timed := NewCrew(1, simd.Best(), h, false), NewCrew(1, simd.Best(), h, true)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// yielded reports whether another goroutine ran during most of 40 checkpoints of r, so long
	// after the last yield. The scheduler may interrupt any goroutine, and may resume one that yielded
	// before others run, but hardly each second time.
	yielded := func(r *Crew, pause time.Duration) bool {
		count := 0
		for range 40 {
			var ran atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() { ran.Store(true) })
			r.yielded.Store(int64(time.Since(r.loaded) - pause))
			err := r.Checkpoint(t.Context(), yieldQueries)
			if ran.Load() {
				count++
			}
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
		}
		return count > 20
	}
	if yielded(plain, yieldPause) {
		t.Error("a run yields although a processor is idle")
	}
	h.busy.Add(1)
	defer h.busy.Add(-1)
	if !yielded(plain, yieldPause) {
		t.Error("a run of many queries does not yield")
	}
	if yielded(plain, -time.Hour) {
		t.Error("a run yields again at once")
	}
	if yielded(timed, yieldPause) {
		t.Error("a timed run yields")
	}
}

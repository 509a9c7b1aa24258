//go:build unix

package machine

import (
	"runtime"
	"testing"
)

// TestComingThreads: the fewer threads there are of those that the processors need, the more are to come, and a thread takes its stack.
func TestComingThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	few := ComingThreads()
	runtime.GOMAXPROCS(maxThreads - idleThreads)
	many := ComingThreads()
	if few < 0 || many-few < 8<<20 {
		t.Errorf("%d bytes for one processor, %d for %d", few, many, maxThreads-idleThreads)
	}
	runtime.GOMAXPROCS(4 * maxThreads)
	if more := ComingThreads(); more > many {
		t.Errorf("%d bytes for more processors than are counted, %d for as many", more, many)
	}
}

// TestUnmapped: threads and tables that have no room take nothing of what the heap has; where they have room, they are not free.
func TestUnmapped(t *testing.T) {
	const threads = 16 << 20
	for _, c := range []struct{ limit, mapped, want int64 }{
		{160 << 20, 159 << 20, 0},
		{160 << 20, 161 << 20, 0},
		{160<<20 + threads + tableBytes, 160 << 20, 0},
		{170<<20 + threads + tableBytes, 160 << 20, 10 << 20},
	} {
		if got := unmapped(c.limit, c.mapped, threads); got != c.want {
			t.Errorf("%d of %d mapped: %d are left, want %d", c.mapped, c.limit, got, c.want)
		}
	}
}

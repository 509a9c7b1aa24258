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

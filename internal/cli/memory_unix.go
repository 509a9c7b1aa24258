//go:build unix

package cli

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// FileDescriptors returns how many files the process may have open (ulimit -n).
func FileDescriptors() (int, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(limit.Cur, math.MaxInt32)), true
}

// A limit on private memory (ulimit -d) counts the runtime's tables and each thread's stack whole
// (ulimit -s), however little of it is used. The heap may have heapOfData of the limit, less the
// stacks of the threads that this many processors are expected to need, and at least half of it.
const (
	heapOfData   = .75
	maxStacks    = 32
	minOfData    = .5
	defaultStack = 8 << 20 // of threads where there is no limit
)

// heapBelowDataLimit returns what the heap may have below the limit on private memory.
func heapBelowDataLimit() int64 {
	var data, stack unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &data) != nil || data.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	each := uint64(defaultStack)
	if unix.Getrlimit(unix.RLIMIT_STACK, &stack) == nil && stack.Cur < 1<<30 {
		each = stack.Cur
	}
	stacks := float64(each) * float64(min(runtime.GOMAXPROCS(0), maxStacks))
	limit := float64(data.Cur)
	return int64(max(minOfData*limit, heapOfData*limit-stacks))
}

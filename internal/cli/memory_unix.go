//go:build unix

package cli

import (
	"math"

	"golang.org/x/sys/unix"

	"thresher/internal/machine"
)

// FileDescriptors returns how many files the process may have open (ulimit -n).
func FileDescriptors() (int, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(limit.Cur, math.MaxInt32)), true
}

// A limit on private memory (ulimit -d) counts all that is mapped, however little of it is used: the runtime's tables, what C sets
// aside, and each thread's stack whole (ulimit -s). The heap may have heapOfData of what the limit leaves at the start, less the
// stacks of the threads that are still to come, and at least minOfData of it.
const (
	heapOfData = .85
	minOfData  = .5
)

// heapBelowDataLimit returns what the heap may have below the limit on private memory.
func heapBelowDataLimit() int64 {
	data, mapped, ok := machine.Data()
	if !ok {
		return math.MaxInt64
	}
	left := float64(max(0, data-mapped))
	return machine.Taken() + int64(max(minOfData*left, heapOfData*left-float64(machine.ComingThreads())))
}

package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of this thread, so that other processes matter
// little. The goroutine must be locked to its thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}

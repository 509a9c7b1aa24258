package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that this thread has used, which excludes the time for
// which other processes had the core. The goroutine must be locked to its thread. If the clock
// fails it returns the time of day.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}

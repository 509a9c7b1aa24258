package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that this thread has had: what other
// processes do counts little. The goroutine is locked to its thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}

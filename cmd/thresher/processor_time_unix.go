//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time used by this process; false if it is not
// available.
func processorTime() (time.Duration, bool) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

package threads

import "golang.org/x/sys/unix"

// yieldCore lets another thread of the operating system run that waits for this core, if there is one.
func yieldCore() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

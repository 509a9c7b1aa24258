package machine

import "golang.org/x/sys/unix"

// ask has the system map s by large pages from now on, or by small ones, and reports whether it understood.
func (s span) ask(large bool) bool {
	advice := uintptr(unix.MADV_NOHUGEPAGE)
	if large {
		advice = unix.MADV_HUGEPAGE
	}
	_, _, failed := unix.Syscall(unix.SYS_MADVISE, s.from, s.size, advice) // the heap keeps what it has mapped
	return failed == 0 && s.size > 0
}

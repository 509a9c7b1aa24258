package worker

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// WaitForParent returns nil once process pid has ended, and ctx's error if ctx ends before. If
// pid is not that of a process it has ended.
func WaitForParent(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil { // Linux before 5.3, or a sandbox without the call
		return waitForChange(ctx, pid)
	}
	defer unix.Close(fd)
	for {
		// The kernel wakes the poll when the process ends; ctx is looked at each second.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Second/time.Millisecond))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		}
	}
}

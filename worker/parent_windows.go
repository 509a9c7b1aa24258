package worker

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// WaitForParent returns nil once process pid has ended, and ctx's error if ctx ends before. If
// pid is not that of a process it has ended.
func WaitForParent(ctx context.Context, pid int) error {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return nil // there is no such process
	}
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(h)
	for {
		what, err := windows.WaitForSingleObject(h, uint32(time.Second/time.Millisecond))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return os.NewSyscallError("WaitForSingleObject", err)
		case what == windows.WAIT_OBJECT_0:
			return nil
		}
	}
}

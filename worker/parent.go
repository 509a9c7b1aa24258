//go:build !windows

package worker

import (
	"context"
	"os"
	"time"
)

// waitForChange is WaitForParent by looking each second whether the parent is still pid, which it
// must be at first: an orphan has another one.
func waitForChange(ctx context.Context, pid int) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for os.Getppid() == pid {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}

//go:build !linux && !windows

package worker

import "context"

// WaitForParent returns nil once pid is not the parent of this process any more, and ctx's error
// if ctx ends before.
func WaitForParent(ctx context.Context, pid int) error { return waitForChange(ctx, pid) }

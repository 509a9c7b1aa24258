//go:build linux

package worker

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestWaitForParent: the end of a process is noticed while others hold what it held.
func TestWaitForParent(t *testing.T) {
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- WaitForParent(t.Context(), sleeper.Process.Pid) }()
	if err := sleeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	sleeper.Wait() // killed
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Fatal("the process has ended, and WaitForParent waits")
	}
	if err := WaitForParent(t.Context(), sleeper.Process.Pid); err != nil {
		t.Errorf("of a process that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WaitForParent(ctx, 1); err != context.Canceled {
		t.Errorf("after the context: %v", err)
	}
	if err := waitForChange(ctx, 1<<30); err != nil {
		t.Errorf("of another process than the parent: %v", err)
	}
}

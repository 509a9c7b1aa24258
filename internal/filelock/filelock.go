// Package filelock locks files between processes. A lock belongs to an open file: closing the
// file releases it, and so does the end of the process.
package filelock

import (
	"context"
	"os"
	"time"
)

// retry is the time between two attempts of Wait.
const retry = 5 * time.Millisecond

// Wait locks f as soon as no other open file holds the lock. If ctx ends first it returns
// ctx.Err().
func Wait(ctx context.Context, f *os.File) error { return wait(ctx, f, Try) }

// Share locks f as soon as no other open file holds the lock for itself alone: those that share it hold it
// together, and Try and Wait fail and wait while they do. If ctx ends first it returns ctx.Err().
func Share(ctx context.Context, f *os.File) error { return wait(ctx, f, tryShared) }

func wait(ctx context.Context, f *os.File, try func(*os.File) (bool, error)) error {
	for {
		taken, err := try(f)
		if taken || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry):
		}
	}
}

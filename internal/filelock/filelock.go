// Package filelock keeps files to one process at a time. A lock belongs to an open
// file: closing the file frees it, and so does the end of the process, however it ends.
package filelock

import (
	"context"
	"os"
	"time"
)

// retry is the time between two tries of Wait.
const retry = 5 * time.Millisecond

// Wait locks f as soon as no other open file holds the lock. If ctx ends before that,
// it returns ctx.Err().
func Wait(ctx context.Context, f *os.File) error {
	for {
		taken, err := Try(f)
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

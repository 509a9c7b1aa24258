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

//go:build unix

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// locks says that files can be locked here.
const locks = true

// tryLock is false if another process has the file. The system frees the files of a
// process that dies.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

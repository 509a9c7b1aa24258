//go:build unix && !solaris && !aix

package db

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the lock that bbolt takes, which is the file descriptor's: bbolt gets it
// again at once. It is free when f is closed.
func lock(f *os.File) (taken bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

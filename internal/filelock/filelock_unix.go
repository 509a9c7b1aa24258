//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Supported reports whether Try can lock on this system.
const Supported = true

// Try locks f, a file or a folder, unless another open file holds the lock. It succeeds if f
// holds it already.
func Try(f *os.File) (taken bool, err error) { return try(f, unix.LOCK_EX) }

// tryShared locks f for holders that let each other in.
func tryShared(f *os.File) (taken bool, err error) { return try(f, unix.LOCK_SH) }

func try(f *os.File, how int) (taken bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		default:
			return true, nil
		}
	}
}

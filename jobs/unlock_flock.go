//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package jobs

import (
	"errors"
	"os"
	"syscall"
)

// unlock frees bbolt's lock and closes f. Closing alone does not free it while
// f is still mapped to memory, as a database is that panicked.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

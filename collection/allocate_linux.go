package collection

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves bytes on disk, so that a full disk is an error here and not a fault on
// writing to the mapping.
func allocate(f *os.File, off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, off, n)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

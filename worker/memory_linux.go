package worker

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// newShared returns a file of n bytes that has no name. The caller fills it and calls seal before
// it sends it.
func newShared(n int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("thresher", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	if err := f.Truncate(n); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// seal fixes the size of a file of newShared.
func seal(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return os.NewSyscallError("fcntl", err)
}

// checkSealed returns an error if the file of a segment could shrink.
func checkSealed(f *os.File) error {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return wrong("segment", "its descriptor is no memfd sealed with F_SEAL_SHRINK: it could shrink")
	}
	return nil
}

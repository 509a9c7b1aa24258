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

// isSealed reports whether f is a memfd that cannot shrink.
func isSealed(f *os.File) bool {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	return err == nil && seals&unix.F_SEAL_SHRINK != 0
}

// checkSegment returns an error if others than the client could make the file of a segment shrink,
// or if the client has only forgotten to seal it. A client that can make no memfd has a file without
// a name, in a folder.
func checkSegment(f *os.File) error {
	if isSealed(f) {
		return nil
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	couldBeSealed := err == nil && seals&unix.F_SEAL_SEAL == 0
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err == nil && st.Nlink == 0 && !couldBeSealed {
		return nil
	}
	return wrong("segment", "its descriptor is neither a memfd sealed with F_SEAL_SHRINK nor a file without a name: it could shrink")
}

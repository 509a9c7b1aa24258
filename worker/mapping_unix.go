//go:build unix

package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapMemory maps n > 0 bytes of f from off on, a multiple of the page size. The mapping does not
// need f.
func mapMemory(f *os.File, off, n int64, write bool) ([]byte, func() error, error) {
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	b, err := unix.Mmap(int(f.Fd()), off, int(n), prot, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return b, func() error { return unix.Munmap(b) }, nil
}

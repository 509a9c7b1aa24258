//go:build unix

package collection

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps n bytes of f from offset off, a multiple of the page size. With write,
// changes reach the file.
func mapFile(f *os.File, off, n int64, write bool) ([]byte, error) {
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	return unix.Mmap(int(f.Fd()), off, int(n), prot, unix.MAP_SHARED)
}

// unmapFile ends a mapping; the file's Sync flushes what was written.
func unmapFile(_ *os.File, _ int64, b []byte, _ bool) error { return unix.Munmap(b) }

//go:build !unix

package collection

import (
	"io"
	"os"
)

// mapFile reads n bytes at off into memory, since this system has no mapping.
func mapFile(f *os.File, off, n int64, write bool) ([]byte, error) {
	b, err := heap{}.bytes("", n)
	if err != nil || write {
		return b, err
	}
	_, err = io.ReadFull(io.NewSectionReader(f, off, n), b)
	return b, err
}

// unmapFile writes back a section mapped for writing.
func unmapFile(f *os.File, off int64, b []byte, write bool) error {
	if !write {
		return nil
	}
	_, err := f.WriteAt(b, off)
	return err
}
